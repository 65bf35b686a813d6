import { describe, expect, test } from 'vitest';

import { frame, replyScene, type Started } from '../callers/testing/reply-scene.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import type { Changes } from '../callers/testing/start-reply.ts';

const FINE = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}';
const FAILED = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}';
const REFUSED = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}';
const LARGE = `{"jsonrpc":"2.0","id":1,"result":{"content":["${'x'.repeat(600_000)}"],"isError":true}}`;

describe('what an answer says of errors is noted', () => {
  const at = replyScene({ operations: 20 });
  let attributes: Partial<RequestAttributes>;
  const noted = (): Partial<RequestAttributes> => {
    const { requestId: _, outcome: __, ...rest } = attributes;
    return rest;
  };

  async function start(changes: Changes = {}): Promise<Started> {
    attributes = {};
    return at.start({ noted: attributes, ...changes });
  }

  const ANSWERS = [
    [FINE, undefined],
    [FAILED, 'tool_error'],
    [REFUSED, -32602],
    [LARGE, 'tool_error'],
  ] as const;

  test.each(ANSWERS)('when it is JSON: %.60s', async (text, failure) => {
    const { answer } = await start();
    at.upstream.last.json().data(text.slice(0, 50)).data(text.slice(50)).end();
    expect(await (await answer()).whole()).toBe(text);
    expect(noted()).toEqual({ ...(failure && { failure }), upstreamMs: expect.any(Number) });
  });

  test.each(ANSWERS)('when it is an event among others: %.60s', async (text, failure) => {
    const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}';
    const events = frame(note) + frame(text);
    const looking: Changes[] = [{}, { onUnsolicited: (one) => one }, { onResponse: (one) => one }];
    for (const changes of looking) {
      const { answer } = await start(changes);
      at.upstream.last.eventStream().data(events.slice(0, 30)).data(events.slice(30)).end();
      expect(await (await answer()).whole()).toBe(events);
      expect(noted()).toEqual({ ...(failure && { failure }), isAnswered: true, upstreamMs: expect.any(Number) });
    }
  });

  test('and that it has come, after which the client may go', async () => {
    const note = frame('{"jsonrpc":"2.0","method":"notifications/message","params":{}}');
    const looking: Changes[] = [{}, { onUnsolicited: (one) => one }, { onResponse: (one) => one }];
    for (const changes of looking) {
      for (const events of [note, note + frame(FINE)]) {
        const { answer, hangUp } = await start(changes);
        at.upstream.last.eventStream().data(events);
        await (await answer()).until(events.trim());
        await hangUp();
        expect(attributes.isAnswered ?? false).toBe(events !== note);
      }
    }
  });

  test('as the client gets it, not as it came', async () => {
    const { answer } = await start({ onResponse: () => FAILED });
    at.upstream.last.json().data(FINE).end();
    await (await answer()).whole();
    expect(attributes.failure).toBe('tool_error');
    const other = await start({ onResponse: () => FINE });
    at.upstream.last.eventStream().data(frame(FAILED)).end();
    await (await other.answer()).whole();
    expect(attributes.failure).toBeUndefined();
  });

  test('for each call of a batch, together or one by one', async () => {
    const texts = [FAILED, '{"jsonrpc":"2.0","id":"b","result":{}}'];
    for (const whole of [true, false]) {
      const calls = [
        { tool: 't', idText: '1' },
        { tool: 't', idText: '"b"' },
      ];
      const { answer } = await start({ inSession: true, idTexts: ['1', '"b"'], noted: { calls } });
      if (whole)
        at.upstream.last
          .json()
          .data(`[${texts.join(',')}]`)
          .end();
      else
        at.upstream.last
          .eventStream()
          .data(texts.map((text) => frame(text)).join(''))
          .end();
      await (await answer()).whole();
      expect(calls).toEqual([
        { tool: 't', idText: '1', failure: 'tool_error' },
        { tool: 't', idText: '"b"' },
      ]);
    }
  });

  test('not of an answer that was dropped for another', async () => {
    const { answer } = await start({ again: async () => undefined });
    const first = at.upstream.last;
    first.json(404).data(REFUSED).end();
    while (at.upstream.last === first) await new Promise((resolve) => setImmediate(resolve));
    at.upstream.last.json().data(FINE).end();
    expect(await (await answer()).whole()).toBe(FINE);
    expect(noted()).toEqual({ upstreamMs: expect.any(Number) });
  });

  test('and with it how long the upstream took, also when nothing came', async () => {
    const { answer, reply } = await start();
    reply.finish('cancelled');
    await (await answer()).whole();
    expect(attributes.upstreamMs).toBeGreaterThanOrEqual(0);
    expect(attributes.upstreamMs).toBeLessThan(10_000);
  });

  test('nowhere where nobody asks', async () => {
    const { answer } = await start({ noted: undefined });
    at.upstream.last.json().data(FAILED).end();
    expect(await (await answer()).whole()).toBe(FAILED);
    expect(noted()).toEqual({});
  });
});
