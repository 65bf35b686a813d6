import { describe, expect, onTestFinished, test, vi } from 'vitest';

import { NOTIFICATION, RESULT, frame, messagesIn, replyScene, settle } from '../callers/testing/reply-scene.ts';
import type { FakeExchange } from '../exchange/testing/fake-upstream.ts';
import { AdapterError } from '../errors.ts';
import { AFTER_LIMIT_MS } from '../limits.ts';
import { type Ending, failed } from '../path/ending.ts';
import { ParkedTime } from '../path/parked-time.ts';
import { RecordingReply, sampleOperation } from './testing/step-scene.ts';
import { TimeLimit } from './time-limit.ts';

describe('an operation', () => {
  const at = replyScene();

  describe('whose time is over', () => {
    test('O20 T22: ends a GET that has no head yet as a stream that is over, on a connection that is, too', async () => {
      const { reply, answer } = await at.start({ method: 'GET', lastEventId: '7' });
      reply.endStream();
      const got = await answer();
      expect([got.status, got.headers['content-type'], got.headers.connection, await got.whole()]).toEqual([
        200,
        'text/event-stream',
        'close',
        'id: 7\ndata: \n\n',
      ]);
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['ok'], true]);
    });

    test.each<[string, (one: FakeExchange) => void]>([
      ['before the head', () => {}],
      ['while a small answer comes', (one) => void one.json().data(RESULT.slice(0, 10))],
      ['while a 400 is read', (one) => void one.json(400).data('{')],
      ['while the head is held', (one) => void one.eventStream().data(frame(NOTIFICATION))],
    ])('answers as the plan says: %s', async (_name, proceed) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { answer } = await at.start({
        timeoutMs: 60_000,
        onTimeout: () => '{"timeout":1}',
        onResponse: (text) => text,
        deferHeaders: true,
        again: () => Promise.reject(new Error('not to be called')),
      });
      proceed(at.upstream.last);
      vi.advanceTimersByTime(59_999);
      expect(at.outcomes).toEqual([]);
      vi.advanceTimersByTime(1);
      const got = await answer();
      expect([got.status, got.headers['mcp-session-id'], await got.whole()]).toEqual([
        200,
        'session-1',
        '{"timeout":1}',
      ]);
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['timeout'], true]);
    });

    test.each([
      ['after whole frames', frame(NOTIFICATION), ''],
      ['inside a large frame', `data: {"id":1,"result":"${'x'.repeat(300_000)}`, '\n\n'],
    ])('says so on the stream, %s', async (_name, sent, closing) => {
      const { answer } = await at.start({ timeoutMs: 30 });
      at.upstream.last.eventStream().data(sent);
      const got = await answer();
      const text = await got.whole();
      expect(
        text.startsWith(`${sent}${closing}event: message\ndata: {"jsonrpc":"2.0","id":1,"error":{"code":504`),
      ).toBe(true);
      expect(text.endsWith('}\n\n')).toBe(true);
      expect(at.outcomes).toEqual(['upstream_timeout']);
    });

    test('answers every request of a batch', async () => {
      const { answer } = await at.start({ timeoutMs: 5, idTexts: ['1', '"b"'] });
      const got = await answer();
      const errors: { id: unknown }[] = JSON.parse(await got.whole());
      expect([got.status, errors.map(({ id }) => id)]).toEqual([504, [1, 'b']]);
    });

    test('tells only what is unanswered, and cancels nothing else', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const asked: (readonly string[])[] = [];
      const onTimeout = (unanswered: readonly string[]): AdapterError => {
        asked.push(unanswered);
        return new AdapterError('upstream_timeout');
      };
      const { answer } = await at.start({
        timeoutMs: 1000,
        onTimeout,
        idTexts: ['1', '2'],
        onResponse: (text) => text,
      });
      at.upstream.last.eventStream().data(frame(RESULT));
      await settle();
      vi.advanceTimersByTime(1000);
      expect(messagesIn(await (await answer()).whole())).toMatchObject([
        { id: 1, result: {} },
        { id: 2, error: { data: { code: 'upstream_timeout' } } },
      ]);
      expect([asked, at.outcomes]).toEqual([[['2']], ['upstream_timeout']]);
    });

    test('just ends a stream that stays open behind its response', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const onTimeout = (): never => expect.unreachable();
      const { answer } = await at.start({ timeoutMs: 1000, onTimeout, onResponse: (text) => text });
      at.upstream.last.eventStream().data(frame(RESULT));
      await settle();
      vi.advanceTimersByTime(1000);
      expect(await (await answer()).whole()).toBe(frame(RESULT));
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['ok'], true]);
    });

    test.each<[string, (one: FakeExchange) => void]>([
      ['a body', (one) => one.json().data(RESULT).end()],
      ['a stream', (one) => void one.eventStream().data(frame(RESULT))],
    ])('leaves time for what is made of a response that came before: %s', async (_name, proceed) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const made = Promise.withResolvers<string>();
      const onTimeout = (): never => expect.unreachable();
      const { answer } = await at.start({ timeoutMs: 1000, onTimeout, onResponse: () => made.promise });
      proceed(at.upstream.last);
      await settle();
      vi.advanceTimersByTime(1000 + AFTER_LIMIT_MS - 1);
      made.resolve(RESULT);
      await settle();
      at.upstream.last.end();
      expect(await (await answer()).whole()).toContain(RESULT);
      expect(at.outcomes).toEqual(['ok']);
    });

    test('says so when the response is looked at for too long', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { answer } = await at.start({ timeoutMs: 1000, onResponse: () => new Promise(() => {}) });
      at.upstream.last.eventStream().data(frame(RESULT));
      await settle();
      vi.advanceTimersByTime(1000 + AFTER_LIMIT_MS - 1);
      expect(at.outcomes).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(messagesIn(await (await answer()).whole())).toMatchObject([
        { id: 1, error: { data: { code: 'upstream_timeout' } } },
      ]);
    });

    test('has no time limit when it is null, and none after the end', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { answer } = await at.start();
      vi.advanceTimersByTime(2 ** 31);
      at.upstream.last.json().data(RESULT).end();
      await (await answer()).whole();
      await at.start({ timeoutMs: 1000 });
      at.upstream.last.json().data(RESULT).end();
      expect(vi.getTimerCount()).toBe(0);
      at.outcomes = [];
    });
  });
});

test('the time in which a client answers questions does not count', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const operation = sampleOperation({ id: 1, method: 'tools/call' }, { timeoutMs: 60_000 });
  const parked = new ParkedTime();
  operation.parked = parked;
  const reply = new RecordingReply();
  const late = failed(new AdapterError('upstream_timeout'));
  const abort = vi.fn<(ending: Ending) => void>();
  new TimeLimit(() => late).send(operation, reply, (_operation, timed) => {
    timed.start({ pause: () => {}, resume: () => {}, abort });
  });
  vi.advanceTimersByTime(10_000);
  parked.begin();
  // An answer that comes when the limit is nearly over, and one that takes longer.
  vi.advanceTimersByTime(49_900);
  parked.end();
  vi.advanceTimersByTime(20_000);
  parked.begin();
  vi.advanceTimersByTime(300_000);
  parked.end();
  vi.advanceTimersByTime(29_900);
  expect(abort).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1_100);
  expect(abort).toHaveBeenCalledExactlyOnceWith(late);
});
