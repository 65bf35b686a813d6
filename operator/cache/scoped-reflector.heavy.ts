import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { ApiClient } from '../kubernetes/api-client.ts';
import { Controller } from '../controllers/controller.ts';
import { kubeconfigCredentials } from '../kubernetes/kubeconfig-credentials.ts';
import type { KubernetesApi, KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type NamespaceScope, namespacesOf } from './namespaces.ts';
import { done } from '../controllers/reconciler.ts';
import { CONFIG_MAPS, NAMESPACES } from '../kubernetes/resources.ts';
import { ScopedReflector } from './scoped-reflector.ts';
import { type RealApi, startRealApi } from '../kubernetes/testing/real-api.ts';

const SOON_MS = 2_000;
const LABEL = 'example.com/ours';

let real: RealApi;
let api: ApiClient;
let one: string;
let two: string;
let closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  real = await startRealApi();
  api = real.api;
}, 20 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  [one, two] = await Promise.all([real.namespace(), real.namespace()]);
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
  closing = [];
});

const create = (namespace: string, name: string): Promise<KubernetesObject> =>
  api.create(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { 'example.com/test': 'x' } } },
    CONFIG_MAPS,
  );
const label = (namespace: string, value: string | null): Promise<KubernetesObject> =>
  api.merge({ metadata: { labels: { [LABEL]: value } } }, NAMESPACES, { name: namespace });

function watched(scope: NamespaceScope, as: KubernetesApi = api) {
  const errors: string[] = [];
  const onError = (error: unknown): number => errors.push(String(error));
  const namespaces = namespacesOf(scope, { api: as, onError });
  const cache = new ScopedReflector({
    api: as,
    resource: CONFIG_MAPS,
    namespaces,
    // Each namespace has a ConfigMap of the cluster's authority once controllers run.
    labelSelector: 'example.com/test',
    labels: ['example.com/test'],
    onError,
  });
  const reported: string[] = [];
  cache.subscribe((change) => reported.push(`${change.new === undefined ? '-' : '+'}${change.key.name}`));
  namespaces.start();
  cache.start();
  closing.push(async () => {
    await cache.stop();
    await namespaces.stop();
  });
  const names = (): string[] =>
    cache
      .list()
      .map(({ metadata }) => metadata.name)
      .sort();
  return { cache, names, reported, errors };
}
const soon = (what: () => unknown, timeout = SOON_MS) => expect.poll(what, { timeout, interval: 10 });

describe('the namespaces of an operator', () => {
  test('by name: others are outside', async () => {
    await create(one, 'a');
    await create(two, 'b');
    const { cache, names } = watched({ kind: 'list', names: [one] });
    await cache.synced;
    expect(names()).toEqual(['a']);
    expect([cache.coverage(one), cache.coverage(two)]).toEqual(['synced', 'outside']);
    expect(cache.get({ namespace: two, name: 'b' })).toBeUndefined();
  });

  test('all: one watch serves them', async () => {
    await create(one, 'a');
    const { cache, reported } = watched({ kind: 'all' });
    await cache.synced;
    await create(two, 'b');
    await soon(() => cache.list(two).length).toBe(1);
    expect(cache.list(one)).toHaveLength(1);
    expect(cache.byLabel('example.com/test', one, 'x')).toHaveLength(1);
    expect(reported).toContain('+b');
    expect(cache.coverage('any')).toBe('synced');
  });

  test('by label: they come and go with it, and a namespace that goes looks like no deletion', async () => {
    await create(one, 'a');
    await create(two, 'b');
    await label(one, 'yes');
    const { cache, names, reported, errors } = watched({ kind: 'selector', labelSelector: `${LABEL}=yes` });
    await cache.synced;
    expect(names()).toEqual(['a']);
    await label(two, 'yes');
    await soon(names).toEqual(['a', 'b']);
    expect(cache.coverage(two)).toBe('synced');
    await label(one, null);
    await soon(names).toEqual(['b']);
    expect(cache.coverage(one)).toBe('outside');
    await create(one, 'c');
    await create(two, 'd');
    await soon(names).toEqual(['b', 'd']);
    await label(one, 'yes');
    await soon(names).toEqual(['a', 'b', 'c', 'd']);
    expect(reported).toEqual(['+a', '+b', '+d', '+a', '+c']);
    expect(errors).toEqual([]);
    await label(one, null);
    await label(two, null);
  }, 60_000);

  test('of which one may not be read: the others are reconciled all the same', async () => {
    await create(one, 'a');
    await create(two, 'b');
    const kubectl = (...args: string[]): Promise<string> => real.server.kubectl('-n', one, ...args);
    await kubectl('create', 'serviceaccount', 'operator');
    await kubectl('create', 'role', 'reader', '--verb=get,list,watch', '--resource=configmaps');
    await kubectl('create', 'rolebinding', 'reader', '--role=reader', `--serviceaccount=${one}:operator`);
    const token = (await kubectl('create', 'token', 'operator')).trim();
    const credentials = await kubeconfigCredentials(real.server.kubeconfig);
    const limited = new ApiClient({
      credentials: {
        current: async () => ({ ...(await credentials.current()), headers: { authorization: `Bearer ${token}` } }),
        renew: () => {},
      },
      userAgent: 'limited',
    });
    closing.push(() => limited.close());
    const { cache, errors } = watched({ kind: 'list', names: [one, two] }, limited);
    const reconciled: string[] = [];
    const controller = new Controller({
      name: 'test',
      sources: [{ cache, keys: ({ metadata }) => [{ namespace: metadata.namespace ?? '', name: metadata.name }] }],
      exists: (key) => cache.get(key) !== undefined,
      reconcile: async ({ name }) => {
        reconciled.push(name);
        return done;
      },
      log: { warn: () => {}, error: () => {} },
    });
    closing.push(() => controller.stop());
    controller.start();
    await soon(() => reconciled, 10_000).toEqual(['a']);
    await soon(() => cache.coverage(one)).toBe('synced');
    expect(cache.coverage(two)).toBe('syncing');
    await soon(() => errors[0]).toMatch(/configmaps is forbidden.*cannot list/);
  }, 60_000);
});

test('a reconcile that throws is tried again, and nothing ends', async () => {
  const { cache } = watched({ kind: 'list', names: [one] });
  const runs: string[] = [];
  const controller = new Controller({
    name: 'test',
    sources: [{ cache, keys: ({ metadata }) => [{ namespace: one, name: metadata.name }] }],
    exists: (key) => cache.get(key) !== undefined,
    reconcile: async ({ name }) => {
      runs.push(name);
      if (runs.length < 3) throw new Error('not yet');
      return done;
    },
    log: { warn: () => {}, error: () => {} },
  });
  closing.push(() => controller.stop());
  controller.start();
  await create(one, 'a');
  await soon(() => runs, 10_000).toEqual(['a', 'a', 'a']);
  await api.delete(CONFIG_MAPS, { namespace: one, name: 'a' });
  await soon(() => runs).toHaveLength(4);
}, 30_000);
