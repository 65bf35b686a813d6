import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { ApiClient } from './api-client.ts';
import type { Credentials } from './credentials.ts';
import { inClusterCredentials } from './in-cluster-credentials.ts';
import { kubeconfigCredentials } from './kubeconfig-credentials.ts';
import type { KubernetesObject, Resource } from './kubernetes.ts';
import { CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES, SERVICES } from './resources.ts';
import { startFreezingProxy } from './testing/freezing-proxy.ts';
import { type RealApi, startRealApi } from './testing/real-api.ts';

let real: RealApi;
let api: ApiClient;
let port: number;
let namespace: string;
let folder: string;

beforeAll(async () => {
  real = await startRealApi();
  api = real.api;
  port = Number(new URL(real.server.url).port);
  folder = await mkdtemp(join(tmpdir(), 'api-client-'));
}, 20 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, 60_000);
beforeEach(async () => {
  namespace = await real.namespace();
});

const configMap = (name: string, data: Record<string, string> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});
const named = (name: string) => ({ namespace, name });

/** Counts requests: credentials are asked for each. */
function counted(credentials: Credentials): { credentials: Credentials; requests: () => number } {
  let requests = 0;
  return {
    credentials: {
      current() {
        requests++;
        return credentials.current();
      },
      renew: () => credentials.renew(),
    },
    requests: () => requests,
  };
}

async function kubeconfigWith(user: object): Promise<string> {
  const file = join(folder, `${Math.random()}.kubeconfig`);
  const cluster = { server: real.server.url, 'certificate-authority': join(real.server.dir, 'pki/ca.crt') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}
const adminToken = async (): Promise<string> =>
  (await readFile(join(real.server.dir, 'pki/tokens.csv'), 'utf8')).split(',')[0]!;

describe('lists', () => {
  test('are complete over several pages, and their items look like those of a watch', async () => {
    const items = Array.from({ length: 1_200 }, (_, i) => configMap(`c${i}`, { i: String(i) }));
    await real.server.kubectlWith(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), 'create', '-f', '-');
    const { credentials, requests } = counted(await kubeconfigCredentials(real.server.kubeconfig));
    const client = new ApiClient({ credentials, userAgent: 'test' });
    const list = await client.list(CONFIG_MAPS, { namespace });
    expect(requests()).toBe(1_200 / (CONFIG_MAPS.pageSize ?? 500));
    expect(new Set(list.items.map(({ metadata }) => metadata.name)).size).toBe(1_200);
    const one = list.items.find(({ metadata }) => metadata.name === 'c7');
    expect(one).toEqual(await client.get(CONFIG_MAPS, named('c7')));
    expect(one).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { creationTimestamp: expect.any(String) },
    });
    await client.close();
  }, 120_000);

  test('hold only what is selected', async () => {
    await api.create({ ...configMap('a'), metadata: { name: 'a', namespace, labels: { color: 'red' } } }, CONFIG_MAPS);
    await api.create({ ...configMap('b'), metadata: { name: 'b', namespace, labels: { color: 'blue' } } }, CONFIG_MAPS);
    const names = async (selection: object): Promise<string[]> =>
      (await api.list(CONFIG_MAPS, { namespace, ...selection })).items.map(({ metadata }) => metadata.name);
    expect(await names({ labelSelector: 'color in (red,green)' })).toEqual(['a']);
    expect(await names({ fieldSelector: 'metadata.name=b' })).toEqual(['b']);
    expect((await api.list(CONFIG_MAPS, { labelSelector: 'color' })).items).toHaveLength(2);
  });
});

