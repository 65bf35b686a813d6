import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { EventReader, isResponse } from './kit/events.ts';
import { eventually } from './kit/eventually.ts';
import { startInProcess } from './kit/in-process.ts';
import { openSession, textOf } from './kit/session.ts';

const HIDDEN = ['slow', 'b.*'];

const namesOf = (message: JsonObject): unknown[] => {
  const { tools } = asObject(message.result);
  return Array.isArray(tools) ? tools.map((tool: unknown) => asObject(tool).name) : [];
};

describe('a disabled tool', () => {
  async function start(answers: 'json' | 'sse', core: JsonObject = {}, eventIds = false) {
    await using opened = new AsyncDisposableStack();
    const upstream = opened.use(await startScriptedUpstream({ answers, eventIds }));
    const server = mounted('up', upstream.url, { disabled_tools: HIDDEN });
    const adapter = opened.use(await startInProcess({ core, servers: [server] }));
    const running = opened.move();
    const shown = [...upstream.tools.keys()].filter((name) => name !== 'slow' && !name.startsWith('b'));
    // What the adapter adds comes last.
    const visible = [...shown, 'up_get_upload_url'];
    return { upstream, adapter, visible, [Symbol.asyncDispose]: () => running.disposeAsync() };
  }

  test.for([
    { answers: 'json', ttl: 300 },
    { answers: 'json', ttl: 0 },
    { answers: 'sse', ttl: 300 },
    { answers: 'sse', ttl: 0 },
  ] as const)('is in no list: $answers, kept for $ttl s', async ({ answers, ttl }) => {
    await using at = await start(answers, { upstream_metadata_cache_ttl_seconds: ttl });
    const door = (await openSession(at.adapter)).at(at.adapter);
    for (let i = 0; i < 2; i += 1) expect(namesOf(await door.call('tools/list'))).toEqual(at.visible);
    expect(at.upstream.requestsOf('tools/list')).toHaveLength(ttl === 0 ? 2 : 1);
  });

  test.for(['json', 'sse'] as const)('is in no list of a batch: %s', async (answers) => {
    await using at = await start(answers);
    const door = (await openSession(at.adapter, { protocolVersion: '2025-03-26' })).at(at.adapter);
    const response = await door.send([
      { jsonrpc: '2.0', id: 'p', method: 'ping' },
      { jsonrpc: '2.0', id: 'a', method: 'tools/list' },
      { jsonrpc: '2.0', id: 'b', method: 'tools/list' },
    ]);
    const messages = answers === 'json' ? await response.json() : await new EventReader(response).rest();
    const all = (Array.isArray(messages) ? messages : []).map(asObject);
    expect(all).toHaveLength(3);
    for (const message of all) expect(namesOf(message)).toEqual(message.id === 'p' ? [] : at.visible);
  });

  test('is in no list that is taken up on another stream', async () => {
    await using at = await start('sse', {}, true);
    const door = (await openSession(at.adapter)).at(at.adapter);
    const list = await door.request('tools/list');
    const reader = new EventReader(list);
    const first = await reader.event();
    // The client saw the priming event only; the connection was lost before the list.
    expect(first?.data).toBe('');
    await list.body?.cancel().catch(() => undefined);
    await eventually(async () => {
      const resumed = new EventReader(await door.stream({ lastEventId: first?.id }));
      return namesOf(await resumed.message(isResponse));
    }).toEqual(at.visible);
  });

  test('cannot be called, and is told from one that never was by nothing', async () => {
    await using at = await start('json');
    const door = (await openSession(at.adapter)).at(at.adapter);
    expect(await door.tool('slow')).toMatchObject({ error: { code: -32_602, message: 'Unknown tool: slow' } });
    expect(await door.call('tools/call', { name: ['slow'] })).toMatchObject({ error: { code: -32_602 } });
    expect(at.upstream.requestsOf('tools/call')).toEqual([]);
    expect(textOf(await door.tool('echo', { a: 1 }))).toBe('{"a":1}');
  });
});

const tool = (name: string, uri: string): JsonObject => ({
  name,
  inputSchema: { type: 'object' },
  _meta: { ui: { resourceUri: uri } },
});
const TOOLS = [tool('echo', 'ui://shared'), tool('bare', 'ui://shared'), tool('slow', 'ui://slow/panel')];
const URIS = ['ui://slow/panel', 'ui://shared', 'test://one'];
const RESULTS: Record<string, (params: JsonObject) => JsonObject> = {
  'server/discover': () => ({
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'up', version: '1.0.0' },
  }),
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: { subscribe: true } },
    serverInfo: { name: 'up', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: TOOLS, ttlMs: 60_000, cacheScope: 'public' }),
  'resources/list': () => ({
    resources: URIS.map((uri) => ({ uri, name: uri })),
    ttlMs: 0,
    cacheScope: 'public',
  }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'content' }], ttlMs: 0, cacheScope: 'public' }),
  'resources/subscribe': () => ({}),
};

test.for([
  { mode: 'auto', revision: '2026-07-28' },
  { mode: 'legacy', revision: '2025-11-25' },
] as const)(
  'T11: the ui:// resource of a disabled tool is neither listed nor read by a client of $revision',
  async ({ mode, revision }) => {
    await using upstream = await startRawUpstream(({ json }, res) => {
      const { id, method, params } = asObject(json);
      if (id === undefined) {
        res.writeHead(202).end();
        return;
      }
      const result = RESULTS[String(method)]?.(asObject(params));
      const body =
        result === undefined
          ? { error: { code: -32_601, message: 'Method not found' } }
          : { result: { resultType: 'complete', ...result } };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
    });
    const server = mounted('up', `${upstream.url}/mcp`, { disabled_tools: HIDDEN });
    await using adapter = await startInProcess({ servers: [server] });
    await using opened = new AsyncDisposableStack();
    const client = new Client({ name: 'e2e', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${adapter.url}/mcp/up`)));
    opened.defer(() => client.close());
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);

    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri).filter((uri) => URIS.includes(uri))).toEqual(['ui://shared', 'test://one']);
    // The client makes one code of those of both revisions.
    const unknown = { code: -32_602, message: 'There is no such resource.' };
    for (const uri of ['ui://slow/panel', 'UI://slow/%70anel']) {
      await expect(client.readResource({ uri })).rejects.toMatchObject(unknown);
    }
    if (mode === 'legacy') {
      const uri = 'ui://slow/panel';
      await expect(client.subscribeResource({ uri })).rejects.toMatchObject({ message: unknown.message });
      const door = (await openSession(adapter)).at(adapter);
      expect(await door.call('resources/read', { uri })).toMatchObject({
        error: { code: -32_002, data: { code: 'unknown_resource', uri } },
      });
      await client.subscribeResource({ uri: 'ui://shared' });
    }
    for (const uri of ['ui://shared', 'test://one']) {
      expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri, text: 'content' }] });
    }
    const read = upstream.requests.flatMap(({ json }) => {
      const { method, params } = asObject(json);
      return method === 'resources/read' ? [asObject(params).uri] : [];
    });
    expect(read).toEqual(['ui://shared', 'test://one']);
  },
);
