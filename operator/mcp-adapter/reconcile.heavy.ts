import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type RunningAdapter, startAdapter } from '../../e2e/support/adapter-process.ts';
import { type RunningFixture, startFixture } from '../../e2e/support/fixture-process.ts';
import { listen } from '../../e2e/support/ports.ts';
import { valueAt } from '../../lib/json/tree.ts';
import type { KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  EVENTS,
  INGRESSES,
  MCP_ADAPTERS,
  NETWORK_POLICIES,
  PODS,
  SERVICE_ACCOUNTS,
  SERVICES,
  STORAGE_CLAIMS,
} from '../kubernetes/resources.ts';
import { type RealApi, startRealApi } from '../kubernetes/testing/real-api.ts';
import { type Running, eventually, installCrds, resourceIn, startController } from './testing/test-controller.ts';

let real: RealApi;
let upstream: RunningFixture;
let adapter: RunningAdapter;
let namespace: string;
let running: Running;

beforeAll(async () => {
  [real, upstream] = await Promise.all([startRealApi(), startFixture()]);
  const core = { upstream_ping: { interval_seconds: 1 } };
  const servers = [{ id: 'files', mount_path: '/mcp', upstream: { url: upstream.mcpUrl } }];
  adapter = await startAdapter({ config: { core, servers, state_persistence: { type: 'memory' } } });
  await installCrds(real.api);
}, 20 * 60_000);
afterAll(async () => {
  adapter?.kill();
  upstream?.kill();
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  namespace = await real.namespace();
  running = startController(real.api, namespace, () => adapter.port);
});
afterEach(async () => {
  await running[Symbol.asyncDispose]();
});

const servers = [{ id: 'files', mount_path: '/mcp', upstream: { url: 'http://files:8000/mcp' } }];
const spec = { config: { servers } };
const resource = (name = 'demo') => resourceIn(real.api, namespace, name);

/** A resource whose pod serves. */
async function serving(more: object = {}): Promise<ReturnType<typeof resourceIn>> {
  const demo = resource();
  await demo.apply({ ...spec, ...more });
  await eventually(() => demo.get(DEPLOYMENTS));
  await demo.runPod('demo-1', adapter.port);
  await demo.rollOut();
  await demo.becomes('Ready', 'True/Ready');
  return demo;
}

const configText = (configMap: KubernetesObject | undefined): string => textAt(configMap, 'data', 'config.yaml') ?? '';

let touches = 0;
const touch = (name: string) =>
  real.api.merge({ metadata: { annotations: { note: String(++touches) } } }, PODS, { name, namespace });

async function healthServer(body: () => object): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer((_, response) => response.end(JSON.stringify(body())));
  const port = await listen(server);
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Time in which the operator does what it has to do, if anything. */
const settle = () => delay(1_500);

const templateAnnotation = (deployment: KubernetesObject | undefined, name: string): string | undefined =>
  textAt(deployment, 'spec', 'template', 'metadata', 'annotations', name);

it('makes what the resource consists of, and says that it is on its way', async () => {
  const demo = resource();
  await demo.apply({ ...spec, storage: { claim: { size: '1Gi' } }, ingress: { host: 'a.example' } });
  await demo.becomes('Ready', 'Unknown/Progressing');
  await demo.becomes('Accepted', 'True/Accepted');
  await demo.becomes('Reconciling', 'True/Progressing');
  for (const kind of [SERVICES, SERVICE_ACCOUNTS, NETWORK_POLICIES, INGRESSES, DEPLOYMENTS]) {
    const child = await eventually(() => demo.get(kind));
    expect(child.metadata.ownerReferences).toMatchObject([{ kind: 'McpAdapter', name: 'demo', controller: true }]);
  }
  const config = await eventually(() => demo.get(CONFIG_MAPS, 'demo-config'));
  expect(configText(config)).toContain('http://files:8000/mcp');
  const claim = await eventually(() => demo.get(STORAGE_CLAIMS, 'demo-storage'));
  expect(claim.metadata.ownerReferences).toBeUndefined();
  expect((await demo.condition('StorageReady'))?.status).toBe('Unknown');
  await demo.bindClaim('demo-storage');
  await demo.becomes('StorageReady', 'True/Bound');
  expect((await demo.status()).selector).toBe('mcpadapter.io/adapter=demo');
});

