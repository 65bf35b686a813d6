import { describe, expect, test } from 'vitest';
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
