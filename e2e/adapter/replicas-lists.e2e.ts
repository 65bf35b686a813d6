import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asObject, type JsonObject, notificationText } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { secret } from '../support/secrets/secret.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader, isMethod } from './kit/events.ts';
import { type Door, drain, openSession } from './kit/session.ts';

const CHANGED = 'notifications/tools/list_changed';
const tool = { definition: { inputSchema: { type: 'object' } }, call: () => ({ content: [] }) };

/** Names of one page. */
const namesOf = (message: JsonObject): unknown[] => {
  const { tools } = asObject(message.result);
  return Array.isArray(tools) ? tools.map((one: unknown) => asObject(one).name) : [message];
};
const names = async (door: Door): Promise<unknown[]> => namesOf(await door.call('tools/list'));

describe('lists of a server, behind two replicas', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let paged: ScriptedUpstream;
  let deployment: Deployment;
  const client = new AbortController();
  const { signal } = client;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    paged = await startScriptedUpstream({ pageSize: 2 });
    const servers = [
      mounted('up', upstream.url),
      // Pins need the list as a whole, and give it as one page.
      mounted('paged', paged.url, {
        disabled_tools: ['echo', 's.*', '[', 'bytes'],
        tool_definition_pinning: { mode: 'off' },
      }),
    ];
    deployment = await startDeployment({ config: { servers } });
  });
  afterAll(async () => {
    client.abort();
    await deployment?.close();
    await upstream?.close();
    await paged?.close();
  });
  const lists = (): number => upstream.requestsOf('tools/list').length;

  test('are asked for once by each replica, and once more for another session', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const before = lists();
    const expected = [...upstream.tools.keys(), 'up_get_upload_url'];
    for (const place of [a, a, b, b, a, b]) expect(await names(session.at(place))).toEqual(expected);
    expect(lists()).toBe(before + 2);
    for (const method of ['resources/list', 'resources/templates/list', 'prompts/list']) {
      for (const place of [a, a, b, b]) expect(await session.at(place).call(method)).toHaveProperty('result');
      expect(upstream.requestsOf(method)).toHaveLength(2);
    }
    const other = await openSession(b);
    expect(await names(other.at(a))).toEqual(expected);
    expect(lists()).toBe(before + 3);
  });

  test('are asked for again at both replicas as soon as one has seen that they changed', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    for (const [holder, name] of [
      [a, 'first'],
      [b, 'second'],
    ] as const) {
      const stream = new EventReader(await session.at(holder).stream({ signal }));
      for (const place of [a, b]) expect(await names(session.at(place))).not.toContain(name);
      upstream.tools.set(name, tool);
      upstream.announceToolsChanged();
      await stream.message(isMethod(CHANGED));
      const other = holder === a ? b : a;
      for (const place of [other, holder]) expect(await names(session.at(place))).toContain(name);
      const count = lists();
      for (const place of [a, b]) expect(await names(session.at(place))).toContain(name);
      expect(lists()).toBe(count);
    }
    upstream.tools.delete('first');
    upstream.tools.delete('second');
  });

  test('are asked for again when a call says on its own stream that they changed', async () => {
    const { a, b } = deployment;
    const session = await openSession(b);
    upstream.tools.set('install', {
      ...tool,
      call: async (call) => {
        upstream.tools.set('installed', tool);
        call.stream().send(notificationText(CHANGED));
        await call.released('install');
        return { content: [] };
      },
    });
    for (const place of [a, b]) expect(await names(session.at(place))).not.toContain('installed');
    const call = new EventReader(await session.at(a).request('tools/call', { name: 'install' }));
    await call.message(isMethod(CHANGED));
    for (const place of [b, a]) expect(await names(session.at(place))).toContain('installed');
    upstream.release('install');
    await call.rest();
    upstream.tools.delete('install');
    upstream.tools.delete('installed');
  });

  test('are asked for again after the server has restarted', async () => {
    const { a, b } = deployment;
    const session = await openSession(b);
    for (const place of [a, b]) expect(await names(session.at(place))).not.toContain('later');
    upstream.forgetSessions();
    upstream.tools.set('later', tool);
    await session.at(a).call('ping');
    for (const place of [b, a]) expect(await names(session.at(place))).toContain('later');
    upstream.tools.delete('later');
  });

  test('lack disabled tools on every page, whichever replica gives it, and calls of them are refused', async () => {
    const { a, b } = deployment;
    const session = await openSession(a, { path: '/mcp/paged' });
    const isShown = (name: string): boolean => name !== 'echo' && name !== 'bytes' && !name.startsWith('s');
    const all = [...paged.tools.keys()];
    // The adapter's own tool ends the first page.
    const expected = [...all.slice(0, 2).filter(isShown), 'paged_get_upload_url', ...all.slice(2).filter(isShown)];
    expect(expected.length).toBeLessThan(paged.tools.size);
    // Twice: from the server, and from the cache of the one replica or the other.
    for (const order of [
      [a, b],
      [b, a],
      [a, b],
    ]) {
      const seen: unknown[] = [];
      let cursor: unknown;
      for (let page = 0; page === 0 || cursor !== undefined; page += 1) {
        const door = session.at(order[page % 2] ?? a);
        const message = await door.call('tools/list', cursor === undefined ? undefined : { cursor });
        seen.push(...namesOf(message));
        cursor = asObject(message.result).nextCursor;
      }
      expect(seen).toEqual(expected);
    }
    expect(paged.requestsOf('tools/list')).toHaveLength(2 * Math.ceil(paged.tools.size / 2));

    for (const place of [a, b]) {
      for (const name of ['echo', 'slow', 'sample', 'bytes']) {
        const refused = await session.at(place).request('tools/call', { name, arguments: {} });
        expect(refused.status).toBe(200);
        expect(await refused.json()).toMatchObject({ error: { code: -32602, message: `Unknown tool: ${name}` } });
      }
      expect(await drain(session.at(place).request('tools/call', { name: 'notify' }))).toBe(200);
    }
    expect(paged.requestsOf('tools/call')).toHaveLength(2);
  });
});