it('O19: is ready, with its URL, once the pods serve and MCP answers; then it writes nothing more', async () => {
  const demo = await serving();
  await demo.becomes('UpstreamsHealthy', 'True/Healthy');
  const status = await demo.status();
  expect(status).toMatchObject({
    observedGeneration: 1,
    replicas: 1,
    readyReplicas: 1,
    url: `http://demo.${namespace}.svc:8932`,
    upstreamsHealthy: '1/1',
    configHash: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  expect(status.conditions?.every(({ observedGeneration }) => observedGeneration === 1)).toBe(true);
  expect(status.conditions?.map(({ type }) => type)).not.toContain('Reconciling');

  await settle();
  const before = running.writes().length;
  // Looks again, because a pod changed, although nothing that matters did.
  for (const _ of [1, 2, 3]) {
    await touch('demo-1');
    await settle();
  }
  expect(running.writes().slice(before)).toEqual([]);
});

it('warns beside Ready of a state file that no volume holds', async () => {
  const demo = resource();
  const config = { ...spec.config, state_persistence: { disk: { local_path: '/state/adapter.sqlite3' } } };
  await demo.apply({ ...spec, config });
  await expect
    .poll(async () => (await demo.condition('Ready'))?.message, { timeout: 20_000 })
    .toContain('The state file /state/adapter.sqlite3 lies outside of');
});

it('writes nothing that changes anything after a restart', async () => {
  const demo = await serving();
  await settle();
  const versions = async () =>
    Promise.all(
      [MCP_ADAPTERS, SERVICES, DEPLOYMENTS, NETWORK_POLICIES, SERVICE_ACCOUNTS].map(
        async (kind) => (await demo.get(kind))?.metadata.resourceVersion,
      ),
    );
  const before = await versions();
  await running[Symbol.asyncDispose]();
  running = startController(real.api, namespace, () => 1);
  await eventually(() => (running.writes().length > 0 ? true : undefined));
  await settle();
  expect(await versions()).toEqual(before);
  expect(running.writes().filter((write) => write.includes('McpAdapter/'))).toEqual([]);
});

it('repairs what was deleted or edited by hand, and leaves what others added', async () => {
  const demo = await serving();
  await real.api.delete(SERVICES, { name: 'demo', namespace });
  await eventually(async () =>
    (await demo.get(SERVICES))?.metadata.deletionTimestamp === undefined ? true : undefined,
  );
  await eventually(() => demo.get(SERVICES));
  const edit = { data: { 'config.yaml': 'servers: []' }, metadata: { labels: { team: 'blue' } } };
  await real.api.merge(edit, CONFIG_MAPS, { name: 'demo-config', namespace });
  const config = await eventually(async () => {
    const found = await demo.get(CONFIG_MAPS, 'demo-config');
    return configText(found).includes('files:8000') ? found : undefined;
  });
  expect(config.metadata.labels?.['team']).toBe('blue');
});

describe('the layout of the storage stays as it began', () => {
  const layout = async (demo: ReturnType<typeof resource>): Promise<string | undefined> =>
    textAt(parse(configText(await demo.get(CONFIG_MAPS, 'demo-config'))), 'storage', 'layout');
  const more = [...servers, { id: 'more', mount_path: '/more', upstream: { url: 'http://more:8000/mcp' } }];
  const claim = { storage: { claim: { size: '1Gi' } } };
  const begun = async () => {
    const demo = resource();
    await demo.apply({ ...spec, ...claim });
    await eventually(() => demo.get(DEPLOYMENTS));
    await demo.apply({ config: { servers: more }, ...claim });
    await eventually(async () =>
      configText(await demo.get(CONFIG_MAPS, 'demo-config')).includes('/more') ? true : undefined,
    );
    expect(await layout(demo)).toBeUndefined();
    return demo;
  };
  const remade = (demo: ReturnType<typeof resource>, before: string | undefined) =>
    eventually(async () => {
      const found = await demo.get(CONFIG_MAPS, 'demo-config');
      return found !== undefined && found.metadata.uid !== before ? found : undefined;
    });

  it('where the ConfigMap is deleted by hand', async () => {
    const demo = await begun();
    const before = await demo.get(CONFIG_MAPS, 'demo-config');
    await real.api.delete(CONFIG_MAPS, { name: 'demo-config', namespace });
    const after = await remade(demo, before?.metadata.uid);
    expect(after['data']).toEqual(before?.['data']);
    expect(after.metadata.labels).toEqual(before?.metadata.labels);
  });

  it('where the resource is made again over the claim that it has left', async () => {
    const demo = await begun();
    const before = await demo.get(CONFIG_MAPS, 'demo-config');
    await running[Symbol.asyncDispose]();
    await real.api.delete(MCP_ADAPTERS, { name: 'demo', namespace });
    // There is no garbage collector here.
    await real.api.delete(CONFIG_MAPS, { name: 'demo-config', namespace });
    for (const kind of [SERVICE_ACCOUNTS, NETWORK_POLICIES, SERVICES, DEPLOYMENTS])
      await real.api.delete(kind, { name: 'demo', namespace });
    await demo.apply({ config: { servers: more }, ...claim });
    running = startController(real.api, namespace, () => 1);
    const after = await remade(demo, before?.metadata.uid);
    expect(after['data']).toEqual(before?.['data']);
  });
});

it('leaves everything as it is after an invalid edit, and names the field', async () => {
  const demo = await serving();
  const before = await demo.get(DEPLOYMENTS);
  const invalid = [{ ...servers[0], disabled_tools: ['('] }];
  await demo.apply({ config: { servers: invalid } });
  const accepted = await demo.becomes('Accepted', 'False/InvalidSpec');
  expect(accepted.message).toContain('spec.config.servers[0].disabled_tools[0] is no valid regular expression');
  expect(accepted.observedGeneration).toBe(2);
  await demo.becomes('Stalled', 'True/InvalidSpec');
  expect(await demo.condition('Ready')).toMatchObject({ status: 'True', observedGeneration: 1 });
  expect(await demo.status()).toMatchObject({ observedGeneration: 2, url: `http://demo.${namespace}.svc:8932` });
  await settle();
  expect((await demo.get(DEPLOYMENTS))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);

  await demo.apply(spec);
  await demo.becomes('Accepted', 'True/Accepted');
  await eventually(async () => ((await demo.condition('Stalled')) === undefined ? true : undefined));
  // A handshake comes first, and takes its time.
  await eventually(async () => ((await demo.condition('Ready'))?.observedGeneration === 3 ? true : undefined));
});

it('says which variable is not declared', async () => {
  const demo = resource();
  await demo.apply({ config: { servers: [{ ...servers[0], upstream: { url: 'http://${HOST}/mcp' } }] } });
  const accepted = await demo.becomes('Accepted', 'False/UndeclaredVariable');
  expect(accepted.message).toContain('spec.config.servers[0].upstream.url refers to the variable HOST');
  await demo.becomes('Ready', 'False/UndeclaredVariable');
  expect(await demo.get(DEPLOYMENTS)).toBeUndefined();
});

it('says that an API is missing', async () => {
  const demo = resource();
  await demo.apply({ ...spec, httpRoute: { parentRefs: [{ name: 'gateway' }] } });
  await demo.becomes('Accepted', 'False/ApiMissing');
});

it('does not touch what others made under the same name', async () => {
  await real.api.create(
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'demo', namespace },
      spec: { ports: [{ port: 1 }], selector: { app: 'other' } },
    },
    SERVICES,
  );
  const demo = resource();
  await demo.apply(spec);
  const accepted = await demo.becomes('Accepted', 'False/NameConflict');
  expect(accepted.message).toContain('Service demo exists already');
  expect((await demo.get(SERVICES))?.['spec']).toMatchObject({ selector: { app: 'other' } });
});

