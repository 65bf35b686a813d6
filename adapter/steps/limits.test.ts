import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { CallLimit } from '../../crds/config/adapter-file/limits.ts';
import { ReplyMessage } from '../path/reply-message.ts';
import { SessionRegistry } from '../sessions/session-registry.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { CallLimits } from '../tools/call-limits.ts';
import { InSession } from './sessions/in-session.ts';
import { Limits } from './limits.ts';
import { pass, RecordingReply, refusal, sampleOperation, through } from './testing/step-scene.ts';

const { sessionId, principal } = sessionRecord();
const CALL = { id: 1, method: 'tools/call', params: { name: 't' } };
const batch = (size: number): object[] => Array.from({ length: size }, (_, id) => ({ jsonrpc: '2.0', ...CALL, id }));

let store: MemoryStore;
let telemetry: RecordingTelemetry;
let sessions: SessionRegistry;

beforeEach(async () => {
  store = new MemoryStore();
  telemetry = new RecordingTelemetry();
  sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: null, idleTtlMs: null }, telemetry);
  await store.open(sessionRecord({ protocolVersion: '2025-03-26' }));
});
afterEach(() => sessions.stop());

const runsOthers = (tool: string): boolean => tool === 'execute';

/** The steps of a server with this limit, for calls with and without sessions, and a call through each. */
function limited(changes: Partial<CallLimit>, mayCall?: ConstructorParameters<typeof Limits>[2]) {
  const limits = new CallLimits('s1', [{ per: 'caller', rate: null, burst: null, concurrent: null, ...changes }]);
  const caller = { principal, headers: { 'mcp-session-id': sessionId } };
  return {
    inSession: [new Limits(limits, runsOthers, mayCall), new InSession(sessions, runsOthers)],
    alone: [new Limits(limits, runsOthers, mayCall, sessions)],
    operation: (message: object = CALL) => sampleOperation(message, { caller }),
  };
}

describe.each(['inSession', 'alone'] as const)('%s', (family) => {
  test('as many calls as the burst pass, and the next one is told when it may come', async () => {
    const { [family]: steps, operation } = limited({ rate: '2/min' });
    for (let n = 0; n < 2; n += 1) await through(steps, operation());
    expect(await refusal(steps, operation())).toMatchObject({
      code: 'rate_limited',
      status: 429,
      retryAfter: 30,
      message: 'There were too many calls of this caller; wait 30 s.',
    });
    expect(telemetry.of('limited')).toEqual([{ serverId: 's1', per: 'caller', limit: 'rate' }]);
  });

  test('what is no call counts for nothing', async () => {
    const { [family]: steps, operation } = limited({ rate: '1/h', concurrent: 1 });
    await through(steps, operation());
    for (const method of ['ping', 'tools/list', 'resources/read']) {
      await through(steps, operation({ id: 2, method, params: {} }));
    }
    expect(await refusal(steps, operation())).toMatchObject({ code: 'rate_limited' });
  });

  test('a call that runs holds its place until its client can see its answer', async () => {
    const { [family]: steps, operation } = limited({ concurrent: 1 });
    const free: boolean[] = [];
    const first = operation();
    const reply = new RecordingReply();
    const { reply: behind } = await through(steps, first, reply);
    expect(await refusal(steps, operation())).toMatchObject({
      code: 'concurrency_limited',
      status: 429,
      retryAfter: 1,
      message: 'The limit of concurrent calls of this caller is reached: 1. Try again.',
    });
    const place = { per: 'caller' as const, key: `s1:caller|${principal}`, most: 1, calls: 1 };
    let asked: Promise<unknown> = Promise.resolve();
    reply.onTold = () => {
      const call = { id: 'other', until: store.now() + 1_000, taking: { rates: [], places: [place] } };
      asked = store.callLimits.take(call, store.now()).then((refused) => free.push(refused === undefined));
    };
    first.awaited.see([1]);
    await behind.message(new ReplyMessage('response', '{"id":1,"result":{}}'));
    await asked;
    expect(free).toEqual([true]);
    expect(sessions.inFlight).toBe(0);
  });

  test('a call that fails gives its place back', async () => {
    const { [family]: steps, operation } = limited({ concurrent: 1 });
    for (let n = 0; n < 3; n += 1) {
      const { reply } = await through(steps, operation());
      await reply.end({ outcome: 'timeout' });
    }
    expect(sessions.inFlight).toBe(0);
  });

  test.each<[Partial<CallLimit>, boolean]>([
    [{ per: 'server', rate: '1/h' }, false],
    [{ per: 'tool', rate: '1/h' }, false],
    [{ per: 'tool', concurrent: 1 }, false],
    [{ per: 'caller', rate: '1/h' }, true],
    [{ per: 'caller+tool', concurrent: 1 }, true],
  ])(
    'T26: a call that its caller may not make counts against none but the caller itself: %j',
    async (limit, counts) => {
      let may = false;
      const { [family]: steps, operation } = limited(limit, () => may);
      await through(steps, operation());
      may = true;
      if (counts) expect(await refusal(steps, operation())).toMatchObject({ status: 429 });
      else await through(steps, operation());
    },
  );

  test('a call that makes others counts, and holds no place', async () => {
    const { [family]: steps, operation } = limited({ rate: '2/h', concurrent: 1 });
    const execute = operation({ ...CALL, params: { name: 'execute' } });
    await through(steps, execute);
    // What it calls has the place that there is.
    await through(steps, operation());
    expect(await refusal(steps, operation())).toMatchObject({ code: 'rate_limited' });
  });
});

describe('a session', () => {
  test('that is new has nothing more', async () => {
    const { inSession, operation } = limited({ rate: '1/h' });
    await through(inSession, operation());
    const other = sessionRecord({ sessionId: 'f'.repeat(32) });
    await store.open(other);
    const headers = { 'mcp-session-id': other.sessionId };
    const call = sampleOperation(CALL, { caller: { principal, headers } });
    expect(await refusal(inSession, call)).toMatchObject({ code: 'rate_limited' });
  });

  test('T26: has each call of a batch counted; one that is refused takes nothing', async () => {
    const { inSession, operation } = limited({ rate: '4/h' });
    await through(inSession, operation(batch(3)));
    expect(await refusal(inSession, operation(batch(2)))).toMatchObject({ code: 'rate_limited', retryAfter: 900 });
    await through(inSession, operation(batch(1)));
    expect(await refusal(inSession, operation())).toMatchObject({ code: 'rate_limited' });
    expect(await refusal(inSession, operation(batch(5)))).toMatchObject({ code: 'invalid_request' });
  });

  test('gives all places of a batch back at its end', async () => {
    const { inSession, operation } = limited({ concurrent: 3 });
    const { reply } = await through(inSession, operation(batch(3)));
    expect(await refusal(inSession, operation())).toMatchObject({ code: 'concurrency_limited' });
    await reply.end({ outcome: 'ok' });
    expect(sessions.inFlight).toBe(0);
    await through(inSession, operation(batch(3)));
  });

  test('that is unknown takes nothing', async () => {
    const { inSession, operation } = limited({ rate: '1/h' });
    const headers = { 'mcp-session-id': 'e'.repeat(32) };
    const lost = sampleOperation(CALL, { caller: { principal, headers } });
    expect(await refusal(inSession, lost)).toMatchObject({ code: 'session_not_found' });
    expect(await pass(inSession, operation())).toBeDefined();
  });
});