describe('lists that depend on who asks', { timeout: 30_000 }, () => {
  const tokens = { one: secret('token of one'), two: secret('token of two') };
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    upstream.behavior.intercept = ({ headers, json }) => {
      const { method, id } = asObject(json);
      if (method !== 'tools/list') return undefined;
      const type = { 'content-type': 'application/json' };
      const found = Object.entries(tokens).find(([, token]) => headers.authorization === `Bearer ${token}`);
      if (found === undefined) return { status: 401, headers: { ...type, 'www-authenticate': 'Bearer' }, body: '{}' };
      const result = { tools: [{ name: `for_${found[0]}`, inputSchema: { type: 'object' } }] };
      const body = JSON.stringify({ jsonrpc: '2.0', id, result });
      return { status: 200, headers: type, body };
    };
    const client_headers = { passthrough: ['Authorization'], unsafe: true };
    const server = (id: string, more: JsonObject) =>
      mounted(id, upstream.url, { upstream: { client_headers }, ...more });
    const off = { tool_definition_pinning: { mode: 'off' } };
    const servers = [server('up', off), server('code', { ...off, code_mode_enabled: true })];
    deployment = await startDeployment({ config: { servers } });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });
  const withToken = (name: keyof typeof tokens) => ({ headers: { authorization: `Bearer ${tokens[name]}` } });

  test('are kept for each token of a session, and not for a request without one', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    for (const place of [a, b]) {
      for (const name of ['one', 'two', 'one', 'two'] as const) {
        const response = await session.at(place).request('tools/list', undefined, withToken(name));
        expect(await response.text()).toContain(`"for_${name}"`);
      }
      const refused = await session.at(place).request('tools/list');
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      await refused.arrayBuffer();
    }
    const asked = upstream.requestsOf('tools/list').map(({ headers }) => headers.authorization);
    expect(asked).toHaveLength(6);
    expect(new Set(asked).size).toBe(3);
  });

  test('are looked through in code mode for the token of each call', async () => {
    const { a } = deployment;
    const session = await openSession(a, { path: '/mcp/code' });
    for (const name of ['one', 'two', 'one'] as const) {
      const params = { name: 'code_search', arguments: { query: 'for' } };
      const response = await session.at(a).request('tools/call', params, withToken(name));
      expect(await response.text()).toContain(`for_${name}`);
    }
  });
});

describe('without a list cache', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const servers = [mounted('up', upstream.url, { disabled_tools: ['big'] })];
    deployment = await startDeployment({ config: { core: { upstream_metadata_cache_ttl_seconds: 0 }, servers } });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('every list is the server’s own of this moment, still without disabled tools', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    for (const [index, place] of [a, a, b, b].entries()) {
      upstream.tools.set(`new-${index}`, tool);
      const seen = await names(session.at(place));
      expect(seen).toContain(`new-${index}`);
      expect(seen).not.toContain('big');
    }
    expect(upstream.requestsOf('tools/list')).toHaveLength(4);
  });
});