it('O21: takes up what nobody owns and carries its two labels', async () => {
  const labels = { 'app.kubernetes.io/managed-by': 'mcp-operator', 'mcpadapter.io/adapter': 'demo' };
  const metadata = { name: 'demo-config', namespace, labels };
  const data = { 'config.yaml': 'mine' };
  await real.api.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, CONFIG_MAPS);
  const demo = resource();
  await demo.apply(spec);
  const taken = await eventually(async () => {
    const configMap = await demo.get(CONFIG_MAPS, 'demo-config');
    return configText(configMap).includes('http://files:8000/mcp') ? configMap : undefined;
  });
  expect(taken.metadata.ownerReferences).toMatchObject([{ kind: 'McpAdapter', name: 'demo', controller: true }]);
});

it('O21: leaves alone what nobody owns and lacks one of the two labels', async () => {
  const metadata = { name: 'demo-config', namespace, labels: { 'mcpadapter.io/adapter': 'demo' } };
  const data = { 'config.yaml': 'mine' };
  await real.api.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, CONFIG_MAPS);
  const demo = resource();
  await demo.apply(spec);
  const accepted = await demo.becomes('Accepted', 'False/NameConflict');
  expect(accepted.message).toContain('ConfigMap demo-config exists already');
  expect(configText(await demo.get(CONFIG_MAPS, 'demo-config'))).toBe('mine');
});

