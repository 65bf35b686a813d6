import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import { DEFAULT_PERMISSIONS } from '../../validation/permissions.ts';
import type { McpAdapterStatus } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { createCaches } from '../../caches.ts';
import { createLogger } from '../../logger.ts';
import { EventRecorder } from '../../status/events.ts';
import type { KubernetesApi, KubernetesObject, Resource } from '../../kubernetes/kubernetes.ts';
import { namespacesOf } from '../../cache/namespaces.ts';
import {
  API_SCRAPE_SOURCES,
  CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS,
  MCP_ADAPTERS,
  MCP_TOOL_LOCKS,
  PODS,
  STORAGE_CLAIMS,
} from '../../kubernetes/resources.ts';
import { textAt } from '../../kubernetes/unstructured.ts';
import { recordedApi, writesOf } from '../../kubernetes/testing/real-api.ts';
import { WorkerTaskRunner } from '../../tasks/worker-task-runner.ts';
import { mcpAdapterController } from '../controller.ts';
import { type HandshakeTarget, createHandshake } from '../health/handshake.ts';

const PATIENCE_MS = 20_000;

/** Puts the CRDs into an API server and waits until it serves them. */
export async function installCrds(api: KubernetesApi): Promise<void> {
  for (const file of ['mcpadapters.yaml', 'apiscrapesources.yaml', 'mcptoollocks.yaml']) {
    const text = await readFile(new URL(`../../../crds/${file}`, import.meta.url), 'utf8');
    await api.apply(parse(text) as KubernetesObject, CUSTOM_RESOURCE_DEFINITIONS, { fieldManager: 'test' });
  }
  for (const resource of [MCP_ADAPTERS, API_SCRAPE_SOURCES, MCP_TOOL_LOCKS]) {
    await eventually(() => api.list(resource, {}));
  }
}

/** Resolves with what `probe` gives once it gives something and does not throw. Rejects with its last error. */
export async function eventually<T>(probe: () => Promise<T | undefined> | T | undefined, everyMs = 50): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  let last: unknown = new Error('it never came');
  while (performance.now() < end) {
    try {
      const found = await probe();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    await delay(everyMs);
  }
  throw last;
}

export interface Running extends AsyncDisposable {
  /** Writes since the start, as `verb Kind/name`, without Events. */
  writes(): string[];
}

/** The controller of McpAdapters in one namespace. Handshakes go to `adapterPort`, because nobody routes Services. */
export function startController(
  api: KubernetesApi,
  namespace: string,
  adapterPort: (target: HandshakeTarget) => number,
): Running {
  const { api: watched, requests } = recordedApi(api);
  const log = createLogger('error');
  const onError = (error: unknown, where: object): void => log.debug({ ...where, err: error }, 'watch');
  const namespaces = namespacesOf({ kind: 'list', names: [namespace] }, { api: watched, onError });
  const caches = createCaches({ api: watched, namespaces, onError, onWatch: () => {} });
  const events = new EventRecorder({ api: watched, instance: 'test', suffix: () => randomUUID().replaceAll('-', '') });
  const real = createHandshake('test');
  const taskRunner = new WorkerTaskRunner();
  const deps = {
    api: watched,
    caches,
    events,
    log,
    hooks: { reconciled() {}, queueDepth() {} },
    taskRunner,
    options: {
      image: 'adapter:1',
      podSecurity: 'restricted' as const,
      otlpEndpoint: undefined,
      permissions: DEFAULT_PERMISSIONS,
    },
    version: 'test',
  };
  const adapters = mcpAdapterController(deps, {
    probeHandshake: (target, signal) =>
      real.probeHandshake({ ...target, origin: `http://127.0.0.1:${adapterPort(target)}` }, signal),
    close: () => real.close(),
  });
  namespaces.start();
  caches.start();
  adapters.controller.start();
  return {
    writes: () => writesOf(requests).filter((request) => !request.includes(' Event/')),
    async [Symbol.asyncDispose]() {
      await adapters.controller.stop();
      await adapters[Symbol.asyncDispose]();
      await taskRunner[Symbol.asyncDispose]();
      await events.flush();
      await caches.stop();
      await namespaces.stop();
    },
  };
}

