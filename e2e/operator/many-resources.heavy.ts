import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installCrds } from '../../operator/mcp-adapter/testing/test-controller.ts';
import { ApiClient } from '../../operator/kubernetes/api-client.ts';
import type { KubernetesObject, Resource } from '../../operator/kubernetes/kubernetes.ts';
import { kubeconfigCredentials } from '../../operator/kubernetes/kubeconfig-credentials.ts';
import * as resources from '../../operator/kubernetes/resources.ts';
import { type ApiServer, startApiServer } from '../cluster/api-server.ts';
import type { RunningProcess } from '../support/processes.ts';
import { ADAPTER_CHILDREN, LARGE_FLEET as size, applyFleet } from './many-resources/fleet.ts';
import {
  type ObservedOperator,
  hasConverged,
  processUse,
  readMetrics,
  untilMetrics,
  writesIn,
} from './many-resources/observe-operator.ts';
import { startOperator } from './many-resources/start-operator.ts';

/** On two cores that others use as well. */
const CONVERGE_MS = 400_000;
const TIMEOUT_MS = CONVERGE_MS + 60_000;
const MAX_RESIDENT_MB = 200;
const QUIET_SECONDS = 20;

const CHILD_RESOURCES: readonly Resource[] = [
  resources.CONFIG_MAPS,
  resources.DEPLOYMENTS,
  resources.SERVICES,
  resources.SERVICE_ACCOUNTS,
  resources.STORAGE_CLAIMS,
  resources.DISRUPTION_BUDGETS,
  resources.NETWORK_POLICIES,
];
const MANAGED = { labelSelector: 'app.kubernetes.io/managed-by=mcp-operator' };

let server: ApiServer;
let api: ApiClient;
let operator: ObservedOperator & RunningProcess;

beforeAll(async () => {
  server = await startApiServer();
  api = new ApiClient({ credentials: await kubeconfigCredentials(server.kubeconfig), userAgent: 'test' });
  await installCrds(api);
  await applyFleet(api, size);
  operator = await startOperator(server.kubeconfig);
}, TIMEOUT_MS);

afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await api?.close();
  await server?.[Symbol.asyncDispose]();
}, 60_000);

/** All objects that the operator made, without what only the API server reads. */
async function children(): Promise<KubernetesObject[]> {
  const lists = await Promise.all(CHILD_RESOURCES.map((resource) => api.list(resource, MANAGED)));
  return lists.flatMap(({ items }) => items);
}

const idOf = ({ kind, metadata }: KubernetesObject): string => `${kind} ${metadata.namespace}/${metadata.name}`;

/** Of claims the content: the API server stores a claim anew on the first apply after it was made, whatever is applied. */
function versions(objects: readonly KubernetesObject[]): Map<string, unknown> {
  return new Map(
    objects.map((object) => {
      const { metadata, spec } = object;
      const isClaim = object.kind === 'PersistentVolumeClaim';
      return [idOf(object), isClaim ? [metadata.uid, metadata.labels, spec] : metadata.resourceVersion];
    }),
  );
}

/** Kinds of the objects with this label, by namespace and value of the label. */
function kindsBy(label: string, objects: readonly KubernetesObject[]): Map<string, string[]> {
  const kinds = new Map<string, string[]>();
  for (const { kind, metadata } of objects) {
    const owner = metadata.labels?.[label];
    if (owner === undefined) continue;
    const id = `${metadata.namespace}/${owner}`;
    kinds.set(id, [...(kinds.get(id) ?? []), kind].sort());
  }
  return kinds;
}