it('says what the API server refuses', async () => {
  const demo = resource();
  await demo.apply({ ...spec, podOverlay: { spec: { containers: [{ name: 'adapter', nonsense: true }] } } });
  const accepted = await demo.becomes('Accepted', 'False/Refused');
  expect(accepted.message).toMatch(/Deployment demo was refused by the API server: .*nonsense/);
});

it('says what the API server cannot do for now, and goes on when it can', { timeout: 90_000 }, async () => {
  const webhooks: Resource = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
  };
  const { apiVersion, kind } = webhooks;
  const metadata = { name: `down-${namespace}` };
  const webhook = {
    name: 'down.example.com',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['services'] }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
  };
  await real.api.create({ apiVersion, kind, metadata, webhooks: [webhook] }, webhooks);
  const demo = resource();
  await demo.apply(spec);
  await expect
    .poll(async () => (await demo.condition('Ready'))?.message, { timeout: 60_000 })
    .toMatch(/^Service demo cannot be applied for now: .*failed calling webhook "down.example.com"/);
  await demo.becomes('Reconciling', 'True/Progressing');
  expect(await demo.get(DEPLOYMENTS)).toBeUndefined();

  await real.api.delete(webhooks, metadata);
  await demo.apply({ ...spec, replicas: 0 });
  await eventually(() => demo.get(DEPLOYMENTS));
  await demo.becomes('Accepted', 'True/Accepted');
});

it('changes nothing while paused, and still reports', async () => {
  const demo = await serving();
  await demo.apply({ ...spec, paused: true, config: { servers, core: { log_level: 'debug' } } });
  await demo.becomes('Paused', 'True/Paused');
  const config = await demo.get(CONFIG_MAPS, 'demo-config');
  expect(configText(config)).not.toContain('debug');
  expect(await demo.condition('Ready')).toMatchObject({ status: 'True', observedGeneration: 1 });
  await demo.setDeploymentStatus({ observedGeneration: 1, replicas: 1, updatedReplicas: 1 });
  await demo.becomes('Ready', 'Unknown/Progressing');

  await demo.apply({ ...spec, config: { servers, core: { log_level: 'debug' } } });
  await eventually(async () => {
    const changed = await demo.get(CONFIG_MAPS, 'demo-config');
    return configText(changed).includes('debug') ? true : undefined;
  });
  await eventually(async () => ((await demo.condition('Paused')) === undefined ? true : undefined));
});

it('gives the claim an owner only when it is to go with the resource', async () => {
  const demo = resource();
  await demo.apply({ ...spec, storage: { claim: { size: '1Gi' } }, deletionPolicy: 'Delete' });
  const claim = await eventually(() => demo.get(STORAGE_CLAIMS, 'demo-storage'));
  expect(claim.metadata.ownerReferences).toMatchObject([{ kind: 'McpAdapter' }]);
  await demo.apply({ ...spec, storage: { claim: { size: '1Gi' } }, deletionPolicy: 'Retain' });
  await eventually(async () => {
    const found = await demo.get(STORAGE_CLAIMS, 'demo-storage');
    return (found?.metadata.ownerReferences ?? []).length === 0 ? true : undefined;
  });
});

