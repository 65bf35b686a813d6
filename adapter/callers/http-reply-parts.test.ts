import { describe, expect, test, vi } from 'vitest';

import type { StreamedAnswer } from '../exchange/answers/answer.ts';
import type { Outcome } from '../path/ending.ts';
import type { HttpReply } from './http-reply.ts';
import { NOTIFICATION, frame, replyScene, settle } from './testing/reply-scene.ts';

const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"n":1}}';
const LIST_CHANGED = '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}';
const GET = { method: 'GET' } as const;

async function* partsOf(...parts: readonly (string | Buffer | Error)[]): AsyncGenerator<string | Buffer> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield part;
  }
}
const streamed = (...parts: readonly (string | Buffer | Error)[]): StreamedAnswer => ({
  bytes: undefined,
  parts: partsOf(...parts),
});
/** Parts that come when the test says so. */
function stepwise(): { answer: StreamedAnswer; give: (part: string) => void; end: () => void; isOver: () => boolean } {
  const parts: string[] = [];
  let wake = (): void => {};
  let [ended, over] = [false, false];
  async function* read(): AsyncGenerator<string> {
    try {
      for (;;) {
        const part = parts.shift();
        if (part !== undefined) yield part;
        else if (ended) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      over = true;
    }
  }
  return {
    answer: { bytes: undefined, parts: read() },
    give: (part) => {
      parts.push(part);
      wake();
    },
    end: () => {
      ended = true;
      wake();
    },
    isOver: () => over,
  };
}

describe('an answer in parts', () => {
  const at = replyScene();

  describe('to a JSON response', () => {
    test('says its length where it is known', async () => {
      const { answer } = await at.start({
        onResponse: () => ({ bytes: 9, parts: partsOf('{"é":', Buffer.from('1}'), '\n') }),
      });
      at.upstream.last.json().data(RESULT).end();
      const { status, headers, whole } = await answer();
      expect([status, headers['content-length'], await whole()]).toEqual([200, '9', '{"é":1}\n']);
      expect(headers).toMatchObject({ 'mcp-session-id': 'session-1', 'content-type': 'application/json' });
      expect(at.outcomes).toEqual(['ok']);
    });

    test('is chunked where its length is not known, and may come later', async () => {
      const { answer } = await at.start({ onResponse: async () => streamed('{"a":', '', '1}') });
      at.upstream.last.json().data(RESULT).end();
      const { headers, whole } = await answer();
      expect(headers).not.toHaveProperty('content-length');
      expect(await whole()).toBe('{"a":1}');
    });

    test('of no parts at all is empty', async () => {
      const { answer } = await at.start({ onResponse: () => ({ bytes: 0, parts: partsOf() }) });
      at.upstream.last.json().data(RESULT).end();
      const { headers, whole } = await answer();
      expect([headers['content-length'], await whole()]).toEqual(['0', '']);
    });

    test.each<[string, StreamedAnswer]>([
      ['fails in the middle', streamed('{"a":', new Error('the disk broke'))],
      ['fails in the middle although its length is known', { bytes: 8, parts: partsOf('{"a":', new Error('no')) }],
      ['is shorter than it was said to be', { bytes: 8, parts: partsOf('{"a":', '1}') }],
      ['is longer than it was said to be', { bytes: 6, parts: partsOf('{"a":', '1}') }],
    ])('that %s breaks the connection', async (_name, parts) => {
      const { answer } = await at.start({ onResponse: () => parts });
      at.upstream.last.json().data(RESULT).end();
      await expect(answer().then(({ whole }) => whole())).rejects.toThrow(/aborted|socket hang up/);
      expect(at.outcomes).toEqual(['internal']);
    });

    test('leaves its end behind until the end is noted', async () => {
      const noted = Promise.withResolvers<void>();
      const { answer } = await at.start({ onResponse: () => streamed('{"a":', '1}'), onFinish: () => noted.promise });
      at.upstream.last.json().data(RESULT).end();
      const got = await answer();
      await got.until('{"a":');
      await settle();
      expect(got.body()).toBe('{"a":');
      noted.resolve();
      expect(await got.whole()).toBe('{"a":1}');
    });

    test('comes no faster than the client takes it', async () => {
      let given = 0;
      async function* large(): AsyncGenerator<Buffer> {
        for (given = 0; given < 256; given++) yield Buffer.alloc(256 << 10, 0x61);
      }
      const { answer } = await at.start({ onResponse: () => ({ bytes: 64 << 20, parts: large() }) });
      at.upstream.last.json().data(RESULT).end();
      await vi.waitUntil(() => given > 1);
      await new Promise((resolve) => setTimeout(resolve, 100));
      // What a connection on this machine holds without a reader.
      expect(given).toBeLessThan(100);
      expect((await (await answer()).whole()).length).toBe(64 << 20);
    });

    test('is given up when the client goes away', async () => {
      const parts = stepwise();
      const { answer, hangUp } = await at.start({ onResponse: () => parts.answer });
      at.upstream.last.json().data(RESULT).end();
      parts.give('{"a":');
      parts.give('1');
      await (await answer()).until('{"a":');
      await hangUp();
      parts.give('}');
      await settle();
      expect([at.outcomes, parts.isOver()]).toEqual([['client_closed'], true]);
    });

    test('is not begun for a client that went away before', async () => {
      const later = Promise.withResolvers<StreamedAnswer>();
      const { hangUp } = await at.start({ onResponse: () => later.promise });
      at.upstream.last.json().data(RESULT).end();
      await hangUp();
      let isRead = false;
      async function* parts(): AsyncGenerator<string> {
        isRead = true;
        yield '1';
      }
      later.resolve({ bytes: 1, parts: parts() });
      await settle();
      expect([isRead, at.outcomes]).toEqual([false, ['client_closed']]);
    });

    test('has no time limit any more, and breaks when the process stops', async () => {
      const parts = stepwise();
      const { answer, reply } = await at.start({ timeoutMs: 30, onResponse: () => parts.answer });
      at.upstream.last.json().data(RESULT).end();
      parts.give('{"a":');
      parts.give('1');
      const got = await answer();
      await got.until('{"a":');
      await new Promise((resolve) => setTimeout(resolve, 60));
      expect(at.outcomes).toEqual([]);
      reply.endStream();
      await expect(got.whole()).rejects.toThrow('aborted');
      expect(at.outcomes).toEqual(['draining']);
    });
  });

  describe('on an event stream', () => {
    test('stands in the frame of the response, whose other lines stay', async () => {
      const { answer } = await at.start({ onResponse: () => streamed('{"a":\n', Buffer.from('[1,\n2]'), '}') });
      at.upstream.last
        .eventStream()
        .data(`${frame(NOTIFICATION)}event: message\nid: 7\ndata: ${RESULT}\n\n${frame(NOTIFICATION)}`)
        .end();
      expect(await (await answer()).whole()).toBe(
        `${frame(NOTIFICATION)}event: message\nid: 7\ndata: {"a":\ndata: [1,\ndata: 2]}\n\n${frame(NOTIFICATION)}`,
      );
      expect(at.outcomes).toEqual(['ok']);
    });

    test('waits with its head where the head depends on it', async () => {
      const { answer } = await at.start({ deferHeaders: true, onResponse: async () => streamed('{', '}') });
      at.upstream.last
        .eventStream()
        .data(frame(NOTIFICATION) + frame(RESULT))
        .end();
      expect(await (await answer()).whole()).toBe(frame(NOTIFICATION) + frame('{}'));
    });

    test('keeps the end of its frame back until all is answered', async () => {
      const answered = Promise.withResolvers<void>();
      const { answer } = await at.start({ onResponse: () => streamed('{', '}'), onAnswered: () => answered.promise });
      at.upstream.last.eventStream().data(frame(RESULT));
      const got = await answer();
      await got.until('data: {');
      await settle();
      expect(got.body()).toBe('event: message\ndata: {');
      answered.resolve();
      await got.until('{}\n\n');
      at.upstream.last.end();
      await got.whole();
    });

    test('lets nothing in between: no sign of life, no later frame', async () => {
      const parts = stepwise();
      const { answer, reply } = await at.start({ onResponse: () => parts.answer });
      at.upstream.last.eventStream().data(frame(RESULT) + frame(NOTIFICATION));
      parts.give('{');
      parts.give('"a":1');
      const got = await answer();
      await got.until('data: {');
      reply.keepAlive();
      reply.keepAlive();
      expect(at.upstream.last.paused).toBe(true);
      parts.give('}');
      parts.end();
      await got.until(frame(NOTIFICATION));
      at.upstream.last.end();
      expect(await got.whole()).toBe(frame('{"a":1}') + frame(NOTIFICATION));
    });

    test.each<[string, (reply: HttpReply, fail: () => void) => void, Outcome]>([
      ['a part fails', (_exchange, fail) => fail(), 'internal'],
      ['its session ends', (reply) => reply.finish('session_ended'), 'session_ended'],
      ['the process stops', (reply) => reply.endStream(), 'draining'],
    ])('breaks the connection when %s, even where it could be resumed', async (_name, end, outcome) => {
      const broken = Promise.withResolvers<string>();
      broken.promise.catch(() => undefined);
      async function* parts(): AsyncGenerator<string> {
        yield '{"half":';
        yield '1';
        yield await broken.promise;
      }
      const { answer, reply } = await at.start({ onResponse: () => ({ bytes: undefined, parts: parts() }) });
      at.upstream.last.eventStream().data(`id: 3\ndata: ${RESULT}\n\n`);
      const got = await answer();
      await got.until('{"half":');
      end(reply, () => broken.reject(new Error('the disk broke')));
      await expect(got.whole()).rejects.toThrow('aborted');
      broken.resolve('');
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([[outcome], true]);
    });
  });

  describe('a message of the adapter itself', () => {
    test('goes into an open event stream at once', async () => {
      const { answer, reply } = await at.start(GET);
      at.upstream.last.eventStream();
      const got = await answer();
      expect(reply.notify(LIST_CHANGED)).toBe(true);
      await got.until(LIST_CHANGED);
      at.upstream.last.end();
      expect(await got.whole()).toBe(frame(LIST_CHANGED));
    });

    test('waits until a frame is over, and is said once', async () => {
      const { answer, reply } = await at.start({});
      const whole = frame(`{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(400_000)}"}`);
      at.upstream.last.eventStream().data(whole.slice(0, 300_000));
      const got = await answer();
      await got.until(whole.slice(0, 300_000));
      reply.notify(LIST_CHANGED);
      reply.notify(LIST_CHANGED);
      at.upstream.last.data(whole.slice(300_000, -1));
      await settle();
      at.upstream.last.data(whole.slice(-1));
      await got.until(LIST_CHANGED);
      at.upstream.last.data(frame(NOTIFICATION)).end();
      expect((await got.whole()) === whole + frame(LIST_CHANGED) + frame(NOTIFICATION)).toBe(true);
    });

    test('goes before a frame of which nothing has left', async () => {
      const { answer, reply } = await at.start({ ...GET, onResponse: (text: string) => text });
      at.upstream.last.eventStream().data(frame(NOTIFICATION).slice(0, 20));
      const got = await answer();
      reply.notify(LIST_CHANGED);
      at.upstream.last.data(frame(NOTIFICATION).slice(20)).end();
      expect(await got.whole()).toBe(frame(LIST_CHANGED) + frame(NOTIFICATION));
    });

    test('waits for the head of the stream, and for nothing after its end', async () => {
      const { answer, reply } = await at.start(GET);
      expect(reply.notify(LIST_CHANGED)).toBe(true);
      at.upstream.last.eventStream();
      const got = await answer();
      await got.until(LIST_CHANGED);
      at.upstream.last.end();
      await got.whole();
      expect(reply.notify(LIST_CHANGED)).toBe(false);
    });

    test('has no place in an answer that is no event stream', async () => {
      const { answer, reply } = await at.start({ onResponse: async () => streamed('{', '}') });
      at.upstream.last.json();
      expect(reply.notify(LIST_CHANGED)).toBe(false);
      at.upstream.last.data(RESULT).end();
      expect(await (await answer()).whole()).toBe('{}');
    });
  });
});
