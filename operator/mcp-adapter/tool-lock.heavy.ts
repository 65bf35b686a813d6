import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdapter } from '../../e2e/support/adapter-process.ts';
import { startChangingServer } from '../../e2e/support/changing-server.ts';
import { listen } from '../../e2e/support/ports.ts';
import { openRawClient } from '../../e2e/support/raw-client.ts';
import type { McpToolLockStatus } from '../../crds/v1alpha1/mcp-tool-lock.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import { CONFIG_MAPS, DEPLOYMENTS, EVENTS, MCP_TOOL_LOCKS, PODS } from '../kubernetes/resources.ts';
import { type RealApi, startRealApi } from '../kubernetes/testing/real-api.ts';
import { TOOL_LOCK } from '../pods/annotations.ts';
import { lockDocument } from './testing/locks.ts';
import { type Running, eventually, installCrds, resourceIn, startController } from './testing/test-controller.ts';

let real: RealApi;
let pod: { server: Server; port: number };
let namespace: string;
let running: Running;
/** `tool_lock` of the pod's `/healthz`. */
let told: object | undefined;

beforeAll(async () => {
  real = await startRealApi();
  await installCrds(real.api);
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    const health = { servers: [{ server_id: 'files', mount_path: '/mcp', status: 'ok' }], tool_lock: told };
    const initialized = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } };
    response.end(JSON.stringify(request.url === '/healthz' ? health : initialized));
  });
  pod = { server, port: await listen(server) };
}, 20 * 60_000);
afterAll(async () => {
  pod?.server.closeAllConnections();
  pod?.server.close();
  await real?.[Symbol.asyncDispose]();
}, 60_000);
beforeEach(async () => {
  told = undefined;
  namespace = await real.namespace();
  running = startController(real.api, namespace, () => pod.port);
});
afterEach(() => running[Symbol.asyncDispose]());

const servers = [{ id: 'files', mount_path: '/mcp', upstream: { url: 'http://files:8000/mcp' } }];
const demo = () => resourceIn(real.api, namespace, 'demo');
const { apiVersion, kind } = MCP_TOOL_LOCKS;

const applyLock = (name: string, document: object, adapter = 'demo') =>
  real.api.apply(
    { apiVersion, kind, metadata: { name, namespace }, spec: { adapterRef: { name: adapter }, ...document } },
    MCP_TOOL_LOCKS,
    { fieldManager: 'user' },
  );
const lockStatus = async (name: string): Promise<McpToolLockStatus> =>
  (await real.api.get(MCP_TOOL_LOCKS, { name, namespace }))?.['status'] ?? {};
const lockBecomes = (name: string, type: string, expected: string) =>
  eventually(async () => {
    const found = (await lockStatus(name)).conditions?.find((one) => one.type === type);
    const is = found === undefined ? 'absent' : `${found.status}/${found.reason}`;
    if (is !== expected) throw new Error(`${type} of the lock is ${is}: ${found?.message}; not ${expected}`);
    return found;
  });

const lockFile = async (): Promise<unknown> => {
  const text = textAt(await demo().get(CONFIG_MAPS, 'demo-tool-lock'), 'data', 'tool-lock.json');
  return text === undefined ? undefined : JSON.parse(text);
};
const becomesLockFile = (document: object) =>
  eventually(async () => {
    const found = await lockFile();
    expect(found).toEqual(document);
    return found as object;
  });
const podAnnotation = async (): Promise<string | undefined> =>
  (await demo().get(PODS, 'demo-1'))?.metadata.annotations?.[TOOL_LOCK];
/** Resolves when the pod carries the digest of the ConfigMap, which holds this. */
const isTold = (document: object) =>
  eventually(async () => {
    expect(await lockFile()).toEqual(document);
    const digest = (await demo().get(CONFIG_MAPS, 'demo-tool-lock'))?.metadata.labels?.[TOOL_LOCK];
    expect(digest).toMatch(/^[0-9a-f]{32}$/);
    return (await podAnnotation()) === digest ? true : undefined;
  });
const driftEvents = async (): Promise<KubernetesObject[]> =>
  (await real.api.list(EVENTS, { namespace })).items.filter((event) => event['reason'] === 'ToolDrift');

