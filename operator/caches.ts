import { stripChild, stripPod, stripResource } from './strip-fields.ts';
import { ADAPTER_LABEL } from './mcp-adapter/config/labels.ts';
import { cachedLock } from './mcp-adapter/lock/cached-lock.ts';
import { OptionalCache } from './cache/optional-cache.ts';
import type { KubernetesApi, KubernetesObject, Resource } from './kubernetes/kubernetes.ts';
import type { Namespaces } from './cache/namespaces.ts';
import type { ReflectorOptions } from './cache/reflector.ts';
import {
  API_SCRAPE_SOURCES,
  AUTOSCALERS,
  CONFIG_MAPS,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  HTTP_ROUTES,
  INGRESSES,
  MCP_ADAPTERS,
  MCP_TOOL_LOCKS,
  NETWORK_POLICIES,
  PODS,
  SERVICE_ACCOUNTS,
  SERVICE_MONITORS,
  SERVICES,
  STORAGE_CLAIMS,
} from './kubernetes/resources.ts';
import { ScopedReflector } from './cache/scoped-reflector.ts';
import { SharedTexts } from './cache/shared-texts.ts';
import type { WatchedCache } from './cache/watched-cache.ts';
import { GROUP_LABEL } from './scrape-group/group/names.ts';

/** Objects of one kind that carry the operator's label, indexed by the labels of adapters and scrape groups. */
export interface ChildCache {
  readonly resource: Resource;
  readonly cache: WatchedCache;
}

/** What the operator follows, for all controllers together. */
export interface Caches {
  readonly adapters: WatchedCache;
  readonly sources: WatchedCache;
  /** Of McpToolLocks, as `cachedLock` keeps them. */
  readonly locks: WatchedCache;
  readonly children: readonly ChildCache[];
  readonly adapterPods: WatchedCache;
  readonly scraperPods: WatchedCache;
  /** Resolves when everything that is always served has been listed. */
  readonly synced: Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export interface CacheOptions {
  readonly api: KubernetesApi;
  readonly namespaces: Namespaces;
  readonly onError: ReflectorOptions['onError'];
  /** Told of each watch that is opened. */
  readonly onWatch: (resource: string) => void;
}

const CHILDREN: readonly Resource[] = [
  CONFIG_MAPS,
  DEPLOYMENTS,
  SERVICES,
  SERVICE_ACCOUNTS,
  STORAGE_CLAIMS,
  DISRUPTION_BUDGETS,
  AUTOSCALERS,
  NETWORK_POLICIES,
  INGRESSES,
];
const OPTIONAL_CHILDREN: readonly Resource[] = [HTTP_ROUTES, SERVICE_MONITORS];

const MANAGED = 'app.kubernetes.io/managed-by=mcp-operator';
const OWNER_LABELS = [ADAPTER_LABEL, GROUP_LABEL];

export function createCaches({ api, namespaces, onError, onWatch }: CacheOptions): Caches {
  const texts = new SharedTexts();
  const follow = (
    resource: Resource,
    strip: (object: KubernetesObject) => KubernetesObject,
    more: Pick<ConstructorParameters<typeof ScopedReflector>[0], 'labelSelector' | 'labels'> = {},
  ): ScopedReflector =>
    new ScopedReflector({
      api,
      resource,
      namespaces,
      onError,
      count: (what) => {
        if (what === 'watch') onWatch(resource.plural);
      },
      transform: (object) => texts.within(strip(object)),
      ...more,
    });
  const child = (resource: Resource): ScopedReflector =>
    follow(resource, stripChild, { labelSelector: MANAGED, labels: OWNER_LABELS });
  const pods = (label: string): ScopedReflector => follow(PODS, stripPod, { labelSelector: label, labels: [label] });

  const adapters = follow(MCP_ADAPTERS, stripResource);
  const sources = follow(API_SCRAPE_SOURCES, stripResource);
  // The definition is younger than the others, and may come after the operator.
  const locks = new OptionalCache({
    api,
    resource: MCP_TOOL_LOCKS,
    reflector: () => follow(MCP_TOOL_LOCKS, cachedLock),
    onError: (error) => onError(error, { watched: MCP_TOOL_LOCKS.plural }),
    // An adapter whose lock is not listed yet must not lose it.
    isAwaited: true,
  });
  const adapterPods = pods(ADAPTER_LABEL);
  const scraperPods = pods(GROUP_LABEL);
  const children = CHILDREN.map((resource) => ({ resource, cache: child(resource) }));
  const optional = OPTIONAL_CHILDREN.map((resource) => ({
    resource,
    cache: new OptionalCache({
      api,
      resource,
      reflector: () => child(resource),
      onError: (error) => onError(error, { watched: resource.plural }),
    }),
  }));
  const all = [
    adapters,
    sources,
    locks,
    adapterPods,
    scraperPods,
    ...[...children, ...optional].map(({ cache }) => cache),
  ];
  return {
    adapters,
    sources,
    locks,
    adapterPods,
    scraperPods,
    children: [...children, ...optional],
    synced: Promise.all(all.map(({ synced }) => synced)).then(() => {}),
    start() {
      for (const cache of all) cache.start();
    },
    async stop() {
      await Promise.all(all.map((cache) => cache.stop()));
    },
  };
}
