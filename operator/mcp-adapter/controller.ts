import { type ControllerDeps, FIELD_MANAGER } from '../controller-deps.ts';
import { PodClient } from '../health/pod-client.ts';
import { EXACT_FIELDS } from '../pods/exact-fields.ts';
import { PodHealthCache } from '../health/pod-health-cache.ts';
import { Applier } from '../apply/applier.ts';
import { Controller } from '../controllers/controller.ts';
import { ProbePool } from '../controllers/probe-pool.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import { TtlCache } from '../cache/ttl-cache.ts';
import { keyOf } from '../kubernetes/key.ts';
import type { Key } from '../kubernetes/key.ts';
import { DEPLOYMENTS, MCP_ADAPTERS, MCP_TOOL_LOCKS, SERVICES, STORAGE_CLAIMS } from '../kubernetes/resources.ts';
import { StatusWriter } from '../status/status-writer.ts';
import type { Cluster } from './cluster.ts';
import { HandshakeProber } from './health/handshake-prober.ts';
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
 * @param handshake how adapters are probed, for tests without a network of Services
 */
export function mcpAdapterController(
  deps: ControllerDeps,
  handshake = createHandshake(deps.version),
): { readonly controller: Controller } & AsyncDisposable {
  const { api, caches, events, log, hooks, options, taskRunner } = deps;
  const client = new PodClient(ADAPTER_HEALTH);
  const probePool = new ProbePool({ onError: (error) => log.warn({ err: error }, 'an adapter could not be asked') });
  const onNews = (key: Key): void => controller.enqueue(key);
  const lockStatus = new StatusWriter({ api, resource: MCP_TOOL_LOCKS, fieldManager: FIELD_MANAGER });
  const cluster: Cluster = {
    adapters: caches.adapters,
    locks: caches.locks,
    pods: caches.adapterPods,
    children: caches.children,
    services: new TtlCache({ api, resource: SERVICES, keepMs: SERVICES_KEPT_MS }),
    claims: new TtlCache({ api, resource: STORAGE_CLAIMS, keepMs: CLAIMS_KEPT_MS }),
    serves: (resource, signal) => api.serves(resource, signal),
    applier: new Applier({
      api,
      fieldManager: FIELD_MANAGER,
      exact: EXACT_FIELDS,
      transferredFields: [{ resource: DEPLOYMENTS, path: ['spec', 'replicas'] }],
    }),
    status: new StatusWriter({ api, resource: MCP_ADAPTERS, fieldManager: FIELD_MANAGER }),
    lockStatus,
    api,
    events,
    podHealth: new PodHealthCache({ client, source: ADAPTER_HEALTH, probePool, onNews }),
    handshakes: new HandshakeProber({ probeHandshake: handshake.probeHandshake, probePool, onNews }),
    settings: options,
    taskRunner,
    now: () => new Date(),
  };
  const controller = new Controller({
    name: 'mcp-adapter',
    reconcile: (key, signal) => reconcile(key, cluster, signal),
    sources: [
      { cache: caches.adapters, keys: (object) => [keyOf(object)] },
      { cache: caches.locks, keys: adapterOfLock },
      { cache: caches.adapterPods, keys: ownerOf },
      ...caches.children.map(({ cache }) => ({ cache, keys: ownerOf })),
    ],
    exists: (key) => caches.adapters.get(key) !== undefined,
    log,
    hooks,
    concurrency: CONCURRENCY,
  });
  const unsubscribe = caches.locks.subscribe(({ key, new: now }) => {
    if (now === undefined) lockStatus.forget(key);
  });
  return {
    controller,
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await probePool.close();
      await Promise.all([client.close(), handshake.close()]);
    },
  };
}

/** The adapter that an object belongs to, by its label: also when its owner reference was taken away. */
function ownerOf({ metadata }: KubernetesObject): readonly Key[] {
  const name = metadata.labels?.[ADAPTER_LABEL];
  return name === undefined ? [] : [{ namespace: metadata.namespace ?? '', name }];
}

/** Whom a lock names; the controller asks before and after each change, so that the one before loses it. */
function adapterOfLock({ metadata, spec }: KubernetesObject): readonly Key[] {
  const name = textAt(spec, 'adapterRef', 'name');
  return name === undefined ? [] : [{ namespace: metadata.namespace ?? '', name }];
}