/** Something of the pod changes, so that the operator looks again. */
let touches = 0;
const touch = () =>
  real.api.merge({ metadata: { annotations: { note: String(++touches) } } }, PODS, { name: 'demo-1', namespace });
/** Time in which the operator does what it has to do, if anything. */
const settle = () => delay(1_500);

const one = lockDocument(1);
const two = { mode: 'audit', ...lockDocument(2) };

/** A resource with a lock, whose pod serves. */
async function serving(document: object = one): Promise<ReturnType<typeof resourceIn>> {
  await applyLock('approved', document);
  await demo().apply({ config: { servers } });
  await eventually(async () =>
    JSON.stringify(await demo().get(DEPLOYMENTS)).includes('mcp-adapter-lock') ? true : undefined,
  );
  await demo().runPod('demo-1', pod.port);
  await demo().rollOut();
  return demo();
}
const comparing = (server: object, more: object = {}) => ({
  problem: null,
  mode: 'enforce',
  servers: { files: { drift: [], new: [], removed: [], compared_at: Date.now(), ...server } },
  ...more,
});

it('renders nothing of it without a lock', async () => {
  await demo().apply({ config: { servers } });
  const deployment = await eventually(() => demo().get(DEPLOYMENTS));
  const config = await demo().get(CONFIG_MAPS, 'demo-config');
  expect(JSON.stringify([deployment, config])).not.toMatch(/tool[_-]lock|adapter-lock/);
  expect(await demo().get(CONFIG_MAPS, 'demo-tool-lock')).toBeUndefined();
  await demo().becomes('Accepted', 'True/Accepted');
  expect(await demo().condition('ToolsMatchLock')).toBeUndefined();
});

it('puts the document into a ConfigMap that pods mount as a folder, and names the file', async () => {
  await applyLock('approved', two);
  await lockBecomes('approved', 'Ready', 'Unknown/AdapterNotFound');
  await demo().apply({ config: { servers } });
  const deployment = await eventually(() => demo().get(DEPLOYMENTS));
  expect(await lockFile()).toEqual(two);
  const config = textAt(await demo().get(CONFIG_MAPS, 'demo-config'), 'data', 'config.yaml');
  expect(config).toMatch(/core:\n[^]* {2}tool_lock:\n {4}path: \/etc\/mcp-adapter-lock\/tool-lock\.json\n/);
  const { containers, volumes } = (deployment['spec'] as { template: { spec: Record<string, unknown> } }).template.spec;
  expect(volumes).toContainEqual(
    expect.objectContaining({ name: 'mcp-tool-lock', configMap: expect.objectContaining({ name: 'demo-tool-lock' }) }),
  );
  const mount = { name: 'mcp-tool-lock', mountPath: '/etc/mcp-adapter-lock', readOnly: true };
  expect(containers).toMatchObject([{ volumeMounts: expect.arrayContaining([mount]) }]);
  const [owner] = (await demo().get(CONFIG_MAPS, 'demo-tool-lock'))?.metadata.ownerReferences ?? [];
  expect(owner).toMatchObject({ kind: 'McpAdapter', name: 'demo' });
});

