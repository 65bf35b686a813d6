import { describe, expect, test, vi } from 'vitest';

import { NOTIFICATION, RESULT, errorOf, frame, messagesIn, replyScene, settle } from './testing/reply-scene.ts';
import { type Changes, startReply } from './testing/start-reply.ts';
import type { FakeExchange } from '../exchange/testing/fake-upstream.ts';

describe('a reply', () => {
  const at = replyScene();

  describe('whose upstream breaks', () => {
    test.each<[string, boolean, string]>([
      ['before it was reached', false, 'upstream_unreachable'],
      ['after it was reached', true, 'upstream_failed'],
    ])('answers 502: %s', async (_name, sent, code) => {
      const { answer } = await at.start();
      at.upstream.last.fail(sent);
      const got = await answer();
      expect(got.status).toBe(502);
      expect(errorOf(await got.whole())).toMatchObject({ code: 502, data: { code } });
      expect(at.outcomes).toEqual(['upstream_broke']);
    });

    test.each<[string, Changes, (one: FakeExchange) => void]>([
      ['a small answer', {}, (one) => void one.json().data(RESULT.slice(0, 10))],
      ['a 400', { again: () => Promise.reject(new Error('not to be called')) }, (one) => void one.json(400).data('{')],
      [
        'a held head',
        { deferHeaders: true, onResponse: (text) => text },
        (one) => void one.eventStream().data(frame(NOTIFICATION)),
      ],
    ])('answers 502 in the middle of %s', async (_name, changes, proceed) => {
      const { answer } = await at.start(changes);
      proceed(at.upstream.last);
      at.upstream.last.fail(true);
      const got = await answer();
      expect([got.status, errorOf(await got.whole())]).toMatchObject([502, { data: { code: 'upstream_failed' } }]);
      expect(at.outcomes).toEqual(['upstream_broke']);
    });

    test('says so on the stream, for a client that cannot resume it', async () => {
      for (const onResponse of [undefined, (text: string) => text]) {
        at.outcomes = [];
        const { answer } = await at.start({ onResponse });
        at.upstream.last.eventStream().data(frame(NOTIFICATION));
        await settle();
        at.upstream.last.fail(true);
        const text = await (await answer()).whole();
        expect(text.startsWith(frame(NOTIFICATION))).toBe(true);
        expect(text).toContain('"id":1,"error":{"code":502');
        expect(at.outcomes).toEqual(['upstream_broke']);
      }
    });

    test.each<[string, Changes, string]>([
      ['it can resume', {}, frame(NOTIFICATION, '7')],
      ['it can resume by an event without a message', {}, 'id: 7\ndata:\n\n'],
      ['it can resume, and frames are read', { onResponse: (text) => text }, frame(NOTIFICATION, '7')],
      ['has brought its response', { onResponse: (text) => text }, frame(RESULT)],
      ['answers nothing', { idTexts: [] }, frame(NOTIFICATION)],
    ])('just ends a stream that %s', async (_name, changes, sent) => {
      const { answer } = await at.start(changes);
      at.upstream.last.eventStream().data(sent);
      await settle();
      at.upstream.last.fail(true);
      expect(await (await answer()).whole()).toBe(sent);
      expect(at.outcomes).toEqual(['upstream_broke']);
    });

    test('answers 503 when it was the state store that broke', async () => {
      const { answer } = await at.start();
      at.upstream.last.fail(true, Object.assign(new Error('down'), { name: 'StoreUnavailable' }));
      const got = await answer();
      expect([got.status, got.headers['retry-after']]).toEqual([503, '5']);
      expect(await got.whole()).toContain('state_unavailable');
    });
  });

  describe('whose client goes away', () => {
    test.each<[string, Changes, (one: FakeExchange) => void]>([
      ['before the head', {}, () => {}],
      ['during a small answer', {}, (one) => void one.json().data('{')],
      ['during a large answer', {}, (one) => void one.json().data(`{"id":1,"result":"${'x'.repeat(300_000)}`)],
      ['during a stream', {}, (one) => void one.eventStream().data(frame(NOTIFICATION))],
      [
        'during a stream that is read',
        { onResponse: (text) => text },
        (one) => void one.eventStream().data(frame(NOTIFICATION)),
      ],
      [
        'while the response is looked at',
        { deferHeaders: true, onResponse: () => new Promise(() => {}) },
        (one) => void one.eventStream().data(frame(RESULT)),
      ],
    ])('gives the upstream up and tells so once: %s', async (_name, changes, proceed) => {
      const { hangUp, reply } = await at.start(changes);
      proceed(at.upstream.last);
      await settle();
      await hangUp();
      expect([at.outcomes, at.upstream.last.aborted, at.running.all()]).toEqual([['client_closed'], true, []]);
      reply.finish('cancelled');
      reply.endStream();
      reply.keepAlive();
      expect(at.outcomes).toEqual(['client_closed']);
    });

    test('is over at once when it had gone before', async () => {
      const { res, hangUp } = await at.start();
      await hangUp();
      at.outcomes.length = 0;
      const asked = at.upstream.exchanges.length;
      startReply(at.upstream, res, {
        running: at.running,
        onFinish: (outcome) => void at.outcomes.push(outcome),
      });
      expect([at.outcomes, at.running.all(), at.upstream.exchanges.length]).toEqual([['client_closed'], [], asked]);
    });
  });

  describe('whose client is slow', () => {
    const huge = Buffer.concat([Buffer.from('{"id":1,"result":"'), Buffer.alloc(32 << 20, 'x')]);

    test.each<[string, (one: FakeExchange) => void]>([
      ['a stream', (one) => void one.eventStream().data('data:')],
      ['a large answer', (one) => void one.json()],
    ])('stops the upstream until %s has left', async (_name, proceed) => {
      const { answer } = await at.start();
      proceed(at.upstream.last);
      at.upstream.last.data(huge);
      expect([at.upstream.last.pauses, at.upstream.last.resumes]).toEqual([1, 0]);
      // More that was on its way is kept, and holds the upstream no second time.
      at.upstream.last.data('tail');
      await settle();
      expect([at.upstream.last.pauses, at.upstream.last.resumes]).toEqual([1, 0]);
      const got = await answer();
      await got.until('tail');
      await vi.waitFor(() => expect(at.upstream.last.resumes).toBe(1));
      at.upstream.last.data(' and end"}\n\n').end();
      expect((await got.whole()).endsWith('xtail and end"}\n\n')).toBe(true);
      expect(at.upstream.last.paused).toBe(false);
    });

    test('is held once for both reasons, and goes on when both are over', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { answer } = await at.start({ onListChanged: () => promise });
      at.upstream.last.eventStream().data('data:').data(huge);
      at.upstream.last.data(`"}\n\n${frame('{"method":"notifications/tools/list_changed"}')}`);
      expect([at.upstream.last.pauses, at.upstream.last.resumes]).toEqual([1, 0]);
      resolve();
      await settle();
      expect(at.upstream.last.resumes).toBe(0);
      const got = await answer();
      await got.until('list_changed');
      await vi.waitFor(() => expect([at.upstream.last.pauses, at.upstream.last.resumes]).toEqual([1, 1]));
    });
  });

  describe('that is quiet', () => {
    test('says that it lives, between frames only, and not when it said something just now', async () => {
      const { answer, reply } = await at.start();
      at.upstream.last.eventStream();
      reply.keepAlive();
      const large = `data: {"id":1,"result":"${'x'.repeat(300_000)}`;
      at.upstream.last.data(frame(NOTIFICATION));
      reply.keepAlive();
      reply.keepAlive();
      at.upstream.last.data(large);
      const got = await answer();
      await got.until(large);
      await vi.waitFor(() => expect(at.upstream.last.paused).toBe(false));
      reply.keepAlive();
      reply.keepAlive();
      at.upstream.last.data('"}\r');
      reply.keepAlive();
      reply.keepAlive();
      at.upstream.last.data('\n\r\n');
      reply.keepAlive();
      reply.keepAlive();
      at.upstream.last.end();
      reply.keepAlive();
      const alive = ': keepalive\n\n';
      expect(await got.whole()).toBe(`${alive}${frame(NOTIFICATION)}${alive}${large}"}\n\n${alive}`);
    });

    test('is known to the timer for as long as its stream is open', async () => {
      const added = vi.spyOn(at.keepAlive, 'add');
      const deleted = vi.spyOn(at.keepAlive, 'delete');
      const stream = await at.start();
      expect(added).not.toHaveBeenCalled();
      at.upstream.last.eventStream();
      expect(added).toHaveBeenCalledExactlyOnceWith(stream.reply);
      at.upstream.last.end();
      expect(deleted).toHaveBeenCalledExactlyOnceWith(stream.reply);
      vi.restoreAllMocks();
    });
  });

  describe('that is ended from outside', () => {
    test('answers with the error, before and after the head', async () => {
      const early = await at.start();
      early.reply.finish('session_ended');
      const got = await early.answer();
      expect([got.status, errorOf(await got.whole())]).toMatchObject([404, { code: -32001 }]);
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['session_ended'], true]);
      at.outcomes = [];
      const late = await at.start();
      at.upstream.last.eventStream().data(frame(NOTIFICATION));
      late.reply.finish('cancelled');
      late.reply.finish('cancelled');
      expect(await (await late.answer()).whole()).toContain('"id":1,"error":{"code":-32800');
      expect(at.outcomes).toEqual(['cancelled']);
    });

    test('answers nothing twice', async () => {
      for (const idTexts of [['1'], ['1', '2', '3']]) {
        at.outcomes = [];
        const { reply, answer } = await at.start({ idTexts, onResponse: (text) => text });
        at.upstream.last.eventStream().data(frame(RESULT));
        await settle();
        reply.finish('session_ended');
        const got = await (await answer()).whole();
        expect(got.startsWith(frame(RESULT))).toBe(true);
        const errors = messagesIn(got.slice(frame(RESULT).length)).flat();
        expect(errors).toMatchObject(idTexts.slice(1).map((id) => ({ id: Number(id), error: {} })));
        expect(at.outcomes).toEqual([errors.length === 0 ? 'ok' : 'session_ended']);
      }
    });

    test('by a cancellation only when nothing else is awaited, after a grace', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { reply, answer } = await at.start({ idTexts: ['1', '2', '3'], onResponse: (text) => text });
      at.upstream.last.eventStream();
      reply.cancel('2', 5000);
      vi.advanceTimersByTime(5000);
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([[], false]);
      at.upstream.last.data(frame(RESULT));
      await settle();
      reply.cancel('3', 5000);
      vi.advanceTimersByTime(4999);
      expect(at.outcomes).toEqual([]);
      vi.advanceTimersByTime(1);
      const [first, ...others] = messagesIn(await (await answer()).whole()).flat();
      expect(first).toMatchObject({ id: 1, result: {} });
      expect(others).toMatchObject([2, 3].map((id) => ({ id, error: { data: { code: 'cancelled' } } })));
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['cancelled'], true]);
    });

    test('by its upstream, unanswered, when it was cancelled', async () => {
      const { reply, answer } = await at.start({ onResponse: (text) => text });
      at.upstream.last.eventStream().data(frame(NOTIFICATION));
      reply.cancel('1', 5000);
      at.upstream.last.end();
      expect(await (await answer()).whole()).toBe(frame(NOTIFICATION));
      expect(at.outcomes).toEqual(['ok']);
    });

    test.each<[string, Changes, string]>([
      ['a GET', { idTexts: [] }, frame(NOTIFICATION)],
      ['a stream that can be resumed', {}, frame(NOTIFICATION, '7')],
    ])('just ends %s', async (_name, changes, sent) => {
      const { reply, answer } = await at.start(changes);
      at.upstream.last.eventStream().data(sent);
      reply.endStream();
      expect(await (await answer()).whole()).toBe(sent);
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['ok'], true]);
    });

    test.each<[string, (one: FakeExchange) => void]>([
      ['before the head', () => {}],
      ['on its stream', (one) => void one.eventStream().data(frame(NOTIFICATION))],
    ])('tells a request that will have no answer: %s', async (_name, proceed) => {
      const { reply, answer } = await at.start();
      proceed(at.upstream.last);
      reply.endStream();
      expect(await (await answer()).whole()).toContain('"id":1,"error":{"code":503');
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['draining'], true]);
    });
  });

  test('lets its last byte leave only when the end has been noted', async () => {
    const ways: [string, Changes, (one: FakeExchange) => void][] = [
      ['whole', {}, (one) => one.json().data(RESULT).end()],
      ['stream', {}, (one) => one.eventStream().data(frame(RESULT)).end()],
      ['error', {}, (one) => one.fail(true)],
    ];
    for (const [name, changes, proceed] of ways) {
      at.outcomes = [];
      const { promise, resolve } = Promise.withResolvers<void>();
      const { res, answer } = await at.start({ ...changes, onFinish: () => promise });
      proceed(at.upstream.last);
      await settle();
      expect([name, res.writableEnded]).toEqual([name, false]);
      resolve();
      await (await answer()).whole();
    }
  });

  test('is running from its start to its end', async () => {
    const { reply, answer } = await at.start();
    expect(at.running.of('s1', 'session-1')).toEqual([reply]);
    expect([reply.id, reply.isGet, reply.idTexts]).toEqual(['', false, ['1']]);
    at.upstream.last.json().data(RESULT).end();
    await (await answer()).whole();
    expect(at.running.all()).toEqual([]);
  });
});
