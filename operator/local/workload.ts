import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import { build, type Child } from '../mcp-adapter/build/build.ts';
import { effectiveConfig } from '../mcp-adapter/config/effective-config.ts';
import { ALL_PERMISSIONS } from '../validation/permissions.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { acceptedAdapter } from './check-manifests.ts';
import { localAdapter } from './local-config.ts';
import { type LocalPod, localPod } from './local-pod.ts';
import type { Manifest } from './manifests.ts';
import { GRACE_SECONDS } from './pod-runner.ts';
import { type LocalGroup, groupsOf } from './scrape-groups.ts';
import { lockAmong } from './tool-locks.ts';

/** What a resource becomes on this machine. */
export interface Workload {
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  /** Files that it comes from. */
  readonly files: readonly string[];
  /** The container whose lines need no name before them. */
  readonly container: string;
  /** Port that the program listens on in its pod. */
  readonly port: number;
  /** Paths of the MCP endpoints. */
  readonly mountPaths: readonly string[];
  /** Changes when the processes have to start anew. */
  readonly hash: string;
  /** What differs from the cluster, for people. */
  readonly notes: readonly string[];
  /** Folder of its volumes; `retained` when it outlives the resource. */
  readonly folder: string;
  readonly retained: boolean;
  /** The processes, once it is known which ports are free. */
  pod(port: (containerPort: number) => number): LocalPod;
}

/** Context of `build` without a cluster: every API is there, and no Service. */
const CONTEXT = {
  image: 'local',
  podSecurity: 'restricted' as const,
  apiServer: ALL_PERMISSIONS.apiServer,
  serves: { httpRoutes: true, serviceMonitors: true },
  services: () => undefined,
  referencesRevision: undefined,
};

/** The workloads of these resources, in their order. What is not accepted becomes none. */
export function workloads(
  manifests: readonly Manifest[],
  dataDir: string,
  env: Readonly<Record<string, string | undefined>>,
): Workload[] {
  const world = { dataDir, data: dataOf(manifests), env };
  const adapters = manifests.flatMap((manifest) => {
    const adapter = acceptedAdapter(manifest, ALL_PERMISSIONS);
    return adapter === undefined ? [] : [adapterWorkload(adapter, manifest.file, lockAmong(manifests, adapter), world)];
  });
  return [...adapters, ...groupsOf(manifests, ALL_PERMISSIONS).flatMap((group) => groupWorkloads(group, world))];
}

/** Tells workloads apart. */
const keyOf = ({ kind, metadata }: Pick<KubernetesObject, 'kind' | 'metadata'>): string =>
  `${kind} ${metadata.namespace ?? 'default'}/${metadata.name}`;

type DataOf = (
  namespace: string,
) => (kind: 'Secret' | 'ConfigMap', name: string) => Readonly<Record<string, string>> | undefined;

interface World {
  readonly dataDir: string;
  readonly data: DataOf;
  readonly env: Readonly<Record<string, string | undefined>>;
}

function adapterWorkload(
  resource: McpAdapter,
  file: string,
  lock: readonly Child[],
  { dataDir, data, env }: World,
): Workload {
  const { adapter, notes } = localAdapter(resource);
  const { name, namespace = 'default' } = adapter.metadata;
  const children = [...lock, ...build(adapter, { ...CONTEXT, isLocked: lock.length > 0 })];
  const objects = children.map((child) => child.object);
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  if (deployment === undefined) throw new Error(`nothing runs for McpAdapter ${name}`);
  const config = effectiveConfig(adapter.spec);
  const folder = join(dataDir, namespace, name);
  const pod = (port: (containerPort: number) => number): LocalPod =>
    listeningHere(localPod(deployment, objects, { folder, data: data(namespace), env, port }), port(config.port));
  return {
    key: keyOf(resource),
    kind: 'McpAdapter',
    name,
    files: [file],
    container: 'adapter',
    port: config.port,
    mountPaths: config.servers.flatMap(({ mountPath }) => (mountPath === undefined ? [] : [mountPath])),
    hash: hashOf(pod),
    notes,
    folder,
    retained: adapter.spec.deletionPolicy !== 'Delete',
    pod,
  };
}

const hashOf = (pod: Workload['pod']): string =>
  createHash('sha256')
    .update(JSON.stringify(pod((port) => port)))
    .digest('hex');

/** One for each shard of the group. */
function groupWorkloads(group: LocalGroup, { dataDir, data, env }: World): Workload[] {
  const { namespace, sources } = group;
  const objects = group.objects('local', 'restricted');
  return objects
    .filter(({ kind }) => kind === 'Deployment')
    .map((deployment) => {
      const { name } = deployment.metadata;
      const containerPort = portOf(deployment);
      const folder = join(dataDir, namespace, name);
      const pod = (port: (containerPort: number) => number): LocalPod =>
        listeningHere(localPod(deployment, objects, { folder, data: data(namespace), env, port }), port(containerPort));
      return {
        key: `ScrapeGroup ${namespace}/${name}`,
        kind: 'ScrapeGroup',
        name,
        files: [...new Set(sources.map(({ file }) => file))],
        container: 'scraper',
        port: containerPort,
        mountPaths: [],
        hash: hashOf(pod),
        notes: [],
        folder,
        retained: true,
        pod,
      };
    });
}

function portOf(deployment: KubernetesObject): number {
  const { containers } = (
    deployment['spec'] as { template: { spec: { containers: { ports: { containerPort: number }[] }[] } } }
  ).template.spec;
  return containers[0]?.ports[0]?.containerPort ?? 0;
}

/** Programs of ours that take `--host` and `--port`. */
const PROGRAMS: ReadonlySet<string> = new Set(['mcp-adapter', 'otel-api-scraper']);

/** On this machine only, and quick to end. */
function listeningHere(pod: LocalPod, port: number): LocalPod {
  return {
    ...pod,
    containers: pod.containers.map((container) =>
      PROGRAMS.has(container.command[0] ?? '')
        ? {
            ...container,
            command: [...container.command, '--host', '127.0.0.1', '--port', String(port)],
            env: { ...container.env, MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS: String(GRACE_SECONDS) },
          }
        : container,
    ),
  };
}

function dataOf(manifests: readonly Manifest[]): DataOf {
  return (namespace) => (kind, name) => {
    const found = manifests.find(
      ({ object }) => object.kind === kind && object.metadata.name === name && object.metadata.namespace === namespace,
    );
    return found === undefined ? undefined : decoded(found.object);
  };
}

function decoded(object: KubernetesObject): Record<string, string> {
  const data = (object['data'] ?? {}) as Record<string, string>;
  if (object.kind === 'ConfigMap') return data;
  const plain = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]);
  return { ...Object.fromEntries(plain), ...((object['stringData'] ?? {}) as Record<string, string>) };
}