it('a changed lock reaches the pods that run, and replaces none', async () => {
  await serving();
  await isTold(one);
  const before = await demo().get(DEPLOYMENTS);
  const changedAt = performance.now();
  await applyLock('approved', two);
  await isTold(two);
  expect(performance.now() - changedAt).toBeLessThan(3_000);
  expect(await lockFile()).toEqual(two);
  expect((await demo().get(DEPLOYMENTS))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
});

it('tells pods only what the ConfigMap holds already', async () => {
  await serving();
  await isTold(one);
  await applyLock('approved', two);
  await isTold(two);
  const writes = running.writes();
  const told = writes.lastIndexOf('merge Pod/demo-1');
  expect(writes.lastIndexOf('apply ConfigMap/demo-tool-lock')).toBeLessThan(told);
});

it('when the lock goes, so does all that was made of it', async () => {
  await serving();
  await isTold(one);
  await real.api.delete(MCP_TOOL_LOCKS, { name: 'approved', namespace });
  await eventually(async () => ((await demo().get(CONFIG_MAPS, 'demo-tool-lock')) === undefined ? true : undefined));
  expect(JSON.stringify((await demo().get(DEPLOYMENTS))?.['spec'])).not.toMatch(/tool-lock|adapter-lock/);
  expect(textAt(await demo().get(CONFIG_MAPS, 'demo-config'), 'data', 'config.yaml')).not.toContain('tool_lock');
  await eventually(async () => ((await demo().condition('ToolsMatchLock')) === undefined ? true : undefined));
});

it('a lock that names another adapter leaves the one before', async () => {
  await serving();
  await becomesLockFile(one);
  await applyLock('approved', one, 'other');
  await eventually(async () => ((await demo().get(CONFIG_MAPS, 'demo-tool-lock')) === undefined ? true : undefined));
  await lockBecomes('approved', 'Ready', 'Unknown/AdapterNotFound');
});

it('the oldest lock counts, and the other says so; when it goes, the other counts', async () => {
  await serving();
  await becomesLockFile(one);
  // The API server notes whole seconds.
  await delay(1_100);
  await applyLock('a-younger', two);
  const accepted = await lockBecomes('a-younger', 'Accepted', 'False/AdapterLocked');
  expect(accepted.message).toContain('The McpAdapter demo has the lock approved, which is older');
  expect(await lockFile()).toEqual(one);
  expect((await lockStatus('approved')).adapters).toEqual(['demo']);
  expect((await lockStatus('a-younger')).adapters ?? []).toEqual([]);

  await real.api.delete(MCP_TOOL_LOCKS, { name: 'approved', namespace });
  await becomesLockFile(two);
  await lockBecomes('a-younger', 'Accepted', 'True/Accepted');
});

it('says what is known of it where a policy lets nobody mark pods', async () => {
  const policies = (name: string, plural: string) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: name,
    plural,
    namespaced: false,
  });
  const metadata = { name: `unmarked-${namespace}` };
  const policy = policies('ValidatingAdmissionPolicy', 'validatingadmissionpolicies');
  const binding = policies('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings');
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['pods'] }];
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  const validations = [
    { expression: `!has(object.metadata.annotations) || !('${TOOL_LOCK}' in object.metadata.annotations)` },
  ];
  const spec = { failurePolicy: 'Fail', matchConstraints: { resourceRules, namespaceSelector }, validations };
  await real.api.create({ apiVersion: policy.apiVersion, kind: policy.kind, metadata, spec }, policy);
  const bound = { policyName: metadata.name, validationActions: ['Deny'] };
  await real.api.create({ apiVersion: binding.apiVersion, kind: binding.kind, metadata, spec: bound }, binding);

  told = comparing({});
  await demo().apply({ config: { servers } });
  await eventually(() => demo().get(DEPLOYMENTS));
  await demo().runPod('demo-1', pod.port);
  const mark = (value: string | null) => ({ metadata: { annotations: { [TOOL_LOCK]: value } } });
  // The API server reads policies a moment later.
  await eventually(async () =>
    real.api.merge(mark('x'), PODS, { name: 'demo-1', namespace }).then(
      () => undefined,
      () => true,
    ),
  );
  await real.api.merge(mark(null), PODS, { name: 'demo-1', namespace });
  await applyLock('approved', one);
  await eventually(async () =>
    JSON.stringify(await demo().get(DEPLOYMENTS)).includes('mcp-adapter-lock') ? true : undefined,
  );
  await demo().rollOut();
  await eventually(() => (running.writes().includes('merge Pod/demo-1') ? true : undefined));
  told = comparing({ drift: [{ kind: 'tools', name: 'search', fields: ['title'] }] });
  await touch();
  await eventually(async () => ((await lockStatus('approved')).drifted === 1 ? true : undefined));
  await lockBecomes('approved', 'Accepted', 'True/Accepted');
  await lockBecomes('approved', 'Ready', 'Unknown/Progressing');
  await eventually(async () => ((await driftEvents()).length === 1 ? true : undefined));
});

