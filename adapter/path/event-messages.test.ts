import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { frame, replyScene, type Started } from '../callers/testing/reply-scene.ts';
import type { FakeExchange } from '../exchange/testing/fake-upstream.ts';
import type { StreamedAnswer } from '../exchange/answers/answer.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import { sampleAccount } from '../testing/sample-account.ts';

const LIST_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
const LARGE = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(600_000)}"}`;
const WIDE = `{"jsonrpc":"2.0","id":1,"result":[${'{},'.repeat(1_000_000)}0]}`;
const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await nextTurn();
};
const same = (text: string): string => text;

describe('the answer of an upstream that does not wait', () => {
  const at = replyScene({ operations: 20 });

  test('is whole where a large frame came while an earlier one was worked on', async () => {
    const work = Promise.withResolvers<void>();
    const { answer } = await at.start({ onUnsolicited: same, onListChanged: () => work.promise });
    const text = frame(LIST_CHANGED) + frame(LARGE);
    at.upstream.last.eventStream().data(frame(LIST_CHANGED));
    for (const chunk of [frame(LARGE).slice(0, 400_000), frame(LARGE).slice(400_000)]) at.upstream.last.data(chunk);
    at.upstream.last.end();
    work.resolve();
    expect((await (await answer()).whole()) === text).toBe(true);
    expect(at.outcomes).toEqual(['ok']);
  });

  test('ends once, also where a large frame was still to be looked at', async () => {
    const work = Promise.withResolvers<void>();
    const { answer, reply, res } = await at.start({ onUnsolicited: same, onListChanged: () => work.promise });
    at.upstream.last.eventStream().data(frame(LIST_CHANGED)).data(frame(LARGE).slice(0, 400_000));
    reply.finish('cancelled');
    work.resolve();
    await (await answer()).whole();
    if (!res.closed) await once(res, 'close');
    expect(at.outcomes).toEqual(['cancelled']);
  });

  test('to a batch is noted as complete with its last response only', async () => {
    const noted: Partial<RequestAttributes> = {};
    const parts = async function* (): AsyncGenerator<string> {
      yield* ['{', '}'];
    };
    const onResponse = (): StreamedAnswer => ({ bytes: undefined, parts: parts() });
    const { answer, hangUp } = await at.start({ idTexts: ['1', '2'], onResponse, noted });
    at.upstream.last.eventStream().data(frame('{"jsonrpc":"2.0","id":1,"result":{}}'));
    const got = await answer();
    await got.until('data: {}\n\n');
    expect(noted.isAnswered).toBeUndefined();
    at.upstream.last.data(frame('{"jsonrpc":"2.0","id":2,"result":{}}'));
    await got.until('data: {}\n\nevent: message\ndata: {}\n\n');
    await hangUp();
    expect(noted.isAnswered).toBe(true);
  });

  test.each([
    ['the response', 'onResponse', '1', 'json'],
    ['the response', 'onResponse', '1', 'eventStream'],
    ['another response', 'onUnsolicited', '2', 'eventStream'],
  ] as const)('T17: is not read where it has more than a million values: %s by %s', async (_, reader, idText, kind) => {
    let wasRead = false;
    const read = (text: string): string => {
      wasRead = true;
      return text;
    };
    const { answer } = await at.start({ [reader]: read, idTexts: [idText] });
    at.upstream.last[kind]()
      .data(kind === 'json' ? WIDE : frame(WIDE))
      .end();
    const body = await (await answer()).whole();
    expect(body.slice(-200)).toContain('the JSON has more than 1000000 values');
    expect(wasRead).toBe(false);
  });

  test('T17: passes as it came where nobody has to read it, however many values it has', async () => {
    const { answer } = await at.start({});
    at.upstream.last.json().data(WIDE).end();
    expect((await (await answer()).whole()) === WIDE).toBe(true);
  });

  test.each([
    ['the response', WIDE, false],
    ['the response in a session', WIDE, true],
    ['a notification', WIDE.replace('"id":1,"result"', '"method":"m","params"'), true],
  ])('T17: passes as an event, too, where nobody has to read it: %s', async (_what, wide, inSession) => {
    const { answer } = await at.start({ inSession, onListChanged: () => Promise.resolve() });
    const events = wide === WIDE ? frame(WIDE) : frame(wide) + frame('{"jsonrpc":"2.0","id":1,"result":{}}');
    at.upstream.last.eventStream().data(events).end();
    expect((await (await answer()).whole()) === events).toBe(true);
  });

  test.each(['json', 'eventStream'] as const)('T17: by %s is counted while it is kept, and only then', async (kind) => {
    const account = sampleAccount({ kinds: { answers: 1_250_000 } });
    const upstreams: FakeExchange[] = [];
    const replies: Started[] = [];
    const [begun, rest] = [LARGE.slice(0, 400_000), LARGE.slice(400_000)];
    for (const text of [begun, begun, LARGE]) {
      replies.push(await at.start({ onResponse: same, holder: account.of({ server: 's1' }) }));
      upstreams.push(at.upstream.last);
      at.upstream.last[kind]().data(kind === 'json' ? text : `data: ${text}`);
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
    const passing = await at.start({ holder: account.of({ server: 's1' }) });
    at.upstream.last.json().data(LARGE.slice(0, 200_000));
    expect(account.held).toBe(200_000);
    at.upstream.last.data(LARGE.slice(200_000, 400_000));
    // What has left is its client's to take.
    expect(new Map(account.byKind()).get('answers')).toBe(0);
    at.upstream.last.data(LARGE.slice(400_000)).end();
    expect((await (await passing.answer()).whole()) === LARGE).toBe(true);

    const leaving = await at.start({ onResponse: same, holder: account.of({ server: 's1' }) });
    at.upstream.last.json().data(LARGE);
    expect(account.held).toBe(LARGE.length);
    await leaving.hangUp();
    expect(account.held).toBe(0);
  });

  test.each([
    ['1 MiB', 'x'.repeat(100_000), 12],
    ['100', 'x', 101],
  ])('H7 T17: before the head may be %s of other messages, and no more', async (_most, params, count) => {
    const note = frame(`{"jsonrpc":"2.0","method":"notifications/message","params":"${params}"}`);
    const { answer } = await at.start({ onResponse: same, deferHeaders: true });
    at.upstream.last.eventStream();
    for (let i = 0; i < count; i++) at.upstream.last.data(note);
    const got = await answer();
    expect([got.status, await got.whole()]).toEqual([
      502,
      expect.stringContaining('more than 1 MiB or 100 messages before its answer'),
    ]);
    expect(at.upstream.last.aborted).toBe(true);
  });
});
