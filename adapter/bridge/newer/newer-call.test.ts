import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import type { Request } from '../../exchange/message.ts';
import { ClientSink } from '../older/testing/client-sink.ts';
import { ClientSide } from '../wire/client-side.ts';
import { knownCallSession } from './call-session.ts';
import { NewerCall } from './newer-call.ts';

const POSITION = { upstreamSessionId: 'up-1', protocolVersion: '2025-11-25' };
const MESSAGE: Request = {
  kind: 'request',
  idText: '1',
  method: 'tools/call',
  params: { name: 't', _meta: { progressToken: 'p' } },
};
const TEXT = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}';
const QUESTION = '{"jsonrpc":"2.0","id":"q 1","method":"elicitation/create","params":{"message":"?"}}';

let upstream: FakeUpstream;
let call: NewerCall;
let client: ClientSink;
let ask: (text: string) => void;

beforeEach(() => {
  upstream = new FakeUpstream();
  client = new ClientSink();
  const session = knownCallSession({ serverId: 'up', sessionId: 'kept', generation: 0 }, upstream, [], POSITION);
  const asks = { elicitation: true, elicitationUrl: false, sampling: false, roots: false };
  call = new NewerCall(
    {
      upstream,
      open: async () => ({ ...session, leave() {} }),
      hear: (_, onMessage) => {
        ask = onMessage;
        return { ready: Promise.resolve(), isOver: false, pause() {}, resume() {}, stop() {} };
      },
      onRounds() {},
    },
    {
      message: MESSAGE,
      text: TEXT,
      asks,
      logs: false,
      name: 'mine',
      takesQuestions: true,
      holder: undefined,
      resumed: undefined,
    },
    new ClientSide(client, 1),
  );
});

/** What was posted after the call. */
const posted = (): unknown[] => upstream.exchanges.slice(1).map(({ request }) => JSON.parse(request.body?.text ?? ''));
const REFUSAL = { jsonrpc: '2.0', id: 'q 1', error: { code: -32601, message: 'The call has ended.' } };

test('progress is told to the call that has its token', async () => {
  const over = call.run();
  await setImmediate();
  const progress = (token: string): string =>
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"${token}","progress":1}}`;
  ask(progress('of another call'));
  ask(progress('mine'));
  upstream.last.json().data('{"jsonrpc":"2.0","id":"mine","result":{}}').end();
  await over;
  expect(client.texts.map((text) => JSON.parse(text))).toMatchObject([
    { method: 'notifications/progress', params: { progressToken: 'p' } },
    { id: 1, result: {} },
  ]);
});

test('a client hears of a broken call at once, whether or not the server takes the cancellation', async () => {
  const over = call.run();
  await setImmediate();
  upstream.last.fail(true);
  await over;
  expect(client.failure).toMatchObject({ sent: true });
  expect(posted()).toMatchObject([{ method: 'notifications/cancelled' }]);
});

describe('a question in a session that lives longer than the call', () => {
  test('is refused when the call ends without an answer', async () => {
    const over = call.run();
    await setImmediate();
    ask(QUESTION);
    upstream.last.json().data('{"jsonrpc":"2.0","id":"mine","result":{}}').end();
    await over;
    expect(posted()).toEqual([REFUSAL]);
  });

  test('is refused when the call is given up', async () => {
    const over = call.run();
    await setImmediate();
    ask(QUESTION);
    call.abort();
    await setImmediate();
    expect(posted()).toMatchObject([REFUSAL, { method: 'notifications/cancelled' }]);
    for (const exchange of upstream.exchanges.slice(1)) exchange.head(202);
    await over;
  });

  test('T17: is refused, as a ping is answered, no more often at once than a server takes', async () => {
    const over = call.run();
    await setImmediate();
    for (let id = 0; id < 1_000; id++) ask(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    expect(posted()).toHaveLength(32);
    upstream.exchanges[0]?.json().data('{"jsonrpc":"2.0","id":"mine","result":{}}').end();
    await over;
  });

  test('is answered once', async () => {
    const over = call.run();
    await setImmediate();
    ask(QUESTION);
    const [sent] = upstream.exchanges;
    const answer = '{"jsonrpc":"2.0","id":"q 1","result":{"action":"decline"}}';
    const taken = call.answer(answer);
    upstream.last.head(202);
    await taken;
    sent?.json().data('{"jsonrpc":"2.0","id":"mine","result":{}}').end();
    await over;
    expect(posted()).toEqual([JSON.parse(answer)]);
  });
});