it.each<[string, object]>([
  ['it is paused', { paused: true }],
  ['its configuration is refused', { config: { servers: [{ ...servers[0], disabled_tools: ['('] }] } }],
])('takes the owner from a claim that is to stay also while %s', async (_, hindrance) => {
  const demo = resource();
  const storage = { claim: { size: '1Gi' } };
  await demo.apply({ ...spec, storage, deletionPolicy: 'Delete' });
  await eventually(() => demo.get(STORAGE_CLAIMS, 'demo-storage'));
  await demo.apply({ ...spec, storage, ...hindrance, deletionPolicy: 'Retain' });
  await eventually(async () => {
    const found = await demo.get(STORAGE_CLAIMS, 'demo-storage');
    return found?.metadata.ownerReferences === undefined ? true : undefined;
  });
});

it('leaves a claim as large as somebody has made it, and goes on', async () => {
  const demo = resource();
  const storageClass: Resource = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    plural: 'storageclasses',
    namespaced: false,
  };
  const { apiVersion, kind } = storageClass;
  const growing = { apiVersion, kind, metadata: { name: 'growing' }, provisioner: 'x', allowVolumeExpansion: true };
  await real.api.apply(growing, storageClass, { fieldManager: 'test' });
  const storage = { claim: { size: '1024Mi', storageClassName: 'growing' } };
  await demo.apply({ ...spec, storage });
  const key = { name: 'demo-storage', namespace };
  await eventually(() => demo.get(STORAGE_CLAIMS, key.name));
  await demo.bindClaim(key.name);
  await real.api.merge({ spec: { resources: { requests: { storage: '2Gi' } } } }, STORAGE_CLAIMS, key);
  await demo.bindClaim(key.name, '2Gi');
  const before = templateAnnotation(await eventually(() => demo.get(DEPLOYMENTS)), 'mcpadapter.io/config-hash');
  await demo.apply({ ...spec, storage, config: { servers, core: { log_level: 'debug' } } });
  const size = async () =>
    valueAt(await demo.get(STORAGE_CLAIMS, key.name), ['spec', 'resources', 'requests', 'storage']);
  await eventually(async () => {
    const changed = templateAnnotation(await demo.get(DEPLOYMENTS), 'mcpadapter.io/config-hash');
    return changed === before ? undefined : true;
  });
  await demo.becomes('Accepted', 'True/Accepted');
  await settle();
  expect(await size()).toBe('2Gi');
  expect(await demo.condition('Accepted')).toMatchObject({ status: 'True', observedGeneration: 2 });
  await demo.apply({ ...spec, storage: { claim: { ...storage.claim, size: '3Gi' } } });
  await eventually(async () => ((await size()) === '3Gi' ? true : undefined));
});

it('removes what is no longer wanted', async () => {
  const demo = resource();
  const telemetry = { prometheus: { enabled: true } };
  await demo.apply({ ...spec, config: { ...spec.config, telemetry }, ingress: { host: 'a.example' } });
  await eventually(() => demo.get(INGRESSES));
  await eventually(() => demo.get(SERVICES, 'demo-metrics'));
  await demo.apply(spec);
  await eventually(async () => ((await demo.get(INGRESSES)) === undefined ? true : undefined));
  await eventually(async () => ((await demo.get(SERVICES, 'demo-metrics')) === undefined ? true : undefined));
  expect(await demo.get(SERVICES)).toBeDefined();
});

it('tells why a pod does not start, and of the way back, once each as an Event', async () => {
  const demo = resource();
  await demo.apply(spec);
  await eventually(() => demo.get(DEPLOYMENTS));
  await demo.runPod('demo-1', adapter.port);
  await demo.setPodStatus('demo-1', {
    phase: 'Pending',
    containerStatuses: [
      {
        name: 'adapter',
        ready: false,
        restartCount: 0,
        image: 'adapter:1',
        imageID: '',
        state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "token" not found' } },
      },
    ],
  });
  const ready = await demo.becomes('Ready', 'False/CreateContainerConfigError');
  expect(ready.message).toContain('secret "token" not found');
  await demo.setPodStatus('demo-1', {
    phase: 'Running',
    podIP: '127.0.0.1',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(0).toISOString() }],
    containerStatuses: [
      { name: 'adapter', ready: true, restartCount: 0, image: 'adapter:1', imageID: 'x', state: { running: {} } },
    ],
  });
  await demo.rollOut();
  await demo.becomes('Ready', 'True/Ready');
  const reasons = await eventually(async () => {
    const { items } = await real.api.list(EVENTS, { namespace });
    const found = items.map((event) => `${String(event['type'])} ${String(event['reason'])}`).sort();
    return found.includes('Normal Ready') ? found : undefined;
  });
  expect(reasons.filter((reason) => reason === 'Warning CreateContainerConfigError')).toHaveLength(1);
  expect(reasons.filter((reason) => reason === 'Normal Ready')).toHaveLength(1);
});

