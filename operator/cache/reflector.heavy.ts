import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { ApiClient } from '../kubernetes/api-client.ts';
import { kubeconfigCredentials } from '../kubernetes/kubeconfig-credentials.ts';
import type { KubernetesApi, KubernetesObject } from '../kubernetes/kubernetes.ts';
import { Reflector, type ReflectorCount, type ReflectorOptions } from './reflector.ts';
import { CONFIG_MAPS } from '../kubernetes/resources.ts';
import { type FreezingProxy, startFreezingProxy } from '../kubernetes/testing/freezing-proxy.ts';
import { type RealApi, startRealApi } from '../kubernetes/testing/real-api.ts';
import { MalformedEventError } from '../kubernetes/watch-stream.ts';
import type { Change } from './watched-cache.ts';

/** What a user may wait for a change to be seen; the machine of a test may be busy. */
const SOON_MS = 2_000;
const RESTART_MS = 60_000;

let real: RealApi;
let api: ApiClient;
let proxy: FreezingProxy;
/** A client of the same API server, by way of the proxy. */
let distant: ApiClient;
let namespace: string;
let reflector: Reflector | undefined;

beforeAll(async () => {
  real = await startRealApi();
  api = real.api;
  proxy = await startFreezingProxy(Number(new URL(real.server.url).port));
}, 20 * 60_000);
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  proxy.open();
  const credentials = await kubeconfigCredentials(real.server.kubeconfig);
  distant = new ApiClient({
    credentials: {
      current: async () => ({ ...(await credentials.current()), server: `https://127.0.0.1:${proxy.port}` }),
      renew: () => credentials.renew(),
    },
    userAgent: 'distant',
  });
  namespace = await real.namespace();
});
afterEach(async () => {
  await reflector?.stop();
  reflector = undefined;
  await distant.close();
});

const configMap = (name: string, data: Record<string, string> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { 'example.com/color': 'red' } },
  data,
});
const create = (name: string): Promise<KubernetesObject> => api.create(configMap(name), CONFIG_MAPS);
const change = (name: string, value: string): Promise<KubernetesObject> =>
  api.merge({ data: { value } }, CONFIG_MAPS, { namespace, name });
const remove = (name: string): Promise<void> => api.delete(CONFIG_MAPS, { namespace, name });

/** A reflector of this test's namespace, and what it reported. */
async function reflected(options: Partial<ReflectorOptions> = {}) {
  const counts: Record<ReflectorCount, number> = { list: 0, watch: 0, expired: 0, malformed: 0, silent: 0, failed: 0 };
  const errors: string[] = [];
  const changes: string[] = [];
  const made = new Reflector({
    api,
    resource: CONFIG_MAPS,
    selection: { namespace },
    labels: ['example.com/color'],
    onError: (error) => errors.push(String(error)),
    count: (what) => counts[what]++,
    ...options,
    timing: { maxBackoffMs: 1_000, ...options.timing },
  });
  reflector = made;
  made.subscribe((one: Change) => {
    changes.push(`${one.old === undefined ? '+' : one.new === undefined ? '-' : '~'}${one.key.name}`);
  });
  made.start();
  await made.synced;
  const names = (): string[] =>
    made
      .list()
      .map(({ metadata }) => metadata.name)
      .sort();
  const value = (name: string): unknown => (made.get({ namespace, name })?.['data'] as { value?: string })?.value;
  return { made, counts, errors, changes, names, value };
}
const soon = (what: () => unknown, timeout = SOON_MS) => expect.poll(what, { timeout, interval: 10 });

