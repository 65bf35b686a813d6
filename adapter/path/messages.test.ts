import { describe, expect, test } from 'vitest';

import {
  NOTIFICATION,
  RESULT,
  errorOf,
  frame,
  messagesIn,
  replyScene,
  type Started,
  settle,
} from '../callers/testing/reply-scene.ts';
import type { Changes } from '../callers/testing/start-reply.ts';
import type { FakeExchange } from '../exchange/testing/fake-upstream.ts';
import { AdapterError } from '../errors.ts';

const HTML = '<html>Sign in</html>';

describe('the answer of an upstream', () => {
  const at = replyScene();

  describe('with a small answer', () => {
    test('passes its bytes and says how many there are', async () => {
      const { answer } = await at.start();
      at.upstream.last
        .json(200, { 'set-cookie': 'a=b', server: 'x' })
        .data(RESULT.slice(0, 20))
        .data(RESULT.slice(20))
        .end();
      const { status, headers, whole } = await answer();
      expect([status, await whole()]).toEqual([200, RESULT]);
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'content-length': String(RESULT.length),
        'mcp-session-id': 'session-1',
      });
      expect(headers).not.toHaveProperty('set-cookie');
      expect(headers).not.toHaveProperty('server');
      expect(at.outcomes).toEqual(['ok']);
    });

    test.each([
      ['a single chunk', ['é😀'.repeat(10)]],
      ['many chunks, one of them inside a character', ['\u{1f600}']],
    ])('of characters outside ASCII passes as it is: %s', async (_name, texts) => {
      const { answer } = await at.start();
      const bytes = Buffer.from(`{"id":1,"result":"${texts.join('')}"}`);
      at.upstream.last.json().data(bytes.subarray(0, 19)).data(bytes.subarray(19)).end();
      expect(await (await answer()).whole()).toBe(bytes.toString());
    });

    test('passes a JSON error with its status, and what the client needs to know of the headers', async () => {
      const { answer } = await at.start();
      const text = '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}';
      at.upstream.last
        .json(429, { 'retry-after': '7', 'www-authenticate': 'Bearer', 'set-cookie': 'a' })
        .data(text)
        .end();
      const { status, headers, whole } = await answer();
      expect([status, await whole()]).toEqual([429, text]);
      expect(headers).toMatchObject({ 'retry-after': '7' });
      // A challenge goes with 401 and 403 only.
      expect(headers).not.toHaveProperty('www-authenticate');
      expect(at.outcomes).toEqual(['upstream_failed']);
    });

    test('to a notification passes an empty 202', async () => {
      const { answer } = await at.start({ idTexts: [] });
      at.upstream.last.head(202).end();
      const { status, headers, whole } = await answer();
      expect([status, headers['content-length'], await whole()]).toEqual([202, '0', '']);
    });
  });

  describe('with an answer that is no message', () => {
    test.each([
      [400, 400],
      [401, 401],
      [403, 403],
      [404, 502],
      [405, 405],
      [410, 502],
      [429, 429],
      [500, 502],
      [502, 502],
      [503, 503],
      [504, 502],
    ])('HTTP %i becomes %i with an error for the request', async (status, expected) => {
      const { answer } = await at.start();
      at.upstream.last.head(status, { 'content-type': 'text/html' }).data(HTML).end();
      const got = await answer();
      const text = await got.whole();
      expect(got.status).toBe(expected);
      expect(got.headers['content-type']).toBe('application/json');
      expect(JSON.parse(text)).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: 502,
          message: `The upstream server answered with HTTP ${status}.`,
          data: { code: 'upstream_failed' },
        },
      });
      expect(at.upstream.last.aborted).toBe(true);
      expect(at.outcomes).toEqual(['upstream_failed']);
    });

    test.each([
      ['a page instead of a result', { idTexts: ['1'] }, 200],
      [
        'a page instead of an event stream',
        {
          method: 'GET' as const,
        },
        200,
      ],
    ])('%s becomes 502', async (_name, changes, status) => {
      const { answer } = await at.start(changes);
      at.upstream.last.head(status, { 'content-type': 'text/html' }).data(HTML.repeat(10_000)).end();
      const got = await answer();
      expect(got.status).toBe(502);
      expect(await got.whole()).toContain('content of the type text/html');
    });

    test('a text that acknowledges a notification passes', async () => {
      const { answer } = await at.start({ idTexts: [] });
      at.upstream.last.head(202, { 'content-type': 'text/plain' }).data('Accepted').end();
      const { status, whole } = await answer();
      expect([status, await whole()]).toEqual([202, 'Accepted']);
    });
  });

  describe('with a large answer', () => {
    const large = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(600_000)}"}`;

    test('passes it on while it comes', async () => {
      const { answer } = await at.start();
      at.upstream.last.json(200, { 'content-length': String(large.length) }).data(large.slice(0, 300_000));
      const got = await answer();
      expect(got.headers['content-length']).toBe(String(large.length));
      await got.until('x'.repeat(90_000));
      at.upstream.last.data(large.slice(300_000)).end();
      expect(await got.whole()).toBe(large);
      expect(at.outcomes).toEqual(['ok']);
    });

    test('collects it when somebody wants to see it', async () => {
      const seen: string[] = [];
      const { answer } = await at.start({
        onResponse: (text) => {
          seen.push(text);
          return RESULT;
        },
      });
      at.upstream.last.json(200, { 'content-length': String(large.length) });
      for (let i = 0; i < large.length; i += 50_000) at.upstream.last.data(large.slice(i, i + 50_000));
      at.upstream.last.end();
      const got = await answer();
      expect([await got.whole(), got.headers['content-length']]).toEqual([RESULT, String(RESULT.length)]);
      expect(seen).toEqual([large]);
    });

    test('breaks the connection when it breaks, so that half an answer is no answer', async () => {
      const { answer } = await at.start();
      at.upstream.last.json().data(large.slice(0, 300_000));
      const got = await answer();
      at.upstream.last.fail(true);
      await expect(got.whole()).rejects.toThrow('aborted');
      expect(at.outcomes).toEqual(['upstream_broke']);
    });

    test('breaks the connection when the time is over', async () => {
      const { answer, reply } = await at.start({ timeoutMs: 30 });
      at.upstream.last.json(200, { 'content-length': String(large.length) }).data(large.slice(0, 300_000));
      const got = await answer();
      await expect(got.whole()).rejects.toThrow('aborted');
      expect([at.outcomes, at.upstream.last.aborted]).toEqual([['upstream_timeout'], true]);
      reply.endStream();
    });

    test('that answers nothing breaks the connection too', async () => {
      const { answer } = await at.start({ idTexts: [] });
      const late = large.replace('"jsonrpc":"2.0","id":1,', '');
      at.upstream.last.json(200, { 'content-length': String(large.length) }).data(late.slice(0, 300_000));
      const got = await answer();
      at.upstream.last.fail(true);
      await expect(got.whole()).rejects.toThrow('aborted');
    });

    test('is given up past 64 MiB when it would have to be kept', async () => {
      const { answer } = await at.start({ onResponse: (text) => text });
      at.upstream.last.json();
      const chunk = Buffer.alloc(16 << 20, 0x20);
      for (let i = 0; i < 5; i++) at.upstream.last.data(chunk);
      const got = await answer();
      expect([got.status, await got.whole()]).toEqual([502, expect.stringContaining('too large')]);
      expect(at.upstream.last.aborted).toBe(true);
    });
  });

  describe('with an event stream that nobody wants to see', () => {
    test('opens it at once and passes each message as it comes, written anew', async () => {
      const { answer } = await at.start();
      at.upstream.last.eventStream({ 'cache-control': 'public' });
      const got = await answer();
      expect(got.headers).toMatchObject({
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        'mcp-session-id': 'session-1',
      });
      at.upstream.last.data(`retry: 5\r\nid: 1\r\n\r\nid:2\rdata:${NOTIFICATION}\r\rda`);
      await got.until(NOTIFICATION);
      at.upstream.last.data(`ta: ${RESULT}\r\nevent: message\r\nx: y\r\n\r\n:x\n\n`).end();
      expect(await got.whole()).toBe(
        `id: 1\nretry: 1000\n\nid: 2\ndata: ${NOTIFICATION}\n\nevent: message\ndata: ${RESULT}\n\n`,
      );
      expect(at.outcomes).toEqual(['ok']);
    });

    test('waits, before a changed list is announced, until nobody can see the old one', async () => {
      const { promise: dropped, resolve } = Promise.withResolvers<void>();
      let asked = 0;
      const { answer } = await at.start({
        onListChanged: () => {
          asked++;
          return dropped;
        },
      });
      at.upstream.last.eventStream().data(frame(NOTIFICATION));
      const changed = frame('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
      at.upstream.last.data(changed);
      expect([asked, at.upstream.last.paused]).toEqual([1, true]);
      at.upstream.last.data(frame(RESULT)).end();
      const got = await answer();
      await got.until('notifications/message');
      await settle();
      expect(got.body()).toBe(frame(NOTIFICATION));
      resolve();
      expect(await got.whole()).toBe(frame(NOTIFICATION) + changed + frame(RESULT));
      expect(at.upstream.last.paused).toBe(false);
    });

    test('finds the announcement wherever it is cut', async () => {
      const changed = frame('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
      for (let cut = 1; cut < changed.length; cut++) {
        at.outcomes = [];
        let asked = 0;
        const { answer } = await at.start({
          idTexts: [],
          onListChanged: async () => {
            asked++;
          },
        });
        at.upstream.last.eventStream().data(changed.slice(0, cut)).data(changed.slice(cut)).end();
        expect(await (await answer()).whole()).toBe(changed);
        expect(asked).toBe(1);
      }
    });
  });

  describe('with an event stream whose response somebody wants to see', () => {
    test('changes that response and nothing else', async () => {
      const seen: string[] = [];
      const { answer } = await at.start({
        onResponse: (text) => {
          seen.push(text);
          return '{"changed":true}';
        },
      });
      const before = `id: 0\ndata:\n\n${frame(NOTIFICATION, 'a')}`;
      const other = frame('{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}');
      const after = frame('{"jsonrpc":"2.0","id":1,"result":"a second one"}');
      at.upstream.last
        .eventStream()
        .data(`: comment\r\n\r\n${before}${other}`)
        .data(frame(RESULT, 'b') + after)
        .data(':end')
        .end();
      const text = await (await answer()).whole();
      expect(text).toBe(`${before}${other}event: message\nid: b\ndata: {"changed":true}\n\n`);
      expect(seen).toEqual([RESULT]);
    });

    test('leaves the bytes of a response that is not changed', async () => {
      const { answer } = await at.start({ onResponse: async (text) => text });
      const original = `data: ${RESULT.replace(',', ',\ndata: ')}\n`;
      at.upstream.last.eventStream().data(`${original}event: message\n\n`).end();
      expect(await (await answer()).whole()).toBe(`event: message\n${original}\n`);
    });

    test('shows each response of a batch once', async () => {
      const seen: string[] = [];
      const { answer } = await at.start({
        inSession: true,
        idTexts: ['1', '"b"', '3'],
        onResponse: (text) => {
          seen.push(text);
          return text;
        },
      });
      const two = '[{"jsonrpc":"2.0","id":"b","result":{}},{"jsonrpc":"2.0","id":3,"result":{}}]';
      at.upstream.last
        .eventStream()
        .data(frame(RESULT) + frame(NOTIFICATION) + frame(two) + frame(two))
        .end();
      await (await answer()).whole();
      expect(seen).toEqual([RESULT, two]);
    });

    test('says that all is answered before the last response leaves, and shows the head before that', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const asked = Promise.withResolvers<void>();
      let answered = 0;
      const { answer } = await at.start({
        idTexts: ['1', '"b"'],
        onAnswered: () => {
          answered += 1;
          asked.resolve();
          return promise;
        },
      });
      const stream = at.upstream.last.eventStream();
      const arriving = await answer();
      stream.data(frame(RESULT));
      await arriving.until(frame(RESULT));
      expect(answered).toBe(0);
      const last = frame('{"jsonrpc":"2.0","id":"b","result":{}}');
      stream.data(last);
      await asked.promise;
      await settle();
      expect(arriving.body()).toBe(frame(RESULT));
      resolve();
      await arriving.until(last);
      // The upstream's stream is still open.
      expect(at.outcomes).toEqual([]);
      stream.end();
      await arriving.whole();
      expect([answered, at.outcomes]).toEqual([1, ['ok']]);
    });

    test('holds everything back until the response is seen, where its headers depend on that', async () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const { answer, operation, res } = await at.start({
        deferHeaders: true,
        sessionId: undefined,
        onResponse: () => promise,
      });
      at.upstream.last.eventStream().data(frame(NOTIFICATION)).data(frame(RESULT)).end();
      await settle();
      expect([res.headersSent, at.upstream.last.paused]).toEqual([false, true]);
      operation.sessionId = 'session-2';
      resolve(RESULT);
      const got = await answer();
      expect(got.headers['mcp-session-id']).toBe('session-2');
      expect(await got.whole()).toBe(frame(NOTIFICATION) + frame(RESULT));
      expect(at.outcomes).toEqual(['ok']);
    });

    test.each<[string, Changes, string]>([
      ['that can be resumed', {}, frame(NOTIFICATION, '7')],
      ['that answers nothing', { idTexts: [] }, frame(NOTIFICATION)],
      ['that has brought its response', {}, frame(RESULT)],
    ])('lets a stream end %s, without what is no whole event', async (_name, changes, sent) => {
      const { answer } = await at.start({ onResponse: (text) => text, ...changes });
      at.upstream.last.eventStream().data(`${sent}data: ${NOTIFICATION}`).end();
      expect(await (await answer()).whole()).toBe(sent);
      expect(at.outcomes).toEqual(['ok']);
    });

    test.each<[string, string, (open: Started, one: FakeExchange) => unknown, boolean]>([
      ['its end', frame(NOTIFICATION, '7'), (_open, one) => one.end(), true],
      ['its break', frame(NOTIFICATION, '7'), (_open, one) => one.fail(true), true],
      ['its client’s leaving', frame(NOTIFICATION, '7'), ({ hangUp }) => hangUp(), true],
      ['its end with the response', frame(RESULT, '7'), (_open, one) => one.end(), false],
      ['the end of one without ids', frame(NOTIFICATION), (_open, one) => one.end(), false],
      ['the leaving of the client of one without ids', frame(NOTIFICATION), ({ hangUp }) => hangUp(), false],
    ])('tells at %s whether the call may be taken up again', async (_name, sent, end, expected) => {
      const told: boolean[] = [];
      const opened = await at.start({
        onResponse: (text) => text,
        onFinish: (_outcome, goesOn) => {
          told.push(goesOn);
          return undefined;
        },
      });
      const one = at.upstream.last.eventStream().data(sent);
      await (await opened.answer()).until(sent.trim());
      await end(opened, one);
      await settle();
      expect(told).toEqual([expected]);
    });

    test('takes an end without the response for a break, where the stream cannot be resumed', async () => {
      const { answer } = await at.start({ idTexts: ['1', '2'], onResponse: (text) => text });
      at.upstream.last
        .eventStream()
        .data(frame(RESULT) + frame(NOTIFICATION))
        .end();
      const got = await (await answer()).whole();
      expect(got.startsWith(frame(RESULT) + frame(NOTIFICATION))).toBe(true);
      const [error, ...others] = messagesIn(got.slice((frame(RESULT) + frame(NOTIFICATION)).length));
      expect([error, others]).toMatchObject([{ id: 2, error: { data: { code: 'upstream_failed' } } }, []]);
      expect(at.outcomes).toEqual(['upstream_broke']);
    });

    test('takes it for a break also before the head', async () => {
      const { answer } = await at.start({ deferHeaders: true, onResponse: (text) => text });
      at.upstream.last.eventStream().data(frame(NOTIFICATION)).end();
      const got = await answer();
      expect([got.status, errorOf(await got.whole())]).toMatchObject([502, { data: { code: 'upstream_failed' } }]);
    });

    test('opens it before the first frame, unless the head depends on the response', async () => {
      const { answer, reply } = await at.start({ onResponse: (text) => text });
      at.upstream.last.eventStream();
      const got = await answer();
      reply.keepAlive();
      await got.until(': keepalive');
      at.upstream.last.data(frame(RESULT)).end();
      expect(await got.whole()).toBe(`: keepalive\n\n${frame(RESULT)}`);
    });

    test('shows every response on the stream of a GET, which may take up that of any request', async () => {
      const { answer } = await at.start({
        method: 'GET' as const,
        onResponse: (text) => text.replace('"result"', '"seen"'),
      });
      const second = '{"jsonrpc":"2.0","id":"b","result":{}}';
      at.upstream.last
        .eventStream()
        .data(frame(RESULT) + frame(NOTIFICATION) + frame(second))
        .end();
      const changed = [RESULT, second].map((text) => text.replace('"result"', '"seen"'));
      expect(await (await answer()).whole()).toBe(
        `event: message\ndata: ${changed[0]}\n\n${frame(NOTIFICATION)}event: message\ndata: ${changed[1]}\n\n`,
      );
    });

    test('sends messages before the response at once, where nothing depends on it', async () => {
      const { answer } = await at.start({ onResponse: (text) => text });
      at.upstream.last.eventStream().data(frame(NOTIFICATION));
      const got = await answer();
      await got.until(NOTIFICATION);
      at.upstream.last.data(frame(RESULT)).end();
      expect(await got.whole()).toBe(frame(NOTIFICATION) + frame(RESULT));
    });
  });

  describe('with responses that were asked for elsewhere', () => {
    const STRAY = RESULT.replace('"id":1', '"id":7');
    const stray = (text: string): string => text.replace('"result"', '"stray"');

    test('shows them on an event stream, and passes what was asked for, and other messages', async () => {
      const { answer } = await at.start({ onUnsolicited: stray });
      const other = frame(STRAY).replace('event: message', 'event: other');
      at.upstream.last
        .eventStream()
        .data(frame(NOTIFICATION) + frame(STRAY) + other + frame(RESULT) + frame(RESULT, 'b'))
        .end();
      expect(await (await answer()).whole()).toBe(
        frame(NOTIFICATION) + frame(stray(STRAY)) + frame(RESULT) + frame(stray(RESULT), 'b'),
      );
    });

    test.each([
      ['POST', '{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}'],
      ['POST', '{"jsonrpc":"2.0","id":1,"result":{"x":-Infinity}}'],
      ['GET', '[{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}]'],
    ] as const)('passes nothing that some clients read, and others do not: %s, %s', async (method, text) => {
      const { answer } = await at.start({ onUnsolicited: stray, method });
      at.upstream.last.eventStream().data(frame(text));
      at.upstream.last.data(frame(NOTIFICATION, '1')).end();
      expect(await (await answer()).whole()).toBe(frame(NOTIFICATION, '1'));
    });

    test.each(['', ' ', 'ping'])('drops %j, which is no message to anybody', async (text) => {
      const { answer } = await at.start({ onUnsolicited: stray });
      at.upstream.last
        .eventStream()
        .data(frame(text) + frame(RESULT))
        .end();
      expect(await (await answer()).whole()).toBe(frame(RESULT));
    });

    test.each([
      [STRAY, 'seen'],
      [`[${STRAY}]`, 'seen'],
      [`[${RESULT}]`, `[${RESULT}]`],
      [RESULT.replace('"id":1', '"id":"1"'), 'seen'],
      [RESULT, RESULT],
    ])('shows them in a body: %s', async (body, shown) => {
      const { answer } = await at.start({ onUnsolicited: () => 'seen' });
      at.upstream.last.json().data(body).end();
      expect(await (await answer()).whole()).toBe(shown);
    });

    test.each([
      [1, true],
      [7, false],
    ])('keeps a large event in memory only if it is one: id %i', async (id, isPassed) => {
      const text = 'x'.repeat(600_000);
      const { answer } = await at.start({ onUnsolicited: () => '"seen"' });
      const data = `{"jsonrpc":"2.0","id":${id},"result":"${text}`;
      at.upstream.last.eventStream().data(`event: message\ndata: ${data}`);
      const got = await answer();
      if (isPassed) await got.until('x'.repeat(300_000));
      const after = isPassed ? frame(NOTIFICATION) : frame(RESULT);
      at.upstream.last.data(`€"}\n\n${after}`).end();
      const shown = isPassed ? `event: message\ndata: ${data}€"}\n\n` : frame('"seen"');
      expect(await got.whole()).toBe(shown + after);
    });
  });

  describe('when seeing the response fails', () => {
    test.each(['json', 'event stream'])('answers with the error that was thrown (%s)', async (kind) => {
      const { answer } = await at.start({
        deferHeaders: true,
        onResponse: async () => {
          throw new AdapterError('sessions_limit', 'Full.', { retryAfter: 3 });
        },
      });
      if (kind === 'json') at.upstream.last.json().data(RESULT).end();
      else at.upstream.last.eventStream().data(frame(RESULT)).end();
      const got = await answer();
      expect([got.status, got.headers['retry-after']]).toEqual([429, '3']);
      expect(errorOf(await got.whole())).toMatchObject({ message: 'Full.', data: { code: 'sessions_limit' } });
      expect([at.outcomes, at.unexpected, at.upstream.last.aborted]).toEqual([['sessions_limit'], [], true]);
    });

    test('answers 500 without saying why, and tells the log, when that was not expected', async () => {
      const failure = new TypeError('secret detail');
      const { answer } = await at.start({
        onResponse: () => {
          throw failure;
        },
      });
      at.upstream.last.json().data(RESULT).end();
      const got = await answer();
      const text = await got.whole();
      expect([got.status, errorOf(text)]).toEqual([
        500,
        { code: -32603, message: 'Internal error.', data: { code: 'internal' } },
      ]);
      expect(at.unexpected).toEqual([failure]);
    });
  });

  test('whose head is rejected answers with that error and takes nothing more', async () => {
    const { answer } = await at.start({
      onHead: ({ status }) => (status === 401 ? new AdapterError('upstream_failed', 'Refused.') : undefined),
    });
    at.upstream.last.json(401, { 'www-authenticate': 'Bearer' }).data(RESULT).end();
    const got = await answer();
    expect([got.status, got.headers['www-authenticate']]).toEqual([502, undefined]);
    expect(errorOf(await got.whole())).toMatchObject({ message: 'Refused.' });
    expect([at.outcomes, at.upstream.last.aborted]).toEqual([['upstream_failed'], true]);
  });
});
