import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { AdapterError } from '../../errors.ts';
import { SESSIONLESS_REVISION } from '../../exchange/message.ts';
import { ReplyMessage } from '../../path/reply-message.ts';
import { SessionRegistry } from '../../sessions/session-registry.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import { InSession, sessionIdOf } from './in-session.ts';
import { RecordingReply, refusal, sampleOperation, through } from '../testing/step-scene.ts';

const { sessionId } = sessionRecord();
const PING = { id: 1, method: 'ping' };
const CALL = { id: 1, method: 'tools/call', params: { name: 't' } };

let store: MemoryStore;
let sessions: SessionRegistry;

beforeEach(() => {
  store = new MemoryStore();
  sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: 2, idleTtlMs: null });
});
afterEach(() => sessions.stop());

const step = (): InSession => new InSession(sessions, (tool) => tool === 'execute');
const inSession = (message: object, headers: Record<string, string> = {}): ReturnType<typeof sampleOperation> =>
  sampleOperation(message, { caller: { headers: { 'mcp-session-id': sessionId, ...headers } } });

test('a session id must be there and hold something', () => {
  expect(sessionIdOf({ headers: { 'mcp-session-id': 'a' } })).toBe('a');
  for (const headers of [{}, { 'mcp-session-id': '' }, { 'mcp-session-id': ['a', 'b'] as unknown as string }]) {
    expect(() => sessionIdOf({ headers })).toThrow(new AdapterError('missing_session'));
  }
});

describe('a revision that a request names in a session', () => {
  const of = async (said: string | undefined, agreed = '2025-06-18') => {
    await store.open(sessionRecord({ protocolVersion: agreed }));
    return inSession(PING, said === undefined ? {} : { 'mcp-protocol-version': said });
  };

  test.each([
    [undefined, '2025-06-18'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-11-25'],
    ['2099-01-01', '2099-01-01'],
  ])('may be %s where %s was agreed on', async (said, agreed) => {
    const operation = await of(said, agreed);
    await through(step(), operation);
    expect(operation.session.protocolVersion).toBe(agreed);
  });

  test.each(['2024-01-01', 'x', '', '2025-06-18, 2025-06-18', '1.0'])('may not be %j', async (said) => {
    expect(await refusal(step(), await of(said))).toEqual(
      expect.objectContaining({
        code: 'invalid_request',
        status: 400,
        message: `The MCP-Protocol-Version header says ${JSON.stringify(said)}; this session speaks 2025-06-18.`,
      }),
    );
  });
});

describe('a message in a session', () => {
  test('is told which session that is', async () => {
    await store.open(sessionRecord());
    const operation = inSession(PING);
    const reply = new RecordingReply();
    expect((await through(step(), operation, reply)).reply).toBe(reply);
    expect([operation.session, operation.sessionId]).toEqual([sessionRecord(), sessionId]);
    expect(operation.caller.attributes.sessionId).toBe(sessionId);
  });

  test.each([undefined, SESSIONLESS_REVISION])('is refused where it has none: %s', async (protocolVersion) => {
    // A workspace is none that a client has opened.
    if (protocolVersion !== undefined) await store.open(sessionRecord({ protocolVersion }));
    expect(await refusal(step(), inSession(CALL))).toMatchObject({ code: 'session_not_found' });
    expect(sessions.inFlight).toBe(0);
  });

  test('is one of several only where its revision has batches', async () => {
    await store.open(sessionRecord());
    const batch = [CALL, { ...CALL, id: 2 }].map((one) => ({ jsonrpc: '2.0', ...one }));
    expect(await refusal(step(), inSession(batch))).toMatchObject({ code: 'invalid_request' });
    expect(sessions.inFlight).toBe(0);
    await store.open(sessionRecord({ protocolVersion: '2025-03-26' }));
    await through(step(), inSession(batch));
    expect(sessions.inFlight).toBe(2);
    expect(await refusal(step(), inSession(CALL))).toMatchObject({ code: 'in_flight_limit' });
  });
});

describe('the place of a call', () => {
  beforeEach(() => store.open(sessionRecord()));

  /** How many calls are in flight at each thing that the client is told. */
  async function running(call: object) {
    const operation = inSession(call);
    const reply = new RecordingReply();
    const inFlight: number[] = [];
    reply.onTold = () => inFlight.push(sessions.inFlight);
    const { reply: behind } = await through(step(), operation, reply);
    return { operation, reply, behind, inFlight };
  }

  test('is free before the client has its response', async () => {
    const { operation, reply, behind, inFlight } = await running(CALL);
    await behind.message(new ReplyMessage('other', '{"method":"notifications/progress"}'));
    operation.awaited.see([1]);
    await behind.message(new ReplyMessage('response', '{"id":1,"result":{}}'));
    await behind.end({ outcome: 'ok' });
    expect(inFlight).toEqual([1, 0, 0]);
    expect(reply.told.at(-1)).toBe('end ok');
  });

  test('is free before the last of a response that comes in parts', async () => {
    const { operation, behind, inFlight } = await running(CALL);
    await behind.message(new ReplyMessage('response', [Buffer.from('{"id":1,')], { isOpen: true }));
    await behind.data(Buffer.from('"result":'), false);
    operation.awaited.see([1]);
    await behind.data(Buffer.from('{}}'), true);
    expect(inFlight).toEqual([1, 1, 0]);
  });

  test('is free at its end in any case', async () => {
    const { behind, inFlight } = await running(CALL);
    await behind.end({ outcome: 'timeout' });
    expect(inFlight).toEqual([0]);
  });

  test('is free at once where it is only there to make others', async () => {
    const { behind, inFlight } = await running({ ...CALL, params: { name: 'execute' } });
    expect(sessions.inFlight).toBe(0);
    await behind.end({ outcome: 'ok' });
    expect(inFlight).toEqual([0]);
  });
});
