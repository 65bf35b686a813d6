import type { KubernetesApi, KubernetesObject, Resource } from '../../../operator/kubernetes/kubernetes.ts';
import { API_SCRAPE_SOURCES, MCP_ADAPTERS, NAMESPACES } from '../../../operator/kubernetes/resources.ts';

/** How many resources there are; all numbers are multiples of `namespaces`. */
export interface FleetSize {
  readonly namespaces: number;
  readonly adapters: number;
  readonly sources: number;
  readonly groups: number;
}

/** What the operator must be able to look after. */
export const LARGE_FLEET: FleetSize = { namespaces: 10, adapters: 500, sources: 2_000, groups: 100 };

/** Kinds of which every adapter of a fleet gets one. */
export const ADAPTER_CHILDREN = [
  'ConfigMap',
  'Deployment',
  'NetworkPolicy',
  'PersistentVolumeClaim',
  'PodDisruptionBudget',
  'Service',
  'ServiceAccount',
];

const WRITERS = 12;

const fleetNamespace = (index: number, { namespaces }: FleetSize): string => `team-${index % namespaces}`;

/** An adapter such as people write them: two upstreams, state in Redis, a password from a Secret, two pods. */
function fleetAdapter(index: number, size: FleetSize): KubernetesObject {
  return {
    apiVersion: MCP_ADAPTERS.apiVersion,
    kind: MCP_ADAPTERS.kind,
    metadata: { name: `adapter-${index}`, namespace: fleetNamespace(index, size), labels: { team: `team-${index}` } },
    spec: {
      replicas: 2,
      config: {
        core: { log_level: 'info', shutdown_grace_seconds: 60 },
        state_persistence: { type: 'redis', redis: { host: 'redis.state', password: '${REDIS_PASSWORD}' } },
        storage: { root: '/data/shared', lock_mode: 'redis' },
        servers: [
          { id: 'tools', mount_path: '/mcp/tools', upstream: { url: `http://tools-${index % 20}.tools:8931/mcp` } },
          { id: 'search', mount_path: '/mcp/search', upstream: { url: `https://search-${index}.example.com/mcp` } },
        ],
      },
      env: [{ name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: { name: 'redis', key: 'password' } } }],
      storage: { claim: { size: '1Gi', accessModes: ['ReadWriteMany'] } },
    },
  };
}

/** A source with a token of its own; the first of each group brings the settings of the scraper. */
function fleetSource(index: number, size: FleetSize): KubernetesObject {
  const group = index % size.groups;
  return {
    apiVersion: API_SCRAPE_SOURCES.apiVersion,
    kind: API_SCRAPE_SOURCES.kind,
    metadata: { name: `source-${index}`, namespace: fleetNamespace(group, size) },
    spec: {
      group: `group-${group}`,
      ...(index < size.groups
        ? { scraper: { otelCollectorEndpoint: 'http://otel-collector.observability:4317' } }
        : {}),
      source: {
        name: `source-${index}`,
        frequency: '5m',
        baseUrl: `https://api-${index % 50}.example.com`,
        endpoint: `/api/v1/records/${index}`,
        auth: { type: 'oauth', token: '${TOKEN}' },
        scrape: { type: 'range', rangeKeys: { startKey: 'from', endKey: 'to' } },
        dataKey: 'items',
        histogramReadings: [
          { name: `record.${index}.duration`, dataKey: 'seconds', unit: 's', buckets: [1, 5, 10, 30, 60, 300] },
        ],
      },
      env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: `api-${index}`, key: 'token' } } }],
    },
  };
}

/** Applies the whole fleet, as an engine for GitOps would. */
export async function applyFleet(api: KubernetesApi, size: FleetSize): Promise<void> {
  await inParallel(size.namespaces, (index) =>
    api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: fleetNamespace(index, size) } }, NAMESPACES),
  );
  const apply = (object: KubernetesObject, resource: Resource) =>
    api.apply(object, resource, { fieldManager: 'gitops' });
  await inParallel(size.adapters, (index) => apply(fleetAdapter(index, size), MCP_ADAPTERS));
  await inParallel(size.sources, (index) => apply(fleetSource(index, size), API_SCRAPE_SOURCES));
}

async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}