describe('server-side apply', () => {
  test('leaves the fields of others, takes its own back by force, and conflicts without', async () => {
    await real.server.kubectlWith(JSON.stringify(configMap('a', { theirs: '1' })), 'apply', '--server-side', '-f', '-');
    const applied = await api.apply(configMap('a', { ours: '1' }), CONFIG_MAPS, { fieldManager: 'us' });
    expect(applied['data']).toEqual({ theirs: '1', ours: '1' });
    await expect(
      api.apply(configMap('a', { ours: '1', theirs: '2' }), CONFIG_MAPS, { fieldManager: 'us', force: false }),
    ).rejects.toMatchObject({ name: 'ApiError', code: 409, reason: 'Conflict' });
    const forced = await api.apply(configMap('a', { theirs: '2' }), CONFIG_MAPS, { fieldManager: 'us' });
    expect(forced['data']).toEqual({ theirs: '2' });
    expect(forced.metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'us', operation: 'Apply' }),
    );
  });

  test('that changes nothing writes nothing', async () => {
    const first = await api.apply(configMap('a', { a: '1' }), CONFIG_MAPS, { fieldManager: 'us' });
    const second = await api.apply(configMap('a', { a: '1' }), CONFIG_MAPS, { fieldManager: 'us' });
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test('of a status writes the status alone; the kind is served as soon as it exists', async () => {
    const widgets: Resource = { apiVersion: 'example.com/v1', kind: 'Widget', plural: 'widgets', namespaced: true };
    let now = 0;
    const credentials = await kubeconfigCredentials(real.server.kubeconfig);
    const client = new ApiClient({ credentials, userAgent: 'test', now: () => now });
    expect(await client.serves(widgets)).toBe(false);
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const version = { name: 'v1', served: true, storage: true, schema, subresources: { status: {} } };
    await client.create(
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'widgets.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Namespaced',
          names: { kind: 'Widget', plural: 'widgets' },
          versions: [version],
        },
      },
      CUSTOM_RESOURCE_DEFINITIONS,
    );
    await expect
      .poll(
        () => {
          now += 11_000;
          return client.serves(widgets);
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    expect(await client.serves(DEPLOYMENTS)).toBe(true);
    const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace } };
    await expect
      .poll(() =>
        client.apply({ ...widget, spec: { size: 1 } }, widgets, { fieldManager: 'user' }).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    const status = { ...widget, spec: { size: 2 }, status: { ready: true } };
    const written = await client.apply(status, widgets, { fieldManager: 'us', subresource: 'status' });
    expect(written).toMatchObject({ spec: { size: 1 }, status: { ready: true } });
    await client.close();
  }, 60_000);
});

describe('single objects', () => {
  test('that do not exist are undefined, and deleting them does nothing', async () => {
    expect(await api.get(CONFIG_MAPS, named('none'))).toBeUndefined();
    await api.delete(CONFIG_MAPS, named('none'));
  });

  test('are changed in part by a merge, null removes', async () => {
    await api.create(configMap('a', { one: '1', two: '2' }), CONFIG_MAPS);
    const merged = await api.merge({ data: { one: null, three: '3' } }, CONFIG_MAPS, named('a'));
    expect(merged['data']).toEqual({ two: '2', three: '3' });
  });

  test('refuse what does not fit, with the code and the reason', async () => {
    const first = await api.create(configMap('a'), CONFIG_MAPS);
    await expect(api.create(configMap('a'), CONFIG_MAPS)).rejects.toMatchObject({ code: 409, reason: 'AlreadyExists' });
    await api.replace({ ...first, data: { a: '1' } }, CONFIG_MAPS);
    await expect(api.replace({ ...first, data: { a: '2' } }, CONFIG_MAPS)).rejects.toMatchObject({
      code: 409,
      reason: 'Conflict',
    });
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace }, spec: { ports: [] } };
    await expect(api.create(service, SERVICES)).rejects.toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: expect.stringContaining('spec.ports'),
    });
  });

  test('are deleted only while they are the same object', async () => {
    const first = await api.create(configMap('a'), CONFIG_MAPS);
    await api.delete(CONFIG_MAPS, named('a'), { uid: first.metadata.uid });
    expect(await api.get(CONFIG_MAPS, named('a'))).toBeUndefined();
    await api.create(configMap('a'), CONFIG_MAPS);
    await api.delete(CONFIG_MAPS, named('a'), { uid: first.metadata.uid });
    expect(await api.get(CONFIG_MAPS, named('a'))).toBeDefined();
  });

  test('without a namespace are refused here, not looked for elsewhere', async () => {
    await expect(api.get(CONFIG_MAPS, { name: 'a' })).rejects.toThrow('needs a namespace');
    expect(await api.get(NAMESPACES, { name: namespace })).toBeDefined();
  });
});

