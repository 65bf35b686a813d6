import { type ControllerParts, FIELD_MANAGER } from '../controller-deps.ts';
import { PodClient } from '../health/pod-client.ts';
import { EXACT_FIELDS } from '../pods/exact-fields.ts';
import { PodHearing } from '../health/pod-health-cache.ts';
import { Applier } from '../apply/applier.ts';
import { Controller } from '../controllers/controller.ts';
import { Inquiries } from '../controllers/probe-pool.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { Lookup } from '../cache/ttl-cache.ts';
import { keyOf } from '../cache/object-store.ts';
import type { Key } from '../kubernetes/reconciler.ts';
import { DEPLOYMENTS, MCP_ADAPTERS, SERVICES, STORAGE_CLAIMS } from '../kubernetes/resources.ts';
import { StatusWriter } from '../status/status-writer.ts';
import type { Cluster } from './cluster.ts';
import { Greeter } from './health/handshake-prober.ts';
import { createHandshake } from './health/handshake.ts';
import { ADAPTER_LABEL } from './config/labels.ts';
import { ADAPTER_HEALTH } from './health/pod-health.ts';
import { reconcile } from './reconcile.ts';

/** Most of a reconcile's time is waiting for the API server. */
const CONCURRENCY = 8;
const SERVICES_KEPT_MS = 60_000;
const CLAIMS_KEPT_MS = 5_000;

/**
 * The controller of McpAdapters, not started. Disposing it closes its connections; stop it before.
 * @param handshake how adapters are greeted, for tests without a network of Services
 */
export function mcpAdapterController(
  parts: ControllerParts,
  handshake = createHandshake(parts.version),
): { readonly controller: Controller } & AsyncDisposable {
  const { api, caches, events, log, hooks, options, computing } = parts;
  const client = new PodClient(ADAPTER_HEALTH);
  const inquiries = new Inquiries({ onError: (error) => log.warn({ err: error }, 'an adapter could not be asked') });
  const onNews = (key: Key): void => controller.enqueue(key);
  const cluster: Cluster = {
    adapters: caches.adapters,
    pods: caches.adapterPods,
    children: caches.children,
    services: new Lookup({ api, resource: SERVICES, keepMs: SERVICES_KEPT_MS }),
    claims: new Lookup({ api, resource: STORAGE_CLAIMS, keepMs: CLAIMS_KEPT_MS }),
    serves: (resource, signal) => api.serves(resource, signal),
    applier: new Applier({
      api,
      fieldManager: FIELD_MANAGER,
      exact: EXACT_FIELDS,
      handOver: [{ resource: DEPLOYMENTS, path: ['spec', 'replicas'] }],
    }),
    status: new StatusWriter({ api, resource: MCP_ADAPTERS, fieldManager: FIELD_MANAGER }),
    events,
    hearing: new PodHearing({ client, source: ADAPTER_HEALTH, inquiries, onNews }),
    greeter: new Greeter({ shakeHands: handshake.shakeHands, inquiries, onNews }),
    settings: options,
    computing,
    now: () => new Date(),
  };
  const controller = new Controller({
    name: 'mcp-adapter',
    reconcile: (key, signal) => reconcile(key, cluster, signal),
    sources: [
      { cache: caches.adapters, keys: (object) => [keyOf(object)] },
      { cache: caches.adapterPods, keys: ownerOf },
      ...caches.children.map(({ cache }) => ({ cache, keys: ownerOf })),
    ],
    exists: (key) => caches.adapters.get(key) !== undefined,
    log,
    hooks,
    concurrency: CONCURRENCY,
  });
  return {
    controller,
    async [Symbol.asyncDispose]() {
      await inquiries.close();
      await Promise.all([client.close(), handshake.close()]);
    },
  };
}

/** The adapter that an object belongs to, by its label: also when its owner reference was taken away. */
function ownerOf({ metadata }: KubernetesObject): readonly Key[] {
  const name = metadata.labels?.[ADAPTER_LABEL];
  return name === undefined ? [] : [{ namespace: metadata.namespace ?? '', name }];
}