/** What a test of one resource does and looks at. */
export function resourceIn(api: KubernetesApi, namespace: string, name: string) {
  const key = { namespace, name };
  const setStatus = async (resource: Resource, target: string, status: object): Promise<void> => {
    const { apiVersion, kind } = resource;
    const object = { apiVersion, kind, metadata: { name: target, namespace }, status };
    await api.apply(object, resource, { fieldManager: 'test-controllers', subresource: 'status' });
  };
  const get = (resource: Resource, target = name) => api.get(resource, { namespace, name: target });
  const status = async (): Promise<McpAdapterStatus> => (await api.get(MCP_ADAPTERS, key))?.['status'] ?? {};
  const condition = async (type: string): Promise<Condition | undefined> =>
    (await status()).conditions?.find((one) => one.type === type);
  return {
    name,
    get,
    status,
    condition,
    /** Of the pods' template. */
    templateAnnotation: async (annotation: string): Promise<string | undefined> =>
      textAt(await get(DEPLOYMENTS), 'spec', 'template', 'metadata', 'annotations', annotation),
    apply: (spec: object, metadata: object = {}) =>
      api.apply(
        { apiVersion: MCP_ADAPTERS.apiVersion, kind: MCP_ADAPTERS.kind, metadata: { ...key, ...metadata }, spec },
        MCP_ADAPTERS,
        { fieldManager: 'user' },
      ),
    /** Resolves with the condition once it says this. */
    becomes: (type: string, expected: string): Promise<Condition> =>
      eventually(async () => {
        const found = await condition(type);
        const is = found === undefined ? 'absent' : `${found.status}/${found.reason}`;
        if (is !== expected) throw new Error(`${type} is ${is}: ${found?.message}; not ${expected}`);
        return found;
      }),
    /** As the Deployment controller leaves a finished rollout. */
    async rollOut(available = 1): Promise<void> {
      const deployment = await eventually(() => get(DEPLOYMENTS));
      const count = (deployment['spec'] as { replicas: number }).replicas;
      await setStatus(DEPLOYMENTS, name, {
        observedGeneration: deployment.metadata.generation,
        replicas: count,
        updatedReplicas: count,
        readyReplicas: Math.min(available, count),
        availableReplicas: Math.min(available, count),
      });
    },
    /** As the kubelet leaves a pod of the template as it is now, served by a process on this machine. */
    async runPod(pod: string, port: number, podIP = '127.0.0.1'): Promise<void> {
      const deployment = await eventually(() => get(DEPLOYMENTS));
      const { template } = deployment['spec'] as { template: { metadata: object; spec: { containers: object[] } } };
      const containers = template.spec.containers.map((container) => ({
        ...container,
        ports: [{ name: 'http', containerPort: port }],
      }));
      const metadata = { ...template.metadata, name: pod, namespace };
      await api.create({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...template.spec, containers } }, PODS);
      await setStatus(PODS, pod, {
        phase: 'Running',
        podIP,
        podIPs: [{ ip: podIP }],
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(0).toISOString() }],
        containerStatuses: [
          { name: 'adapter', ready: true, restartCount: 0, image: 'adapter:1', imageID: 'x', state: { running: {} } },
        ],
      });
    },
    setPodStatus: (pod: string, status: object) => setStatus(PODS, pod, status),
    setDeploymentStatus: (status: object) => setStatus(DEPLOYMENTS, name, status),
    bindClaim: (claim: string, storage = '1Gi') =>
      setStatus(STORAGE_CLAIMS, claim, { phase: 'Bound', capacity: { storage } }),
  };
}
