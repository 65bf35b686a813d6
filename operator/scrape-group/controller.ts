import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import { type ControllerDeps, FIELD_MANAGER } from '../controller-deps.ts';
import { PodClient } from '../health/pod-client.ts';
import { EXACT_FIELDS } from '../pods/exact-fields.ts';
import { PodHealthCache } from '../health/pod-health-cache.ts';
import { Applier } from '../apply/applier.ts';
import { Controller } from '../controllers/controller.ts';
import { ProbePool } from '../controllers/probe-pool.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { TtlCache } from '../cache/ttl-cache.ts';
import type { Key } from '../kubernetes/key.ts';
import { API_SCRAPE_SOURCES, SERVICES } from '../kubernetes/resources.ts';
import { StatusWriter } from '../status/status-writer.ts';
import type { Cluster } from './cluster.ts';
import { groupNameOf } from './group/group.ts';
import { SCRAPER_HEALTH } from './status/health.ts';
import { GROUP_LABEL } from './group/names.ts';
import { rememberingPrepare } from './group/prepare.ts';
import { reconcile } from './reconcile.ts';

const SERVICES_KEPT_MS = 60_000;

/**
 * The controller of groups of ApiScrapeSources, not started; its keys are namespace and name of a group. Disposing it
 * closes its connections; stop it before.
 */
export function scrapeGroupController(deps: ControllerDeps): { readonly controller: Controller } & AsyncDisposable {
  const { api, caches, events, log, hooks, options, taskRunner } = deps;
  const { sources, scraperPods, children } = caches;
  const client = new PodClient(SCRAPER_HEALTH);
  const probePool = new ProbePool({ onError: (error) => log.warn({ err: error }, 'a scraper could not be asked') });
  const status = new StatusWriter({ api, resource: API_SCRAPE_SOURCES, fieldManager: FIELD_MANAGER });
  const cluster: Cluster = {
    sources,
    pods: scraperPods,
    children,
    services: new TtlCache({ api, resource: SERVICES, keepMs: SERVICES_KEPT_MS }),
    applier: new Applier({ api, fieldManager: FIELD_MANAGER, exact: EXACT_FIELDS }),
    status,
    events,
    podHealth: new PodHealthCache({
      client,
      source: SCRAPER_HEALTH,
      probePool,
      onNews: (key) => controller.enqueue(key),
    }),
    now: () => new Date(),
    prepare: rememberingPrepare(options.permissions, taskRunner),
    settings: options,
  };
  const controller = new Controller({
    name: 'scrape-group',
    reconcile: (key, signal) => reconcile(key, cluster, signal),
    sources: [
      { cache: sources, keys: groupsOf },
      ...[scraperPods, ...children.map(({ cache }) => cache)].map((cache) => ({ cache, keys: groupOfChild })),
    ],
    exists: ({ namespace, name }) =>
      sources.list(namespace).some((source) => groupNameOf(source as unknown as ApiScrapeSource) === name),
    log,
    hooks,
  });
  const unsubscribe = sources.subscribe(({ key, new: now }) => {
    if (now === undefined) status.forget(key);
  });
  return {
    controller,
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await probePool.close();
      await client.close();
    },
  };
}

/**
 * The group of a source, and the one that its status names: it may have moved while nobody looked. (While somebody
 * looks, the controller asks for the source before and after each change.)
 */
export function groupsOf(object: KubernetesObject): Key[] {
  const source = object as unknown as ApiScrapeSource;
  const { namespace = '' } = source.metadata;
  const names = new Set([groupNameOf(source), source.status?.group ?? groupNameOf(source)]);
  return [...names].map((name) => ({ namespace, name }));
}

function groupOfChild({ metadata: { namespace = '', labels } }: KubernetesObject): Key[] {
  const name = labels?.[GROUP_LABEL];
  return name === undefined ? [] : [{ namespace, name }];
}
