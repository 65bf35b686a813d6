import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { StreamedAnswer } from './answer.ts';
import type { Noted } from './answer-watch.ts';
import { Exchange } from './exchange.ts';
import type { Outcome, Plan } from './plan.ts';
import { FakeUpstream } from './testing/fake-upstream.ts';
import { type OpenReply, startReplyServer } from './testing/reply-server.ts';
import { testPlan } from './testing/test-plan.ts';

const LIST_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
const LARGE = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(600_000)}"}`;
const WIDE = `{"jsonrpc":"2.0","id":1,"result":[${'{},'.repeat(1_000_000)}0]}`;
const frame = (data: string): string => `event: message\ndata: ${data}\n\n`;
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
});
