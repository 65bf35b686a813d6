import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Noted } from './answer-watch.ts';
import { Exchange, type Plan } from './exchange.ts';
import { FakeUpstream } from './testing/fake-upstream.ts';
import { type OpenReply, startReplyServer } from './testing/reply-server.ts';
import { testPlan } from './testing/test-plan.ts';

const FINE = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}';
const FAILED = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}';
const REFUSED = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}';
const LARGE = `{"jsonrpc":"2.0","id":1,"result":{"content":["${'x'.repeat(600_000)}"],"isError":true}}`;
const frame = (data: string): string => `event: message\ndata: ${data}\n\n`;

describe('what an answer says of errors is noted', () => {
  let server: Awaited<ReturnType<typeof startReplyServer>>;
  const upstream = new FakeUpstream();
  let noted: Noted;

  beforeAll(async () => {
    server = await startReplyServer();
  });
  afterAll(() => server.close());

  async function start(changes: Partial<Plan> = {}): Promise<OpenReply & { exchange: Exchange }> {
    const opened = await server.open();
    noted = {};
    const exchange = new Exchange(testPlan({ upstream, reply: opened.reply, noted, ...changes }));
    exchange.start();
    return { ...opened, exchange };
  }

  const ANSWERS = [
    [FINE, undefined],
    [FAILED, 'tool_error'],
    [REFUSED, -32602],
    [LARGE, 'tool_error'],
  ] as const;

  test.each(ANSWERS)('when it is JSON: %.60s', async (text, failure) => {
    const { answer } = await start();
    upstream.last.json().data(text.slice(0, 50)).data(text.slice(50)).end();
    expect(await (await answer()).whole()).toBe(text);
    expect(noted).toEqual({ ...(failure && { failure }), upstreamMs: expect.any(Number) });
  });

  test.each(ANSWERS)('when it is an event among others: %.60s', async (text, failure) => {
    const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}';
    const events = frame(note) + frame(text);
    const looking: Partial<Plan>[] = [{}, { onStray: (one) => one }, { onResponse: (one) => one }];
    for (const changes of looking) {
      const { answer } = await start(changes);
      upstream.last.eventStream().data(events.slice(0, 30)).data(events.slice(30)).end();
      expect(await (await answer()).whole()).toBe(events);
      expect(noted).toEqual({ ...(failure && { failure }), isAnswered: true, upstreamMs: expect.any(Number) });
    }
  });

  test('and that it has come, after which the client may go', async () => {
    const note = frame('{"jsonrpc":"2.0","method":"notifications/message","params":{}}');
    const looking: Partial<Plan>[] = [{}, { onStray: (one) => one }, { onResponse: (one) => one }];
    for (const changes of looking) {
      for (const events of [note, note + frame(FINE)]) {
        const { answer, hangUp } = await start(changes);
        upstream.last.eventStream().data(events);
        await (await answer()).until(events.trim());
        await hangUp();
        expect(noted.isAnswered ?? false).toBe(events !== note);
      }
    }
  });

  test('as the client gets it, not as it came', async () => {
    const { answer } = await start({ onResponse: () => FAILED });
    upstream.last.json().data(FINE).end();
    await (await answer()).whole();
    expect(noted.failure).toBe('tool_error');
    const other = await start({ onResponse: () => FINE });
    upstream.last.eventStream().data(frame(FAILED)).end();
    await (await other.answer()).whole();
    expect(noted.failure).toBeUndefined();
  });

  test('for each call of a batch, together or one by one', async () => {
    const texts = [FAILED, '{"jsonrpc":"2.0","id":"b","result":{}}'];
    for (const whole of [true, false]) {
      const calls = [{ idText: '1' }, { idText: '"b"' }];
      const { answer } = await start({ idTexts: ['1', '"b"'], noted: { calls } });
      if (whole)
        upstream.last
          .json()
          .data(`[${texts.join(',')}]`)
          .end();
      else upstream.last.eventStream().data(texts.map(frame).join('')).end();
      await (await answer()).whole();
      expect(calls).toEqual([{ idText: '1', failure: 'tool_error' }, { idText: '"b"' }]);
    }
  });

  test('not of an answer that was dropped for another', async () => {
    const again: Plan['again'] = async () => ({ method: 'POST', session: undefined, headers: [], body: undefined });
    const { answer } = await start({ again });
    const first = upstream.last;
    first.json(404).data(REFUSED).end();
    while (upstream.last === first) await new Promise((resolve) => setImmediate(resolve));
    upstream.last.json().data(FINE).end();
    expect(await (await answer()).whole()).toBe(FINE);
    expect(noted).toEqual({ upstreamMs: expect.any(Number) });
  });

  test('and with it how long the upstream took, also when nothing came', async () => {
    const { answer, exchange } = await start();
    exchange.finish('cancelled');
    await (await answer()).whole();
    expect(noted.upstreamMs).toBeGreaterThanOrEqual(0);
    expect(noted.upstreamMs).toBeLessThan(10_000);
  });

  test('nowhere where nobody asks', async () => {
    const { answer } = await start({ noted: undefined });
    upstream.last.json().data(FAILED).end();
    expect(await (await answer()).whole()).toBe(FAILED);
    expect(noted).toEqual({});
  });
});
