import { describe, expect, test } from 'vitest';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { ScriptedUpstream } from '../../../support/scripted-upstream/scripted-upstream.ts';
import { EventReader, isResponse } from '../../kit/events.ts';
import { eventually } from '../../kit/eventually.ts';
import { openSession, type Place, type Session, textOf } from '../../kit/session.ts';
import { ALL, before, CALLED, definitionsOf, show } from '../kit/changes.ts';
import { toolsOf } from '../kit/client.ts';
import { driftError, unknownTool } from '../kit/errors.ts';
import type { Trio } from '../kit/trio.ts';

const EVENTS = { 'content-type': 'text/event-stream' };

/** A session that is pinned to the tools of `before`. */
async function pinned(place: Place, id: string): Promise<Session> {
  const session = await openSession(place, { path: `/mcp/${id}` });
  expect(await session.at(place).call('tools/list')).toHaveProperty('result');
  return session;
}

/** What a session with the policies `keep` and `subset_keep` must be told still, after `ALL` has changed. */
export async function remembers(session: Session, id: 'keep' | 'subset_keep', places: readonly Place[]): Promise<void> {
  for (const place of places) {
    const door = session.at(place);
    const { error: refused } = await door.tool('described');
    const { result, error } = await door.call('tools/list');
    expect(refused).toMatchObject(id === 'keep' ? driftError(ALL.drift) : unknownTool('described'));
    if (id === 'keep') expect(error).toMatchObject(driftError(ALL.drift));
    else expect(toolsOf(asObject(result)).slice(0, -1)).toEqual(definitionsOf(before()).slice(0, 1));
    expect(textOf(await door.tool('same'))).toBe(CALLED);
  }
}

/** Resolves when the upstream's session of this id has been ended from outside. */
export const endedUpstream = (upstream: ScriptedUpstream, upstreamId: string | undefined): Promise<unknown> =>
  upstream.waitForRequest(
    ({ method, headers }) => method === 'DELETE' && headers['mcp-session-id'] === upstreamId,
    15_000,
  );

export interface LifeStage {
  readonly trio: Trio;
  readonly upstream: ScriptedUpstream;
  /** Lists pages of two tools. */
  readonly paged: ScriptedUpstream;
}

/** What a pin outlives. */
export function lifeSuite(stage: () => LifeStage): void {
  describe('a session is pinned to what it saw first', () => {
    test('after a replica was killed and started again', async () => {
      const { trio, upstream } = stage();
      show(upstream, before());
      const sessions = [await pinned(trio.at(0), 'keep'), await pinned(trio.at(0), 'subset_keep')] as const;
      await trio.crash();
      show(upstream, ALL.after());
      await remembers(sessions[0], 'keep', trio.places);
      await remembers(sessions[1], 'subset_keep', trio.places);
    });

    test('after Redis was away, and meanwhile sees no list at all', async () => {
      const { trio, upstream } = stage();
      show(upstream, before());
      const keep = await pinned(trio.at(0), 'keep');
      const fresh = await openSession(trio.at(0), { path: '/mcp/keep' });
      await trio.redis.stop();
      show(upstream, ALL.after());
      for (const place of trio.places) {
        for (const session of [keep, fresh]) {
          const { error } = await session.at(place).call('tools/list');
          expect(error).toMatchObject({ data: { code: 'state_unavailable' } });
        }
      }
      await trio.redis.start();
      for (const place of trio.places) {
        await eventually(async () => (await keep.at(place).call('ping')).result, 50).toEqual({});
      }
      await remembers(keep, 'keep', trio.places);
      const { result } = await fresh.at(trio.at(1)).call('tools/list');
      expect(toolsOf(asObject(result)).slice(0, -1)).toEqual(definitionsOf(ALL.after()));
    });

    test('after the server has lost its sessions, whatever finds out first', async () => {
      const { trio, upstream } = stage();
      for (const first of ['tools/list', 'described', 'same']) {
        show(upstream, before());
        const session = await pinned(trio.at(0), 'keep');
        upstream.forgetSessions();
        show(upstream, ALL.after());
        const door = session.at(trio.at(1));
        const { result, error } = await (first === 'tools/list' ? door.call(first) : door.tool(first));
        if (first === 'same') expect(textOf({ result })).toBe(CALLED);
        else expect(error).toMatchObject(driftError(ALL.drift));
        await remembers(session, 'keep', trio.places);
      }
    });

    test('after it was idle for so long that it had to be revived', async () => {
      const { trio, upstream } = stage();
      show(upstream, before());
      const keep = await pinned(trio.at(0), 'keep');
      const upstreamId = [...upstream.sessions.keys()].at(-1);
      // Only this one expires sessions.
      await using cleaner = await trio.startAnother({
        core: { cleanup_interval_seconds: 0.1 },
        sessions: { idle_ttl_seconds: 0.5 },
      });
      await endedUpstream(upstream, upstreamId);
      await cleaner.stop();
      show(upstream, ALL.after());
      await remembers(keep, 'keep', trio.places);
    });

    test.for([{ cursor: '2' }, { cursor: null, only: 'files' }])(
      'also where that was a part of them: %j',
      async (params) => {
        const { trio, upstream, paged } = stage();
        const server = 'only' in params ? upstream : paged;
        show(server, before());
        const path = `/mcp/${server === paged ? 'keep_paged' : 'keep'}`;
        const session = await openSession(trio.at(0), { path });
        const { result } = await session.at(trio.at(0)).call('tools/list', params);
        expect(toolsOf(asObject(result))[0]?.name).toBe(server === paged ? 'schemed' : 'same');
        show(server, ALL.after());
        await remembers(session, 'keep', trio.places);
      },
    );

    test('also where the first list came on a stream that was taken up again', async () => {
      const { trio, upstream } = stage();
      show(upstream, before());
      const session = await openSession(trio.at(0), { path: '/mcp/keep' });
      let idText = '';
      upstream.behavior.intercept = ({ method, json, headers }) => {
        const message = asObject(json);
        if (message.method === 'tools/list' && idText === '') {
          idText = JSON.stringify(message.id);
          return { status: 200, headers: EVENTS, body: 'id: e-1\ndata: \n\n' };
        }
        if (method !== 'GET' || headers['last-event-id'] !== 'e-1') return undefined;
        const result: JsonObject = { tools: definitionsOf(before()) };
        const data = `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`;
        return { status: 200, headers: EVENTS, body: `id: e-2\ndata: ${data}\n\n` };
      };
      const broken = new EventReader(await session.at(trio.at(0)).request('tools/list'));
      await broken.rest();
      const resumed = new EventReader(await session.at(trio.at(1)).stream({ lastEventId: broken.lastEventId }));
      const { result } = await resumed.message(isResponse);
      expect(toolsOf(asObject(result)).slice(0, -1)).toEqual(definitionsOf(before()));
      show(upstream, ALL.after());
      await remembers(session, 'keep', trio.places);
    });
  });
}
