import { beforeEach, describe, expect, test } from 'vitest';
import { ANSWER_LIMITS } from '../../../lib/json/json-limits.ts';
import { Holder } from '../../byte-account.ts';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { MAX_ANSWER_BYTES, UNCOUNTED_BYTES } from '../../limits.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { Round, type RoundAnswer } from './round.ts';

const ID = '9007199254740993';
const answer = (rest = '"result":{}', id = ID): string => `{"jsonrpc":"2.0","id":${id},${rest}}`;
const frame = (text: string): string => `data: ${text}\n\n`;

let upstream: FakeUpstream;
let told: string[];
let asRequests: string[];
let round: Round;
let asked: Promise<RoundAnswer>;

const ask = (idText = ID, holder?: Holder): void => {
  upstream = new FakeUpstream();
  told = [];
  asRequests = [];
  round = new Round(idText, holder, (text, isRequest) => (isRequest ? asRequests : told).push(text));
  asked = round.ask(upstream, { method: 'POST', session: undefined, headers: [], body: undefined });
  asked.catch(() => undefined);
};
beforeEach(() => ask());

describe('one request to a server without sessions', () => {
  test('is answered by a body', async () => {
    upstream.last.json(404).data(answer().slice(0, 9)).data(answer().slice(9)).end();
    expect(await asked).toMatchObject({ head: { status: 404 }, text: answer() });
  });

  test('is answered on a stream, which is left then, behind notifications', async () => {
    const said = '{"jsonrpc":"2.0","method":"notifications/message","params":{"n":1e400}}';
    upstream.last
      .eventStream()
      .data(frame(said))
      .data(frame(answer()) + frame(said));
    expect(await asked).toMatchObject({ text: answer() });
    expect([told, upstream.last.aborted]).toEqual([[said], true]);
  });

  test.for([
    ['a large number, rounded', answer('"result":{}', '9007199254740992')],
    ['null, in a refusal', answer('"error":{"code":-32700}', 'null')],
    ['none, in a refusal', '{"error":{"code":1}}'],
  ] as const)('is answered by what has as its id %s', async ([, body]) => {
    upstream.last.json(400).data(body).end();
    expect((await asked).text).toBe(body);
  });

  test('is answered by what has its id, written otherwise', async () => {
    ask('"a/b"');
    upstream.last.eventStream().data(frame('{"id":"a\\/b","result":1}'));
    expect((await asked).text).toBe('{"id":"a\\/b","result":1}');
  });

  test.for([
    '<html>',
    '',
    '[]',
    'null',
    '7',
    answer('"result":{}', '8'),
    answer('"result":{}', 'null'),
    `[${answer()}]`,
    '{"id":1}',
    answer('"method":"ping"'),
  ])('has no answer in a body that is none: %s', async (body) => {
    upstream.last.json().data(body).end();
    expect(await asked).toMatchObject({ text: undefined, body: Buffer.from(body) });
  });

  test('hears requests as such, and no other responses', async () => {
    const question = answer('"method":"elicitation/create","params":{}', '"theirs"');
    const dropped = [
      answer('"result":{"of":8}', '8'),
      answer('"error":{}', 'null'),
      `[${answer()}]`,
      'no JSON',
      'null',
      '',
    ];
    upstream.last
      .eventStream()
      .data(frame(question) + dropped.map(frame).join(''))
      .data(frame(answer()));
    expect(await asked).toMatchObject({ text: answer() });
    expect([told, asRequests]).toEqual([[], [question]]);
  });

  test.for([
    ['an answer of too many bytes', () => upstream.last.json().data(Buffer.alloc(MAX_ANSWER_BYTES + 1))],
    [
      'too many values',
      () =>
        upstream.last
          .json()
          .data(`[${'1,'.repeat(ANSWER_LIMITS.values)}1]`)
          .end(),
    ],
    ['too many levels', () => upstream.last.json().data('['.repeat(600)).end()],
    ['too many levels in a frame', () => upstream.last.eventStream().data(frame('['.repeat(600)))],
    ['a stream without the answer', () => upstream.last.eventStream().end()],
    ['a connection that broke', () => upstream.last.json().fail(true)],
  ] as const)('fails with %s', async ([, happens]) => {
    happens();
    await expect(asked).rejects.toMatchObject({ name: 'Error', sent: true });
  });

  test('of 10 MB passes', async () => {
    const large = answer(`"result":{"x":"${'x'.repeat(10 << 20)}"}`);
    upstream.last.json().data(large).end();
    expect((await asked).text).toHaveLength(large.length);
  });

  test('says whether it reached the server', async () => {
    upstream.last.fail(false);
    await expect(asked).rejects.toMatchObject({ sent: false });
  });

  test('counts what it keeps, until it is over', async () => {
    const account = sampleAccount({ total: 4 * UNCOUNTED_BYTES });
    const holder = new Holder(account, { server: 's' });
    ask(ID, holder);
    upstream.last.json().data(Buffer.alloc(2 * UNCOUNTED_BYTES));
    expect(account.held).toBe(2 * UNCOUNTED_BYTES);
    upstream.last.data(Buffer.alloc(4 * UNCOUNTED_BYTES));
    await expect(asked).rejects.toMatchObject({ cause: { code: 'overloaded' } });
    expect([account.held, upstream.last.aborted]).toEqual([0, true]);
  });

  test('is left at once when it is given up, and hears nothing more', async () => {
    upstream.last.eventStream();
    round.abort(new Error('given up'));
    await expect(asked).rejects.toThrow('given up');
    round.onData(Buffer.from(frame('{"method":"a"}')));
    round.onError(new Error('late'), true);
    expect([upstream.last.aborted, told]).toEqual([true, []]);
  });

  test('that was given up before it began is not sent on', () => {
    const early = new Round(ID, undefined, () => undefined);
    early.abort(new Error('given up'));
    early.ask(upstream, { method: 'POST', session: undefined, headers: [], body: undefined }).catch(() => undefined);
    expect(upstream.last.aborted).toBe(true);
  });

  test('waits where its client does', () => {
    const waiting = new Round(ID, undefined, () => undefined);
    waiting.pause();
    void waiting.ask(upstream, { method: 'POST', session: undefined, headers: [], body: undefined });
    expect(upstream.last.paused).toBe(true);
    waiting.resume();
    expect(upstream.last.paused).toBe(false);
  });
});
