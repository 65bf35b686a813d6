import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { sampleAccount } from '../testing/sample-account.ts';
import type { StreamedAnswer } from './answer.ts';
import type { Noted } from './answer-watch.ts';
import { Exchange } from './exchange.ts';
import type { Outcome, Plan } from './plan.ts';
import { type FakeExchange, FakeUpstream } from './testing/fake-upstream.ts';
import { type OpenReply, startReplyServer } from './testing/reply-server.ts';
import { testPlan } from './testing/test-plan.ts';

const LIST_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
const LARGE = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(600_000)}"}`;
const WIDE = `{"jsonrpc":"2.0","id":1,"result":[${'{},'.repeat(1_000_000)}0]}`;
const frame = (data: string): string => `event: message\ndata: ${data}\n\n`;
const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await nextTurn();
};
const same = (text: string): string => text;

describe('the answer of an upstream that does not wait', () => {
  let server: Awaited<ReturnType<typeof startReplyServer>>;
  const upstream = new FakeUpstream();
  let outcomes: Outcome[];

  beforeAll(async () => {
    server = await startReplyServer();
  });
  afterAll(() => server.close());
  beforeEach(() => {
    outcomes = [];
  });

  async function start(changes: Partial<Plan>): Promise<OpenReply & { exchange: Exchange }> {
    const opened = await server.open();
    const onFinish = (outcome: Outcome): undefined => void outcomes.push(outcome);
    const exchange = new Exchange(testPlan({ upstream, reply: opened.reply, onFinish, ...changes }));
    exchange.start();
    return { ...opened, exchange };
  }

  test('is whole where a large frame came while an earlier one was worked on', async () => {
    const work = Promise.withResolvers<void>();
    const { answer } = await start({ onStray: same, onListChanged: () => work.promise });
    const text = frame(LIST_CHANGED) + frame(LARGE);
    upstream.last.eventStream().data(frame(LIST_CHANGED));
    for (const chunk of [frame(LARGE).slice(0, 400_000), frame(LARGE).slice(400_000)]) upstream.last.data(chunk);
    upstream.last.end();
    work.resolve();
    expect((await (await answer()).whole()) === text).toBe(true);
    expect(outcomes).toEqual(['ok']);
  });

  test('ends once, also where a large frame was still to be looked at', async () => {
    const work = Promise.withResolvers<void>();
    const { answer, exchange, reply } = await start({ onStray: same, onListChanged: () => work.promise });
    upstream.last.eventStream().data(frame(LIST_CHANGED)).data(frame(LARGE).slice(0, 400_000));
    exchange.finish('cancelled');
    work.resolve();
    await (await answer()).whole();
    if (!reply.closed) await once(reply, 'close');
    expect(outcomes).toEqual(['cancelled']);
  });

  test('to a batch is noted as complete with its last response only', async () => {
    const noted: Noted = {};
    const parts = async function* (): AsyncGenerator<string> {
      yield* ['{', '}'];
    };
    const onResponse = (): StreamedAnswer => ({ bytes: undefined, parts: parts() });
    const { answer, hangUp } = await start({ idTexts: ['1', '2'], onResponse, noted });
    upstream.last.eventStream().data(frame('{"jsonrpc":"2.0","id":1,"result":{}}'));
    const got = await answer();
    await got.until('data: {}\n\n');
    expect(noted.isAnswered).toBeUndefined();
    upstream.last.data(frame('{"jsonrpc":"2.0","id":2,"result":{}}'));
    await got.until('data: {}\n\nevent: message\ndata: {}\n\n');
    await hangUp();
    expect(noted.isAnswered).toBe(true);
  });

  test.each([
    ['the response', 'onResponse', '1', 'json'],
    ['the response', 'onResponse', '1', 'eventStream'],
    ['another response', 'onStray', '2', 'eventStream'],
  ] as const)('T17: is not read where it has more than a million values: %s by %s', async (_, reader, idText, kind) => {
    let wasRead = false;
    const read = (text: string): string => {
      wasRead = true;
      return text;
    };
    const { answer } = await start({ [reader]: read, idTexts: [idText] });
    upstream.last[kind]()
      .data(kind === 'json' ? WIDE : frame(WIDE))
      .end();
    const body = await (await answer()).whole();
    expect(body.slice(-200)).toContain('the JSON has more than 1000000 values');
    expect(wasRead).toBe(false);
  });

  test('T17: passes as it came where nobody has to read it, however many values it has', async () => {
    const { answer } = await start({});
    upstream.last.json().data(WIDE).end();
    expect((await (await answer()).whole()) === WIDE).toBe(true);
  });

  test.each(['json', 'eventStream'] as const)('T17: by %s is counted while it is kept, and only then', async (kind) => {
    const account = sampleAccount({ kinds: { answers: 1_250_000 } });
    const upstreams: FakeExchange[] = [];
    const replies: OpenReply[] = [];
    const [begun, rest] = [LARGE.slice(0, 400_000), LARGE.slice(400_000)];
    for (const text of [begun, begun, LARGE]) {
      replies.push(await start({ onResponse: same, holder: account.of({ server: 's1' }) }));
      upstreams.push(upstream.last);
      upstream.last[kind]().data(kind === 'json' ? text : `data: ${text}`);
      await turns();
    }
    expect(account.held).toBeGreaterThan(790_000);
    const bodies = replies.map(async ({ answer }) => (await answer()).whole());
    expect((await bodies[2])?.slice(-200)).toContain('Too many bytes of answers are under way');
    for (const one of upstreams.slice(0, 2)) one.data(kind === 'json' ? rest : `${rest}\n\n`).end();
    for (const body of bodies.slice(0, 2)) expect((await body).includes(LARGE)).toBe(true);
    expect(account.held).toBe(0);
  });

  test('T17: is not counted where it passes, and given back where its client leaves', async () => {
    const account = sampleAccount({ kinds: { answers: 1_000_000 } });
    const passing = await start({ holder: account.of({ server: 's1' }) });
    upstream.last.json().data(LARGE.slice(0, 200_000));
    expect(account.held).toBe(200_000);
    upstream.last.data(LARGE.slice(200_000, 400_000));
    // What has left is its client's to take.
    expect(new Map(account.byKind()).get('answers')).toBe(0);
    upstream.last.data(LARGE.slice(400_000)).end();
    expect((await (await passing.answer()).whole()) === LARGE).toBe(true);

    const leaving = await start({ onResponse: same, holder: account.of({ server: 's1' }) });
    upstream.last.json().data(LARGE);
    expect(account.held).toBe(LARGE.length);
    await leaving.hangUp();
    expect(account.held).toBe(0);
  });

  test.each([
    ['1 MiB', 'x'.repeat(100_000), 12],
    ['100', 'x', 101],
  ])('H7 T17: before the head may be %s of other messages, and no more', async (_most, params, count) => {
    const note = frame(`{"jsonrpc":"2.0","method":"notifications/message","params":"${params}"}`);
    const { answer } = await start({ onResponse: same, holdHead: true });
    upstream.last.eventStream();
    for (let i = 0; i < count; i++) upstream.last.data(note);
    const got = await answer();
    expect([got.status, await got.whole()]).toEqual([
      502,
      expect.stringContaining('more than 1 MiB or 100 messages before its answer'),
    ]);
    expect(upstream.last.aborted).toBe(true);
  });
});