it('counts beside a file of the adapter’s own, and says so', async () => {
  await applyLock('approved', one);
  await demo().apply({ config: { servers, core: { tool_lock: { path: '/tmp/mine.yaml' } } } });
  await eventually(() => demo().get(DEPLOYMENTS));
  const config = async () => textAt(await demo().get(CONFIG_MAPS, 'demo-config'), 'data', 'config.yaml');
  await eventually(async () => ((await config())?.includes('/etc/mcp-adapter-lock') === true ? true : undefined));
  expect(await config()).not.toContain('mine.yaml');
  await expect
    .poll(async () => (await demo().condition('Ready'))?.message, { timeout: 20_000 })
    .toContain('spec.config.core.tool_lock has no effect beside the McpToolLock approved');
});

/** More than a ConfigMap holds, and less than the API server takes. */
const tooLarge = () => {
  const { servers: all } = lockDocument(700) as { servers: { files: object } };
  return { servers: { ...all, more: all.files } };
};

it('what does not fit into a ConfigMap is told, and the last lock that did stays', async () => {
  await serving();
  await isTold(one);
  await applyLock('approved', tooLarge());
  const accepted = await lockBecomes('approved', 'Accepted', 'False/TooLarge');
  expect(accepted.message).toMatch(/^The lock is \d+ bytes long, and the ConfigMap .* can hold 1048576/);
  await lockBecomes('approved', 'Stalled', 'True/TooLarge');
  const condition = await demo().becomes('ToolsMatchLock', 'False/LockNotAccepted');
  expect(condition.message).toContain('What it was before stays in force');
  await touch();
  await settle();
  expect(await lockFile()).toEqual(one);
  expect(JSON.stringify(await demo().get(DEPLOYMENTS))).toContain('mcp-adapter-lock');

  await applyLock('approved', two);
  await becomesLockFile(two);
  await lockBecomes('approved', 'Accepted', 'True/Accepted');
});

it('1,000 tools reach the pods', async () => {
  const document = lockDocument(1000);
  await serving(document);
  await isTold(document);
  expect(await lockFile()).toEqual(document);
});

it('after a restart of the operator nothing is lost for a moment, and nothing is written', async () => {
  told = comparing({});
  await serving();
  await lockBecomes('approved', 'Ready', 'True/InForce');
  await demo().becomes('Ready', 'True/Ready');
  await settle();
  await running[Symbol.asyncDispose]();
  const before = [await demo().get(DEPLOYMENTS), await demo().get(CONFIG_MAPS, 'demo-tool-lock')];
  running = startController(real.api, namespace, () => pod.port);
  await eventually(() => (running.writes().length > 0 ? true : undefined));
  await settle();
  const after = [await demo().get(DEPLOYMENTS), await demo().get(CONFIG_MAPS, 'demo-tool-lock')];
  expect(after.map((object) => object?.metadata.resourceVersion)).toEqual(
    before.map((object) => object?.metadata.resourceVersion),
  );
  expect(running.writes().filter((write) => /delete|merge|McpToolLock/.test(write))).toEqual([]);
});

