import { describe, expect, test } from 'vitest';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { ScriptedUpstream } from '../../../support/scripted-upstream/scripted-upstream.ts';
import { EventReader } from '../../kit/events.ts';
import { eventually } from '../../kit/eventually.ts';
import { type Door, openSession, textOf } from '../../kit/session.ts';
import type { SseUpstream } from '../../kit/sse-upstream.ts';
import { ALL, before, CALLED, show, tool } from '../kit/changes.ts';
import { driftError, INVALIDATED, unknownTool } from '../kit/errors.ts';
import { isStrict, POLICIES } from '../kit/policies.ts';
import type { Trio } from '../kit/trio.ts';

/** Servers of the trio for these tests, beside one for each policy: `<policy>_code` and `<policy>_sse`. */
export interface CornerStage {
  readonly trio: Trio;
  readonly upstream: ScriptedUpstream;
  /** Lists pages of two tools, and gets the header `x-user` of clients. */
  readonly paged: ScriptedUpstream;
  readonly sse: SseUpstream;
}

const DESCRIBED = { name: 'described', arguments: {} };

export function cornerSuite(stage: () => CornerStage): void {
  describe('a session that ends because of a change', () => {
    test('is over for its stream and its calls at the other replicas, and for whatever comes', async () => {
      const { trio, upstream } = stage();
      const waits = {
        ...tool({ description: 'Waits.' }),
        call: async (call: { released(key: string): Promise<void> }) => {
          await call.released('never');
          return { content: [] };
        },
      };
      show(upstream, [...before(), ['waits', waits]]);
      const session = await openSession(trio.at(0), { path: '/mcp/invalidate' });
      await session.at(trio.at(0)).call('tools/list');
      const stream = new EventReader(await session.at(trio.at(1)).stream());
      const mark = upstream.requestsOf('tools/call').length;
      const waiting = session.at(trio.at(2)).tool('waits');
      await eventually(() => upstream.requestsOf('tools/call').length).toBe(mark + 1);
      show(upstream, before());
      expect((await session.at(trio.at(0)).call('tools/list')).error).toMatchObject({ code: 409 });
      expect(await stream.rest()).toEqual([]);
      expect(await waiting).toMatchObject({ error: { data: { code: 'session_ended' } } });
      for (const place of trio.places) {
        const door = session.at(place);
        const refused = await door.stream();
        expect([refused.status, await refused.json()]).toMatchObject([404, INVALIDATED]);
        expect((await door.end()).status).toBe(404);
      }
    });

    test('ends with the next request where the client of the first did not wait for the list', async () => {
      const { trio, upstream } = stage();
      show(upstream, before());
      const session = await openSession(trio.at(0), { path: '/mcp/invalidate' });
      const upstreamId = [...upstream.sessions.keys()].at(-1) ?? '';
      await session.at(trio.at(0)).call('tools/list');
      const stream = new EventReader(await session.at(trio.at(2)).stream());
      show(upstream, ALL.after());
      const mark = upstream.requestsOf('tools/list').length;
      const leaving = new AbortController();
      upstream.behavior.headerDelayMs = 200;
      const call = session.at(trio.at(1)).request('tools/call', DESCRIBED, { signal: leaving.signal });
      await eventually(() => upstream.requestsOf('tools/list').length).toBe(mark + 1);
      leaving.abort();
      await expect(call).rejects.toThrow();
      upstream.behavior.headerDelayMs = 0;
      expect((await session.at(trio.at(1)).call('tools/call', DESCRIBED)).error).toMatchObject({ code: 409 });
      await eventually(() => upstream.sessions.has(upstreamId)).toBe(false);
      expect(await stream.rest()).toEqual([]);
      expect((await session.at(trio.at(1)).call('ping')).error).toMatchObject(INVALIDATED.error);
    });
  });

  test.for(POLICIES.filter(isStrict))('a server of HTTP+SSE: policy $id', async ({ id, reaction, ends }) => {
    const { trio, sse } = stage();
    show(sse, before());
    const session = await openSession(trio.at(0), { path: `/mcp/${id}_sse` });
    const sessions = sse.sessions.size;
    await session.at(trio.at(1)).call('tools/list');
    show(sse, ALL.after());
    const expected = reaction === 'error' ? driftError(ALL.drift) : unknownTool('described');
    expect(textOf(await session.at(trio.at(2)).tool('same'))).toBe(CALLED);
    expect((await session.at(trio.at(2)).tool('described')).error).toMatchObject(expected);
    for (const place of trio.places) {
      const { error } = await session.at(place).tool('described');
      expect(error).toMatchObject(ends ? INVALIDATED.error : expected);
    }
    if (ends) await eventually(() => sse.sessions.size).toBe(sessions - 1);
  });

  test('the server is asked anew for each list and each body with calls, as its client itself would', async () => {
    const { trio, paged } = stage();
    show(paged, before());
    const headers = { 'x-user': 'ada' };
    const path = '/mcp/keep_paged';
    const session = await openSession(trio.at(0), { path, headers, protocolVersion: '2025-03-26' });
    const asked = async (step: () => Promise<unknown>): Promise<unknown[]> => {
      const mark = paged.requestsOf('tools/list').length;
      await step();
      return paged
        .requestsOf('tools/list')
        .slice(mark)
        .map(({ json, headers: sent }) => [asObject(asObject(json).params).cursor, sent['x-user']]);
    };
    const once = [undefined, '2', '4'].map((cursor) => [cursor, 'ada']);
    const door = session.at(trio.at(1));
    const call = (id: number): JsonObject => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { ...DESCRIBED },
    });
    for (let i = 0; i < 2; i += 1) {
      expect(await asked(() => door.call('tools/list'))).toEqual(once);
      expect(await asked(() => door.tool('described'))).toEqual(once);
      expect(await asked(async () => (await door.send([call(1), call(2), call(3)])).json())).toEqual(once);
      expect(await asked(() => door.tool('keep_paged_get_upload_url'))).toEqual([]);
      expect(await asked(() => door.call('ping'))).toEqual([]);
    }
  });

  test.for(POLICIES)('in code mode, where a search may be what comes first: policy $id', async (policy) => {
    const { trio, upstream } = stage();
    const { id, reaction, ends } = policy;
    show(upstream, before());
    const session = await openSession(trio.at(0), { path: `/mcp/${id}_code` });
    const search = (door: Door) => door.tool(`${id}_code_search`, { query: 'reads file' });
    expect(textOf(await search(session.at(trio.at(0))))).toContain('described');
    show(upstream, ALL.after());
    // Another replica knows of no list that was kept.
    const door = session.at(trio.at(1));
    const found = await search(door);
    const listed = await session.at(trio.at(2)).call('tools/list');
    if (reaction === 'error') {
      expect(found.error).toMatchObject(driftError(ALL.drift));
      expect(listed.error).toMatchObject(ends ? INVALIDATED.error : driftError(ALL.drift));
    } else {
      expect(textOf(found).includes('id_rsa')).toBe(reaction !== 'subset');
      expect(textOf(found).includes('has changed')).toBe(reaction === 'warnings');
      // The tools that are listed are the adapter's own.
      expect(JSON.stringify(asObject(listed.result))).not.toContain('WARNING');
    }
  });
}
