import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { freePort } from '../support/ports.ts';
import { startRedis } from '../support/redis.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { accessTo, mounted } from './kit/deployment.ts';
import { openSession } from './kit/session.ts';

const KEY = 'b0e3b7f4-8f5e-4a7e-9a43-0d7e6f3e2a11';
const SECRET = 'canary-header-9d2c41f0';
const TOKEN = 'canary-token-5f1d0c7a9b';

async function start(config: Record<string, unknown> = {}, more: NodeJS.ProcessEnv = {}) {
  await using opened = new AsyncDisposableStack();
  const upstream = opened.use(await startScriptedUpstream({ answers: 'json' }));
  const port = await freePort();
  const env = { MCP_ADAPTER_ADMIN_PORT: String(port), MCP_ADAPTER_ADMIN_KEY: KEY, MCP_ADAPTER_NAME: 'pair', ...more };
  const server = mounted('up', upstream.url, { disabled_tools: ['slow'] });
  Object.assign(server['upstream'] as object, { static_headers: { 'x-api-key': SECRET } });
  const adapter = opened.use(await startAdapter({ config: { servers: [server], ...config }, env }));
  const running = opened.move();
  const ask = async (
    path: string,
    method = 'GET',
    headers: Record<string, string> = { authorization: `Bearer ${KEY}` },
    body: string | null = null,
  ) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      body,
      signal: AbortSignal.timeout(20_000),
    });
    return { status: answer.status, said: (await answer.json()) as Record<string, unknown> };
  };
  return { adapter, upstream, ask, port, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

const callsOf = (adapter: RunningAdapter): unknown[] =>
  adapter.logs().filter(({ msg }) => msg === 'asked by an administrator');

describe('the port for who operates the adapter', () => {
  test('says how the replica is, and what clients see of each tool and why', async () => {
    await using at = await start();
    expect(await at.ask('/v1/status')).toMatchObject({
      status: 200,
      said: {
        not_ready: null,
        limits_hit: { rate: 0, concurrent: 0 },
        servers: [{ server_id: 'up', tools: at.upstream.tools.size }],
      },
    });
    const { said } = await at.ask('/v1/servers/up/tools');
    expect(said['tools']).toContainEqual({ name: 'slow', seen: 'hidden', why: 'disabled_tools', from: 'upstream' });
    expect(said['tools']).toContainEqual({ name: 'up_get_upload_url', seen: 'listed', from: 'adapter' });
    expect(await at.ask('/v1/servers/nobody/tools')).toMatchObject({ status: 404 });
    expect(await at.ask('/v1/status', 'GET', {})).toMatchObject({ status: 401 });
  });

  test('is off where nothing asks for it', async () => {
    await using at = await start({}, { MCP_ADAPTER_ADMIN_KEY: '' });
    await expect(at.ask('/v1/status')).rejects.toThrow('fetch failed');
  });

  test('ends a session that another replica opened, and no answer has its id or a token', async () => {
    await using redis = await startRedis();
    const config = {
      state_persistence: { type: 'redis', redis: accessTo(redis) },
      core: { log_level: 'info', auth: { enabled: true, token: TOKEN } },
    };
    await using one = await start(config);
    await using other = await start(config);
    const opened = await openSession(one.adapter, { headers: { 'x-mcp-adapter-auth-token': TOKEN } });
    const door = opened.at(one.adapter);
    const listed = await other.ask('/v1/sessions');
    expect(listed.said).toMatchObject({ sessions: [{ server_id: 'up', kind: 'session' }], next_offset: null });
    const [session] = listed.said['sessions'] as { session: string }[];
    const all = JSON.stringify([listed.said, (await other.ask('/v1/status')).said]);
    expect(all).not.toContain(TOKEN);
    expect(all).not.toContain(opened.sessionId);
    expect(await other.ask(`/v1/sessions/${session?.session}/end`, 'POST')).toMatchObject({ status: 200 });
    expect((await door.send({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(404);
    expect(await other.ask(`/v1/sessions/${session?.session}/end`, 'POST')).toMatchObject({ status: 404 });
    expect(await other.ask(`/v1/sessions/${opened.sessionId}/end`, 'POST')).toMatchObject({ status: 400 });
    expect(callsOf(other.adapter)).toHaveLength(3);
  });

  test('makes, compares and approves a lock, and names no secret that the server repeats', async () => {
    await using at = await start();
    const { tools } = at.upstream;
    const manifest = (spec: object = {}) => ({
      apiVersion: 'mcpadapter.io/v1alpha1',
      kind: 'McpToolLock',
      metadata: { name: 'pair' },
      spec: { adapterRef: { name: 'pair' }, ...spec },
    });
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const lock = async (body: object) => (await at.ask('/v1/lock', 'POST', headers, JSON.stringify(body))).said;
    const made = await lock({ action: 'create', lock: manifest() });
    expect(made).toMatchObject({ exitCode: 0, notes: [] });
    const approved = parse(String(made['text'])) as { spec: { servers: { up: { tools: object } } } };
    expect(Object.keys(approved.spec.servers.up.tools)).toHaveLength(tools.size);
    expect(await lock({ action: 'diff', lock: approved })).toMatchObject({ exitCode: 0, text: '' });

    const [[name = '', tool] = []] = tools;
    tools.set(name, { ...tool!, definition: { ...tool?.definition, description: `canary ${SECRET}` } });
    const differs = await lock({ action: 'diff', lock: approved, coloured: true });
    expect(differs).toMatchObject({ exitCode: 1, text: expect.stringContaining('canary <redacted>') });
    expect(differs['text']).toContain('\u001B[32m');
    expect(await lock({ action: 'diff', lock: approved, output: 'json' })).toMatchObject({
      text: expect.stringContaining('"description"'),
    });
    // A lock of many tools is longer than what is asked for otherwise.
    const names = ['nobody'.repeat(20_000)];
    expect(await lock({ action: 'approve', lock: approved, names })).toMatchObject({ exitCode: 2 });
    const done = await lock({ action: 'approve', lock: approved, names: [name] });
    expect(done).toMatchObject({ exitCode: 0, approved: [expect.stringContaining(name)] });
    expect(await lock({ action: 'diff', lock: parse(String(done['text'])) })).toMatchObject({ exitCode: 0, text: '' });

    const refused = (body: string, more: object = {}) =>
      at.ask('/v1/lock', 'POST', { ...headers, ...more }, body).then(({ status }) => status);
    expect(await refused(JSON.stringify({ action: 'create', lock: manifest(), servers: ['nobody'] }))).toBe(404);
    expect(await refused(JSON.stringify({ action: 'drop', lock: manifest() }))).toBe(400);
    expect(await refused(JSON.stringify({ action: 'diff' }))).toBe(400);
    expect(await refused(' '.repeat((2 << 20) + 1))).toBe(413);
    expect(await refused('{}', { authorization: 'Bearer 0' })).toBe(401);
  });
});
