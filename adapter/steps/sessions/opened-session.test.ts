import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { ErrorCode } from '../../errors.ts';
import { SESSIONLESS_REVISION } from '../../exchange/message.ts';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { sampleMount } from '../../gateway/testing/sample-mount.ts';
import { ReplyMessage } from '../../path/reply-message.ts';
import { SessionRegistry } from '../../sessions/session-registry.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import type { UpstreamSession } from '../../exchange/upstream.ts';
import { OpenedSession } from './opened-session.ts';
import { RecordingReply, refusal, sampleClient, sampleOperation, through } from '../testing/step-scene.ts';

const PARAMS = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
const INITIALIZE = { id: 0, method: 'initialize', params: PARAMS };
const HEAD = { status: 200, headers: {}, upstreamSessionId: 'theirs' };
const CONTROL = { pause: () => {}, resume: () => {}, abort: () => {} };
const answer = (protocolVersion = '2025-11-25'): ReplyMessage =>
  new ReplyMessage(
    'response',
    JSON.stringify({ jsonrpc: '2.0', id: 0, result: { protocolVersion, capabilities: {} } }),
  );
const ERROR = new ReplyMessage('response', '{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no"}}');

let store: MemoryStore;
let sessions: SessionRegistry;
beforeEach(() => {
  store = new MemoryStore();
  sessions = new SessionRegistry(store, { maxActive: 1, maxInFlight: null, idleTtlMs: null });
});
afterEach(() => sessions.stop());

function scene(refusesSessions: () => ErrorCode | undefined = () => undefined) {
  const ended: (string | null | undefined)[] = [];
  const upstream = new FakeUpstream();
  upstream.endSession = async (...[session]: [UpstreamSession?]) => void ended.push(session?.upstreamSessionId);
  const mount = sampleMount({}, { upstream });
  const step = new OpenedSession({ mount, client: sampleClient(mount, store), sessions, store, refusesSessions });
  const operation = sampleOperation(INITIALIZE, { defersHead: true, caller: { principal: 'me' } });
  const own = new RecordingReply();
  return { ended, step, operation, own, pass: () => through(step, operation, own) };
}
const state = async (sessionId: string | undefined): Promise<unknown> =>
  (await store.find({ serverId: 's1', sessionId: sessionId ?? '' }, { principal: 'me', now: Date.now() })).state;

describe('a session', () => {
  test('is open, under an id of the adapter’s own, before its client hears of it', async () => {
    const { operation, own, pass, ended } = scene();
    const { reply } = await pass();
    const { opening } = operation;
    expect(opening).toMatchObject({ serverId: 's1', upstreamSessionId: undefined, generation: 0 });
    reply.start(CONTROL);
    reply.head(HEAD);
    expect(operation.sessionId).toBeUndefined();
    await reply.message(answer());
    await reply.end({ outcome: 'ok' });
    expect(operation.sessionId).toBe(opening?.sessionId);
    const found = await sessions.find('s1', operation.sessionId ?? '', 'me');
    expect(found).toMatchObject({
      upstreamSessionId: 'theirs',
      protocolVersion: '2025-11-25',
      initializeParams: JSON.stringify(PARAMS),
    });
    expect(operation.caller.attributes).toMatchObject({
      sessionId: operation.sessionId,
      protocolVersion: '2025-11-25',
    });
    expect([own.told.at(-1), ended]).toEqual(['end ok', []]);
  });

  test('takes a place, which is free again where it was not opened', async () => {
    const first = scene();
    const { reply } = await first.pass();
    expect(await refusal(scene().step, scene().operation)).toMatchObject({ code: 'sessions_limit' });
    reply.start(CONTROL);
    reply.head(HEAD);
    await reply.message(ERROR);
    await reply.end({ outcome: 'ok' });
    // Nobody will use what the upstream may have opened.
    expect(first.ended).toEqual(['theirs']);
    expect(first.operation.sessionId).toBeUndefined();
    await scene().pass();
  });

  test('is not asked for while none can be opened', async () => {
    const { step, operation } = scene(() => 'draining');
    expect(await refusal(step, operation)).toMatchObject({ code: 'draining' });
  });

  test('is none of the revision without sessions', async () => {
    const { reply } = await scene().pass();
    reply.start(CONTROL);
    reply.head(HEAD);
    await expect(reply.message(answer(SESSIONLESS_REVISION))).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  test('goes again when its client has gone meanwhile', async () => {
    const { operation, own, pass, ended } = scene();
    const { reply } = await pass();
    reply.start(CONTROL);
    reply.head(HEAD);
    own.leave();
    await reply.message(answer());
    await reply.end({ outcome: 'client_closed' });
    expect([await state(operation.opening?.sessionId), ended]).toEqual(['unknown', ['theirs']]);
  });

  test('is not ended upstream where the upstream was never asked', async () => {
    const { pass, ended } = scene();
    const { reply } = await pass();
    await reply.end({ outcome: 'upstream_unavailable' });
    expect(ended).toEqual([]);
    await scene().pass();
  });
});