it('restarts pods when an annotation of the resource says so, and lets kubectl do it too', async () => {
  const demo = await serving();
  const byKubectl = 'kubectl.kubernetes.io/restartedAt';
  const patch = { spec: { template: { metadata: { annotations: { [byKubectl]: 'then' } } } } };
  await real.api.merge(patch, DEPLOYMENTS, { name: 'demo', namespace });
  await demo.apply(spec, { annotations: { 'mcpadapter.io/restartedAt': 'now' } });
  const deployment = await eventually(async () => {
    const found = await demo.get(DEPLOYMENTS);
    return templateAnnotation(found, 'mcpadapter.io/restartedAt') === 'now' ? found : undefined;
  });
  expect(templateAnnotation(deployment, byKubectl)).toBe('then');
});

it('makes new pods once when what they refer to has changed', async () => {
  let changed = false;
  await using pod = await healthServer(() => ({ servers: [], references: { changed } }));
  const demo = resource();
  await demo.apply(spec);
  await eventually(() => demo.get(DEPLOYMENTS));
  await demo.runPod('demo-1', pod.port);
  await settle();
  const revision = async (): Promise<string | undefined> =>
    templateAnnotation(await demo.get(DEPLOYMENTS), 'mcpadapter.io/references-revision');
  expect(await revision()).toBeUndefined();
  changed = true;
  // Pods are asked from time to time, and when something about them changes.
  await touch('demo-1');
  await eventually(async () => ((await revision()) === '1' ? true : undefined));
  for (const _ of [1, 2]) {
    await touch('demo-1');
    await settle();
  }
  expect(await revision()).toBe('1');
  await demo.runPod('demo-2', pod.port);
  await eventually(async () => ((await revision()) === '2' ? true : undefined));
});

it('says which issuer has given its keys to no pod, and stays ready meanwhile', async () => {
  let keys = 'unavailable';
  let isConfigured = true;
  const issuer = 'https://id.example.com/realms/mcp';
  const ok = { servers: [{ server_id: 'files', status: 'ok' }] };
  const saying = (known: string): object => ({ ...ok, ...(isConfigured && { issuers: [{ issuer, keys: known }] }) });
  await using pod = await healthServer(() => saying(keys));
  await using other = await healthServer(() => saying('known'));
  const oauth = { issuer, audiences: ['https://mcp.example.com/mcp'] };
  const config = { ...spec.config, core: { auth: { enabled: true, token: '${TOKEN}', oauth } } };
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'tokens', key: 'token' } } }];
  const demo = resource();
  await demo.apply({ config, env });
  await demo.becomes('AuthReady', 'Unknown/NoAnswer');
  await demo.runPod('demo-1', pod.port);
  await demo.runPod('demo-2', other.port);
  await demo.rollOut();
  const away = await demo.becomes('AuthReady', 'False/IssuerUnavailable');
  expect(away.message).toContain(`${issuer} has given its keys to none of demo-1. `);
  await demo.becomes('Ready', 'True/Ready');

  keys = 'known';
  await touch('demo-1');
  await demo.becomes('AuthReady', 'True/KeysKnown');
  await demo.apply(spec);
  isConfigured = false;
  await touch('demo-1');
  await eventually(async () => ((await demo.condition('AuthReady')) === undefined ? true : undefined));
});

it('goes without a trace but for the claim that is to stay', async () => {
  const demo = await serving();
  const before = running.writes().length;
  await real.api.delete(MCP_ADAPTERS, { name: 'demo', namespace });
  await settle();
  expect(running.writes().slice(before)).toEqual([]);
  expect(await demo.get(MCP_ADAPTERS)).toBeUndefined();
});