describe('what pods find', () => {
  it('stands in the conditions, as one Event for each drift, and in the status of the lock; at rest nothing is written', async () => {
    const drift = (name: string, ...fields: string[]) => ({ kind: 'tools', name, fields });
    told = comparing({});
    await serving();
    await demo().becomes('ToolsMatchLock', 'True/Matched');
    await lockBecomes('approved', 'Ready', 'True/InForce');

    told = comparing({
      drift: [drift('search', 'description', 'inputSchema')],
      new: [{ kind: 'tools', name: 'later' }],
    });
    await touch();
    const condition = await demo().becomes('ToolsMatchLock', 'False/Drift');
    expect(condition.message).toContain('server files: the tool search differs in description, inputSchema');
    const [event, ...others] = await eventually(async () => {
      const found = await driftEvents();
      return found.length === 0 ? undefined : found;
    });
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      type: 'Warning',
      regarding: { kind: 'McpAdapter', name: 'demo' },
      note: expect.stringContaining('Server files: the tool search differs in description, inputSchema') as string,
    });
    const status = await eventually(async () => {
      const found = await lockStatus('approved');
      return found.drifted === 1 ? found : undefined;
    });
    expect(status).toMatchObject({
      adapters: ['demo'],
      added: 1,
      removed: 0,
      pending: [
        { server: 'files', kind: 'tools', name: 'search', state: 'drift', fields: ['description', 'inputSchema'] },
        { server: 'files', kind: 'tools', name: 'later', state: 'new' },
      ],
    });
    expect(status.lastCompared).toMatch(/^\d{4}-/);

    await settle();
    const before = running.writes().length;
    for (const _ of [1, 2, 3]) {
      told = comparing({
        drift: [drift('search', 'description', 'inputSchema')],
        new: [{ kind: 'tools', name: 'later' }],
      });
      await touch();
      await settle();
    }
    expect(running.writes().slice(before)).toEqual([]);
    expect(await driftEvents()).toHaveLength(1);

    told = comparing({});
    await touch();
    await demo().becomes('ToolsMatchLock', 'True/Matched');
    await eventually(async () => ((await lockStatus('approved')).drifted === 0 ? true : undefined));
  });

  it('is not told again after the operator or the pods began anew', async () => {
    told = comparing({ drift: [{ kind: 'tools', name: 'search', fields: ['title'] }] });
    await serving();
    await demo().becomes('ToolsMatchLock', 'False/Drift');
    await eventually(async () => ((await lockStatus('approved')).drifted === 1 ? true : undefined));
    await running[Symbol.asyncDispose]();
    const same = told;
    told = { problem: null, mode: 'enforce', servers: {} };
    running = startController(real.api, namespace, () => pod.port);
    await eventually(() => (running.writes().length > 0 ? true : undefined));
    await settle();
    expect(await demo().condition('ToolsMatchLock')).toMatchObject({ status: 'False', reason: 'Drift' });
    told = same;
    await touch();
    await settle();
    expect(await driftEvents()).toHaveLength(1);
    expect(await lockStatus('approved')).toMatchObject({ drifted: 1 });
  });

  it('may be that they cannot read it', async () => {
    told = comparing({}, { problem: 'tool-lock.json: is no mapping' });
    await serving();
    await demo().becomes('ToolsMatchLock', 'False/LockNotRead');
    const ready = await lockBecomes('approved', 'Ready', 'False/LockNotRead');
    expect(ready.message).toContain('demo-1: tool-lock.json: is no mapping');
  });
});

it('a real adapter that asks for a token tells the operator, which has none, what its lock names', async () => {
  await using upstream = await startChangingServer({
    search: { description: 'Finds things.' },
    fetch: { description: '' },
  });
  const nothing = `sha256:${'0'.repeat(64)}`;
  const tools = { search: { digest: nothing, fields: { description: nothing } } };
  const document = { servers: { files: { tools } } };
  const folder = await mkdtemp(join(tmpdir(), 'tool-lock-'));
  const path = join(folder, 'tool-lock.json');
  await writeFile(path, JSON.stringify(document));
  const token = randomUUID();
  const adapter = await startAdapter({
    config: {
      core: { auth: { enabled: true, token }, tool_lock: { path } },
      servers: [{ id: 'files', mount_path: '/mcp', upstream: { url: upstream.url } }],
      state_persistence: { type: 'memory' },
    },
  });
  try {
    await applyLock('approved', document);
    await demo().apply({ config: { servers } });
    await eventually(async () =>
      JSON.stringify(await demo().get(DEPLOYMENTS)).includes('mcp-adapter-lock') ? true : undefined,
    );
    await demo().runPod('demo-1', adapter.port);
    await demo().rollOut();
    const client = await openRawClient(`${adapter.url}/mcp`, { headers: { 'x-mcp-adapter-auth-token': token } });
    await (await client.request('tools/list')).text();
    const open = await eventually(async () => {
      const text = await (await fetch(`${adapter.url}/healthz`)).text();
      expect(text.slice(-700)).toContain('"drift":[{');
      return text;
    });
    expect(open).toContain(nothing);
    expect(open).not.toMatch(/search|fetch/);

    await touch();
    const condition = await demo().becomes('ToolsMatchLock', 'False/Drift');
    expect(condition.message).toMatch(/server files: the tool search differs in .*description/);
    await eventually(async () => {
      expect(await lockStatus('approved')).toMatchObject({
        drifted: 1,
        added: 1,
        pending: [{ server: 'files', kind: 'tools', name: 'search', state: 'drift' }],
      });
      return true;
    });
    await lockBecomes('approved', 'Ready', 'True/InForce');
  } finally {
    adapter.kill();
    await adapter.exited;
    await rm(folder, { recursive: true });
  }
});
