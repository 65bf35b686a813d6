import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { EventReader } from '../kit/events.ts';
import { eventually } from '../kit/eventually.ts';
import { openSession, textOf, type Door } from '../kit/session.ts';
import { type SseUpstream, startSseUpstream } from '../kit/sse-upstream.ts';
import { before, CALLED, CHANGES, definitionsOf, show, tool } from './kit/changes.ts';
import { driftError, INVALIDATED, unknownTool } from './kit/errors.ts';
import { toolsOf } from './kit/client.ts';
import { helperOf, isStrict, POLICIES } from './kit/policies.ts';
import { startTrio, type Trio } from './kit/trio.ts';
import { cornerSuite } from './pinning/corners.ts';
import { failures } from './pinning/failures.ts';
import { lifeSuite } from './pinning/life.ts';
import { raceSuite } from './pinning/races.ts';

const client_headers = { passthrough: ['x-user'] };
/** Entries for tools that take uploads; `described` and `schemed` are such. */
const adapters = [{ type: 'upload_consumer', tools: ['described', 'schemed'], file_path_argument: 'text' }];

describe('what counts as a change, behind three replicas:', () => {
  const started = new AsyncDisposableStack();
  let upstream: ScriptedUpstream;
  let paged: ScriptedUpstream;
  let sse: SseUpstream;
  let trio: Trio;

  beforeAll(async () => {
    upstream = started.use(await startScriptedUpstream());
    paged = started.use(await startScriptedUpstream({ pageSize: 2 }));
    sse = started.use(await startSseUpstream());
    const servers = POLICIES.flatMap(({ id, pinning: tool_definition_pinning }) => [
      mounted(id, upstream.url, { tool_definition_pinning }),
      mounted(`${id}_paged`, paged.url, { tool_definition_pinning, upstream: { client_headers } }),
      mounted(`${id}_code`, upstream.url, { tool_definition_pinning, code_mode_enabled: true }),
      mounted(`${id}_sse`, sse.url, { tool_definition_pinning, upstream: { transport: 'sse' } }),
      mounted(`${id}_files`, upstream.url, { tool_definition_pinning, adapters, disabled_tools: ['gone'] }),
    ]);
    trio = started.use(await startTrio({ servers, state_persistence: { redis: { wait_seconds: 0.2 } } }));
  });
  afterAll(() => started.disposeAsync());
  afterEach(() => {
    for (const { behavior } of [upstream, paged])
      Object.assign(behavior, { intercept: () => undefined, headerDelayMs: 0, answers: 'json' });
  });

  const listed = async (door: Door): Promise<JsonObject[]> => {
    const tools: JsonObject[] = [];
    for (let cursor: unknown; ;) {
      const message = await door.call('tools/list', cursor === undefined ? undefined : { cursor });
      expect(message).toHaveProperty('result');
      tools.push(...toolsOf(asObject(message.result)));
      cursor = asObject(message.result).nextCursor;
      if (cursor === undefined || cursor === '') return tools;
    }
  };
  const open = (serverId: string) => openSession(trio.at(0), { path: `/mcp/${serverId}` });

  describe.for(CHANGES)('$kind', ({ after, drift }) => {
    test.for(POLICIES.filter(isStrict))('policy $id', async ({ id, reaction, ends }) => {
      show(upstream, before());
      const session = await open(id);
      const upstreamId = [...upstream.sessions.keys()].at(-1);
      const own = expect.objectContaining({ name: helperOf(id) }) as JsonObject;
      expect(await listed(session.at(trio.at(1)))).toEqual([...definitionsOf(before()), own]);
      show(upstream, after());
      const drifted = [...(drift?.changed ?? []).map(({ name }) => name), ...(drift?.new ?? [])];
      const all = [...drifted, ...(drift?.removed ?? [])];

      // A call may be what finds out. Whatever is unchanged can be called all the same.
      expect(textOf(await session.at(trio.at(0)).tool('same'))).toBe(CALLED);
      const calls = upstream.requestsOf('tools/call').length;
      for (const [i, name] of all.slice(0, ends ? 1 : undefined).entries()) {
        const { error } = await session.at(trio.at(2 + i)).tool(name);
        expect(error).toMatchObject(
          drift !== undefined && reaction === 'error' ? driftError(drift) : unknownTool(name),
        );
      }
      expect(upstream.requestsOf('tools/call')).toHaveLength(calls);

      for (const place of trio.places) {
        const door = session.at(place);
        if (drift === undefined) expect(await listed(door)).toEqual([...definitionsOf(after()), own]);
        else if (ends) {
          const response = await door.request('tools/list');
          expect([response.status, await response.json()]).toMatchObject([404, INVALIDATED]);
        } else if (reaction === 'error') expect((await door.call('tools/list')).error).toMatchObject(driftError(drift));
        else {
          const kept = definitionsOf(after()).filter(({ name }) => !drifted.includes(String(name)));
          expect(await listed(door)).toEqual([...kept, own]);
        }
        if (!ends) expect(await door.call('ping')).toHaveProperty('result');
      }
      if (ends && drift !== undefined) await eventually(() => upstream.sessions.has(upstreamId ?? '')).toBe(false);
      expect(await listed((await open(id)).at(trio.at(1)))).toEqual([...definitionsOf(after()), own]);
    });
  });

  test('nothing that the adapter itself adds, hides or writes is one', async () => {
    for (const { id, reaction } of POLICIES) {
      const serverId = `${id}_files`;
      // A tool of the upstream that the adapter's own replaces, and one that is disabled.
      const replaced = (description: string) =>
        [helperOf(serverId), tool({ description })] as [string, ReturnType<typeof tool>];
      show(upstream, [...before(), replaced('Before.')]);
      const session = await open(serverId);
      const names = (await listed(session.at(trio.at(0)))).map(({ name }) => name);
      expect(names).toEqual(['same', 'described', 'schemed', 'old_name', helperOf(serverId)]);
      const hidden = before().filter(([name]) => name !== 'gone');
      show(upstream, [...hidden, ['gone', tool({ description: 'Other.' })], replaced('After.')]);
      for (const place of trio.places) {
        const door = session.at(place);
        const again = await listed(door);
        expect(again.map(({ name }) => name)).toEqual(names);
        expect(JSON.stringify(again)).not.toContain('WARNING');
        expect(await door.tool(helperOf(serverId))).toHaveProperty('result.structuredContent.upload_url');
        const asked = asObject((await door.tool('described', { times: 1 })).result);
        expect(asked).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining(helperOf(serverId)) }],
        });
      }
      if (reaction !== 'error') continue;
      // The upstream's own words of such a tool are pinned as those of any other.
      show(upstream, CHANGES.find(({ kind }) => kind === 'a description')?.after() ?? []);
      expect((await session.at(trio.at(0)).tool('described', { times: 1 })).error).toMatchObject({ code: 409 });
    }
  });

  test.for(['json', 'sse'] as const)('a batch that is answered as %s', async (answers) => {
    upstream.behavior.answers = answers;
    const path = '/mcp/keep';
    show(upstream, before());
    const session = await openSession(trio.at(0), { path, protocolVersion: '2025-03-26' });
    const batch = [
      { jsonrpc: '2.0', id: 'list', method: 'tools/list' },
      { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'same', arguments: {} } },
    ];
    const send = async (place: number, messages: readonly object[] = batch): Promise<Map<unknown, JsonObject>> => {
      const response = await session.at(trio.at(place)).send(messages);
      const answered =
        answers === 'json' ? ((await response.json()) as JsonObject[]) : await new EventReader(response).rest();
      return new Map(answered.map((message) => [message.id, message]));
    };
    expect(toolsOf(asObject((await send(0)).get('list')?.result))).toHaveLength(before().length + 1);
    show(upstream, CHANGES.find(({ kind }) => kind === 'a description')?.after() ?? []);
    for (const place of [0, 1, 2]) {
      const answers = await send(place);
      expect(answers.get('list')?.error).toMatchObject({ code: 409, data: { code: 'tool_definition_drift' } });
      expect(textOf(answers.get('call') ?? {})).toBe(CALLED);
    }
    // A call that must not be made has its own answer, and the others have theirs.
    const bad = { jsonrpc: '2.0', id: 'bad', method: 'tools/call', params: { name: 'described', arguments: {} } };
    const mixed = await send(1, [...batch, bad]);
    expect(mixed.get('bad')?.error).toMatchObject({ code: 409, data: { code: 'tool_definition_drift' } });
    expect(textOf(mixed.get('call') ?? {})).toBe(CALLED);
    expect(upstream.requestsOf('tools/call').at(-1)?.text).not.toContain('described');
  });

  test('a list that ends with an empty cursor is whole', async () => {
    show(upstream, before());
    const session = await open('keep');
    const mark = upstream.requestsOf('tools/list').length;
    upstream.behavior.intercept = ({ json }) => {
      const { method, id } = asObject(json);
      const result = { tools: definitionsOf(before()), nextCursor: '' };
      const body = JSON.stringify({ jsonrpc: '2.0', id, result });
      return method === 'tools/list'
        ? { status: 200, headers: { 'content-type': 'application/json' }, body }
        : undefined;
    };
    for (const place of trio.places) expect(await listed(session.at(place))).toHaveLength(before().length + 1);
    expect(upstream.requestsOf('tools/list')).toHaveLength(mark + 3);
  });

  describe.for(failures)('a server that fails while it lists: $what', ({ answer, onPage }) => {
    test.for(POLICIES.filter(({ id }) => id !== 'off'))('policy $id', async (policy) => {
      const server = onPage === 'any' ? upstream : paged;
      const serverId = onPage === 'any' ? policy.id : `${policy.id}_paged`;
      show(server, before());
      const session = await open(serverId);
      await listed(session.at(trio.at(0)));
      server.behavior.intercept = (request) => {
        const { method, id, params } = asObject(request.json);
        const isMeant = onPage === 'any' || asObject(params).cursor !== undefined;
        return method === 'tools/list' && isMeant ? answer(JSON.stringify(id)) : undefined;
      };
      // The second and third replica have no list of this session.
      for (const place of [trio.at(1), trio.at(2)]) {
        const { error } = await session.at(place).call('tools/list');
        expect(error).toHaveProperty('message');
        expect(error).not.toHaveProperty('data.code', 'tool_definition_drift');
        const called = await session.at(place).tool('same');
        if (!isStrict(policy)) expect(textOf(called)).toBe(CALLED);
        else expect(called).toMatchObject({ error: { data: { code: 'upstream_failed' } } });
      }
      server.behavior.intercept = () => undefined;
      for (const place of trio.places) {
        expect(await listed(session.at(place))).toHaveLength(before().length + 1);
        expect(textOf(await session.at(place).tool('same'))).toBe(CALLED);
      }
    });
  });

  cornerSuite(() => ({ trio, upstream, paged, sse }));
  raceSuite(() => ({ trio, upstream }));
  lifeSuite(() => ({ trio, upstream, paged }));
});