/** Cache and API server say the same, object by object. */
async function converged(made: Reflector, timeout = 20_000): Promise<void> {
  const { items } = await api.list(CONFIG_MAPS, { namespace });
  const versions = (objects: readonly KubernetesObject[]): string[] =>
    objects.map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`).sort();
  await soon(() => versions(made.list()), timeout).toEqual(versions(items));
}

const CLUSTER = join(import.meta.dirname, '../../e2e/cluster/cluster');
async function cluster(...args: string[]): Promise<void> {
  await promisify(execFile)(CLUSTER, args, {
    env: { ...process.env, CLUSTER_DIR: real.server.dir },
    timeout: RESTART_MS,
  });
}
const restartApiServer = (): Promise<void> => cluster('restart', 'apiserver', 'KILL');

/** Forgets all history before now, as etcd does every five minutes. */
async function compact(): Promise<void> {
  const { resourceVersion } = await api.list(CONFIG_MAPS, { namespace });
  const command = await readFile(join(real.server.dir, 'cmd/etcd'), 'utf8');
  const etcd = /--listen-client-urls (\S+)/.exec(command)?.[1]?.replaceAll('\\', '');
  const body = JSON.stringify({ revision: resourceVersion, physical: true });
  const answer = await fetch(`${etcd}/v3/kv/compaction`, { method: 'POST', body, signal: AbortSignal.timeout(10_000) });
  expect(answer.status).toBe(200);
}

describe('a change', () => {
  test('is seen at once: an object that comes, changes and goes', async () => {
    await create('before');
    const { made, names, value, changes } = await reflected();
    expect(names()).toEqual(['before']);
    await create('a');
    await soon(names).toEqual(['a', 'before']);
    await change('a', '1');
    await soon(() => value('a')).toBe('1');
    await remove('a');
    await soon(names).toEqual(['before']);
    expect(changes).toEqual(['+before', '+a', '~a', '-a']);
    expect(made.byLabel('example.com/color', namespace, 'red')).toHaveLength(1);
    expect(made.get({ namespace, name: 'before' })?.metadata).not.toHaveProperty('managedFields');
  });

  test('is seen at once after several watches ended without an event', async () => {
    const { names, counts, errors } = await reflected({ timing: { watchSeconds: 2 } });
    await soon(() => counts.watch, 30_000).toBeGreaterThanOrEqual(3);
    await create('a');
    await soon(names).toEqual(['a']);
    expect(counts.list).toBe(1);
    expect(errors).toEqual([]);
  }, 60_000);

  test('that a handler throws on reaches the others, and the reflector goes on', async () => {
    const { made, names, errors } = await reflected();
    const reported: string[] = [];
    made.subscribe(() => {
      throw new Error('a handler');
    });
    made.subscribe(({ key }) => reported.push(key.name));
    await create('a');
    await create('b');
    await soon(names).toEqual(['a', 'b']);
    expect(reported).toEqual(['a', 'b']);
    expect(errors).toEqual(['Error: a handler', 'Error: a handler']);
  });

  test('is not missed when the network fell silent without an end', async () => {
    const { names, counts } = await reflected({ api: distant, timing: { idleMs: 3_000 } });
    await create('before');
    await soon(names).toEqual(['before']);
    proxy.freeze();
    await create('a');
    await remove('before');
    await soon(names, 15_000).toEqual(['a']);
    expect(counts).toMatchObject({ list: 1, silent: 1 });
    await create('b');
    await soon(names).toEqual(['a', 'b']);
  }, 60_000);

  test('is neither missed nor reported twice, when connections break', async () => {
    const { made, names, changes, errors, counts } = await reflected({ api: distant });
    await create('a');
    await create('b');
    await soon(names).toEqual(['a', 'b']);
    proxy.cut();
    await remove('a');
    await change('b', '2');
    await create('c');
    await soon(() => errors.length, 10_000).toBeGreaterThanOrEqual(2);
    proxy.open();
    await converged(made);
    expect(changes.sort()).toEqual(['+a', '+b', '+c', '-a', '~b']);
    expect(counts.list).toBe(1);
  }, 60_000);

  test('that a watch swallowed is found by the periodic list', async () => {
    const lying: Pick<KubernetesApi, 'list' | 'watch'> = {
      list: (...args) => api.list(...args),
      async *watch(...args) {
        for await (const event of api.watch(...args)) if (event.type === 'BOOKMARK') yield event;
      },
    };
    await create('a');
    const { made, changes } = await reflected({ api: lying, timing: { watchSeconds: 1, relistMs: 3_000 } });
    await remove('a');
    await create('b');
    await converged(made);
    expect(changes).toEqual(['+a', '+b', '-a']);
  }, 60_000);

  test('is not missed when a line of the watch is no event', async () => {
    let broken = false;
    const garbled: Pick<KubernetesApi, 'list' | 'watch'> = {
      list: (...args) => api.list(...args),
      async *watch(...args) {
        for await (const event of api.watch(...args)) {
          if (event.type !== 'BOOKMARK' && !broken) {
            broken = true;
            throw new MalformedEventError('no JSON');
          }
          yield event;
        }
      },
    };
    const { names, counts } = await reflected({ api: garbled });
    await create('a');
    await soon(names, 5_000).toEqual(['a']);
    expect(counts).toMatchObject({ malformed: 1, list: 2 });
  });
});

describe('an API server that is killed', () => {
  test('and starts again: what changed right after it is seen', async () => {
    const { made, names, errors } = await reflected();
    await create('a');
    await create('b');
    await soon(names).toEqual(['a', 'b']);
    await restartApiServer();
    await remove('a');
    await change('b', '2');
    await create('c');
    await converged(made);
    expect(errors.length).toBeGreaterThan(0);
    await create('d');
    await soon(names).toEqual(['b', 'c', 'd']);
  }, 120_000);

  test('and forgot the past: all that came, changed and went meanwhile is found and reported', async () => {
    const { made, names, changes, counts } = await reflected({ api: distant });
    for (const name of ['a', 'b', 'c']) await create(name);
    await soon(names).toEqual(['a', 'b', 'c']);
    changes.length = 0;
    proxy.cut();
    await remove('a');
    await change('b', '2');
    await create('d');
    // Made again under its name.
    await remove('c');
    await create('c');
    await compact();
    await restartApiServer();
    proxy.open();
    await converged(made);
    expect(changes.sort()).toEqual(['+d', '-a', '~b', '~c']);
    expect(counts.expired).toBe(1);
    expect(counts.list).toBe(2);
    await create('e');
    await soon(names).toEqual(['b', 'c', 'd', 'e']);
  }, 120_000);
});

describe('a reflector that is stopped', () => {
  test('has ended when stop resolves, also while it waits for an API server that is away', async () => {
    const { made, errors, counts } = await reflected({ api: distant });
    proxy.cut();
    await soon(() => errors.length, 10_000).toBeGreaterThanOrEqual(2);
    await made.stop();
    const before = { ...counts, connections: proxy.connections };
    proxy.open();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect({ ...counts, connections: proxy.connections }).toEqual(before);
  }, 30_000);

  test('ends its watch at once and without an error', async () => {
    const { made, errors } = await reflected();
    const began = performance.now();
    await made.stop();
    expect(performance.now() - began).toBeLessThan(SOON_MS);
    expect(errors).toEqual([]);
  });
});