describe('credentials', () => {
  test('of a pod: a token that was replaced on disk is taken as soon as the old one is refused', async () => {
    const dir = await mkdtemp(join(folder, 'service-account-'));
    await writeFile(join(dir, 'ca.crt'), await readFile(join(real.server.dir, 'pki/ca.crt')));
    await writeFile(join(dir, 'token'), 'expired');
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) };
    const credentials = await inClusterCredentials(env, dir);
    const client = new ApiClient({ credentials: credentials!, userAgent: 'test' });
    await expect(client.get(NAMESPACES, { name: namespace })).rejects.toMatchObject({
      code: 401,
      reason: 'Unauthorized',
    });
    await writeFile(join(dir, 'token'), `${await adminToken()}\n`);
    expect(await client.get(NAMESPACES, { name: namespace })).toBeDefined();
    await client.close();
  });

  test('of a kubeconfig: client certificates', async () => {
    const pki = join(real.server.dir, 'pki');
    const file = await kubeconfigWith({
      'client-certificate': join(pki, 'kubelet-client.crt'),
      'client-key': join(pki, 'kubelet-client.key'),
    });
    const client = new ApiClient({ credentials: await kubeconfigCredentials(file), userAgent: 'test' });
    expect(await client.get(NAMESPACES, { name: namespace })).toBeDefined();
    await client.close();
  });

  test('of a kubeconfig: a plugin runs once, and again when its output is refused', async () => {
    const output = join(folder, 'output.json');
    const calls = join(folder, 'calls');
    const setToken = (token: string): Promise<void> =>
      writeFile(
        output,
        JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } }),
      );
    const file = await kubeconfigWith({
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'sh',
        args: ['-c', `echo >> ${calls}; cat ${output}`],
        interactiveMode: 'Never',
      },
    });
    await setToken('wrong');
    const credentials = await kubeconfigCredentials(file);
    const client = new ApiClient({ credentials, userAgent: 'test' });
    await expect(client.get(NAMESPACES, { name: namespace })).rejects.toMatchObject({ code: 401 });
    await setToken(await adminToken());
    for (let i = 0; i < 3; i++) expect(await client.get(NAMESPACES, { name: namespace })).toBeDefined();
    expect((await readFile(calls, 'utf8')).length).toBe(3);
    await client.close();
  });

  test('are not sent to a server that another authority vouches for', async () => {
    const dir = await mkdtemp(join(folder, 'service-account-'));
    await writeFile(join(dir, 'ca.crt'), '');
    await writeFile(join(dir, 'token'), await adminToken());
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) };
    const client = new ApiClient({ credentials: (await inClusterCredentials(env, dir))!, userAgent: 'test' });
    await expect(client.get(NAMESPACES, { name: namespace })).rejects.toThrow(/certificate/i);
    await client.close();
  });
});

describe('a network that falls silent', () => {
  test('ends a request after its time, and the next one takes none of the connections of before', async () => {
    await using proxy = await startFreezingProxy(port);
    const token = await adminToken();
    const tls = { ca: await readFile(join(real.server.dir, 'pki/ca.crt')) };
    const connection = {
      server: `https://127.0.0.1:${proxy.port}`,
      tls,
      headers: { authorization: `Bearer ${token}` },
    };
    const credentials = { current: async () => connection, renew: () => {} };
    // No more than these three, or the next request might open one of its own.
    const client = new ApiClient({ credentials, userAgent: 'test', timeoutMs: 3_000, connections: 3 });
    await Promise.all([1, 2, 3].map(() => client.get(NAMESPACES, { name: namespace })));
    expect(proxy.connections).toBe(3);
    proxy.freeze();
    const began = performance.now();
    await expect(client.get(NAMESPACES, { name: namespace })).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(performance.now() - began).toBeLessThan(6_000);
    expect(await client.get(NAMESPACES, { name: namespace })).toBeDefined();
    proxy.freeze();
    const given = new AbortController();
    const list = client.list(CONFIG_MAPS, {}, given.signal);
    given.abort(new Error('nobody waits for it'));
    await expect(list).rejects.toThrow('nobody waits for it');
    await client.close();
  });
});