test(
  'every resource gets what it consists of, and a status of its generation',
  async () => {
    const metrics = await untilMetrics(operator, (now) => hasConverged(now, size), CONVERGE_MS);
    expect(metrics.failedReconciles).toBe(0);

    const made = await children();
    const ofAdapters = kindsBy('mcpadapter.io/adapter', made);
    expect(ofAdapters.size).toBe(size.adapters);
    for (const kinds of ofAdapters.values()) expect(kinds).toEqual(ADAPTER_CHILDREN);
    const ofGroups = kindsBy('mcpadapter.io/scrape-group', made);
    expect(ofGroups.size).toBe(size.groups);
    for (const kinds of ofGroups.values()) expect(kinds).toContain('Deployment');

    for (const resource of [resources.MCP_ADAPTERS, resources.API_SCRAPE_SOURCES]) {
      const behind = (await api.list(resource, {})).items.filter(({ metadata, ...object }) => {
        const { observedGeneration } = (object['status'] ?? {}) as { observedGeneration?: number };
        return observedGeneration !== metadata.generation;
      });
      expect(behind.map(idOf)).toEqual([]);
    }
  },
  TIMEOUT_MS,
);

test('the operator then rests, in little memory', async () => {
  // A thread for large inputs ends after a minute without any.
  const until = performance.now() + 80_000;
  while (processUse(operator.pid).residentMb > MAX_RESIDENT_MB && performance.now() < until) await delay(500);

  const before = { ...(await readMetrics(operator.port)), ...processUse(operator.pid) };
  await delay(QUIET_SECONDS * 1000);
  const after = { ...(await readMetrics(operator.port)), ...processUse(operator.pid) };
  console.log(
    `resident ${after.residentMb.toFixed(0)} MB, ${(after.cpuSeconds - before.cpuSeconds).toFixed(2)} s of CPU in ${QUIET_SECONDS} s`,
  );
  expect(after.residentMb).toBeLessThanOrEqual(MAX_RESIDENT_MB);
  // The lease is renewed every few seconds; a watch may end meanwhile; some key is looked at again for good measure.
  const grown = (verb: string): number => (after.requests[verb] ?? 0) - (before.requests[verb] ?? 0);
  expect(writesIn(after.requests) - writesIn(before.requests) - grown('update')).toBe(0);
  expect(grown('update')).toBeLessThanOrEqual(QUIET_SECONDS);
  expect(grown('list')).toBe(0);
  expect(grown('get')).toBeLessThanOrEqual(20);
  expect(after.reconciles - before.reconciles).toBeLessThanOrEqual(100);
  expect(after.cpuSeconds - before.cpuSeconds).toBeLessThan(0.1 * QUIET_SECONDS);
}, 150_000);

test('a change of one resource is seen at once among all others', async () => {
  const key = { namespace: 'team-7', name: 'adapter-7' };
  const changedAt = performance.now();
  await api.merge({ spec: { replicas: 3 } }, resources.MCP_ADAPTERS, key);
  const replicas = async (): Promise<unknown> =>
    ((await api.get(resources.DEPLOYMENTS, key))?.['spec'] as { replicas?: number } | undefined)?.replicas;
  while ((await replicas()) !== 3 && performance.now() - changedAt < 10_000) await delay(20);
  expect(await replicas()).toBe(3);
  expect(performance.now() - changedAt).toBeLessThan(2_000);
});

test(
  'an operator that takes over finds everything as it is to be and changes nothing',
  async () => {
    const before = versions(await children());
    await operator.stop();
    operator = await startOperator(server.kubeconfig);
    const looked = await untilMetrics(
      operator,
      (now) => hasConverged(now, size) && now.reconciles >= size.adapters + size.groups,
      CONVERGE_MS,
    );
    expect(versions(await children())).toEqual(before);
    expect(looked.failedReconciles).toBe(0);
    const { residentMb, peakMb } = processUse(operator.pid);
    console.log(
      `${looked.reconciles} reconciles with ${JSON.stringify(looked.requests)}; ` +
        `resident ${residentMb.toFixed(0)} MB, at most ${peakMb.toFixed(0)} MB`,
    );
    // One for each object that the operator made.
    expect(looked.requests['apply']).toBeLessThanOrEqual(before.size + size.groups);
  },
  TIMEOUT_MS,
);
