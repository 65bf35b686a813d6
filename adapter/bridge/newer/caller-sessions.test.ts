import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { SessionRegistry } from '../../sessions/session-registry.ts';
import { workspaceRecord } from '../../sessions/workspace-record.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import { CallerSessions, type SessionCaller } from './caller-sessions.ts';
import { RequestIdentities } from './older-request.ts';

const ADA: SessionCaller = {
  principal: 'ada',
  credentials: '',
  headers: [],
  identity: new RequestIdentities().of({}),
};

let upstream: FakeUpstream;
let store: MemoryStore;
let sessions: SessionRegistry;
let kept: CallerSessions;

beforeEach(() => {
  upstream = new FakeUpstream();
  store = new MemoryStore();
  sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: null, idleTtlMs: null });
  kept = new CallerSessions({ serverId: 'one', upstream, store, sessions });
});
afterEach(() => sessions.stop());

describe('the session that a caller keeps', () => {
  test('is not opened for a call that was given up while another one tries', async () => {
    const given = new AbortController();
    const first = kept.enter(ADA, new AbortController().signal);
    await expect.poll(() => upstream.exchanges.length).toBe(1);
    const second = kept.enter(ADA, given.signal);
    given.abort(new Error('left'));
    await expect(second).rejects.toThrow();
    upstream.last.fail(false);
    await expect(first).rejects.toThrow();
    expect(upstream.exchanges).toHaveLength(1);
  });

  test('is in use by a call that another replica has begun', async () => {
    const sessionId = 'a'.repeat(32);
    await sessions.open(workspaceRecord('one', sessionId, 'ada', store.now()));
    const position = {
      sessionId,
      generation: 3,
      upstreamSessionId: 'up-1',
      protocolVersion: '2025-11-25',
      idText: '"x"',
      progressToken: '"x"',
      lastEventId: '5',
    };
    const call = await kept.enterAgain(position, ADA);
    expect(call.session).toMatchObject({ sessionId, generation: 3, upstreamSessionId: 'up-1' });
    expect(await store.counts(store.now())).toMatchObject({ inFlight: 1 });
    sessions.stop();
    sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: 1, idleTtlMs: null });
    kept = new CallerSessions({ serverId: 'one', upstream, store, sessions });
    expect(await kept.enterAgain(position, ADA)).toMatchObject({ session: call.session });
    call.leave();
    await expect.poll(() => store.counts(store.now())).toMatchObject({ inFlight: 0 });
  });
});
