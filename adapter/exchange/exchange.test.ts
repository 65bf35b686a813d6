import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { AdapterError, knownError } from '../errors.ts';
import { Exchange, type Outcome, type Plan } from './exchange.ts';
import { KeepAlive } from './keep-alive.ts';
import { RunningExchanges } from './running.ts';
import { AFTER_LIMIT_MS } from './plan.ts';
import { testPlan } from './testing/test-plan.ts';
import { FakeUpstream } from './testing/fake-upstream.ts';
import { type OpenReply, startReplyServer } from './testing/reply-server.ts';

const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}';
const HTML = '<html>Sign in</html>';
const NOTIFICATION = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}';
const frame = (data: string, id?: string): string =>
  `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
const errorOf = (text: string): unknown => {
  const { error }: { error?: unknown } = JSON.parse(text);
  return error;
};
/** The messages of an event stream. */
const messagesIn = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as unknown);
/** Until all that could happen by itself has happened. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe('an exchange', () => {
  let server: Awaited<ReturnType<typeof startReplyServer>>;
  let upstream: FakeUpstream;
  let running: RunningExchanges;
  let outcomes: Outcome[];
  let unexpected: unknown[];
  const keepAlive = new KeepAlive(2 ** 30);

  beforeAll(async () => {
    server = await startReplyServer();
  });
  afterAll(async () => {
    keepAlive.stop();
    await server.close();
  });
  beforeEach(() => {
    upstream = new FakeUpstream();
    running = new RunningExchanges();
    outcomes = [];
    unexpected = [];
  });
  afterEach(() => vi.useRealTimers());

  /** Starts an exchange for one request of a session, with some things about it different. */
  async function start(changes: Partial<Plan> = {}): Promise<OpenReply & { exchange: Exchange; plan: Plan }> {
    const opened = await server.open();
    const plan = testPlan({
      upstream,
      reply: opened.reply,
      keepAlive,
      running,
      known: (error) => knownError(error, (one) => unexpected.push(one)),
      onFinish: (outcome) => {
        outcomes.push(outcome);
        return undefined;
      },
      ...changes,
    });
    const exchange = new Exchange(plan);
    exchange.start();
    return { ...opened, exchange, plan };
  }

  afterEach(async () => {
    // However it went: each exchange has told its end once, and nobody counts it any more.
    await settle();
    expect(outcomes.length).toBeLessThanOrEqual(1);
    if (outcomes.length === 1) expect(running.all()).toEqual([]);
  });

  describe('with a small answer', () => {
    test('passes its bytes and says how many there are', async () => {
      const { answer } = await start();
      upstream.last
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
      expect(outcomes).toEqual(['ok']);
    });

    test.each([
      ['a single chunk', ['é😀'.repeat(10)]],
      ['many chunks, one of them inside a character', ['\u{1f600}']],
    ])('of characters outside ASCII passes as it is: %s', async (_name, texts) => {
      const { answer } = await start();
      const bytes = Buffer.from(`{"id":1,"result":"${texts.join('')}"}`);
      upstream.last.json().data(bytes.subarray(0, 19)).data(bytes.subarray(19)).end();
      expect(await (await answer()).whole()).toBe(bytes.toString());
    });

    test('passes a JSON error with its status, and what the client needs to know of the headers', async () => {
      const { answer } = await start();
      const text = '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}';
      upstream.last.json(429, { 'retry-after': '7', 'www-authenticate': 'Bearer', 'set-cookie': 'a' }).data(text).end();
      const { status, headers, whole } = await answer();
      expect([status, await whole()]).toEqual([429, text]);
      expect(headers).toMatchObject({ 'retry-after': '7' });
      // A challenge goes with 401 and 403 only.
      expect(headers).not.toHaveProperty('www-authenticate');
      expect(outcomes).toEqual(['upstream_failed']);
    });

    test('to a notification passes an empty 202', async () => {
      const { answer } = await start({ idTexts: [] });
      upstream.last.head(202).end();
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
      const { answer } = await start();
      upstream.last.head(status, { 'content-type': 'text/html' }).data(HTML).end();
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
      expect(upstream.last.aborted).toBe(true);
      expect(outcomes).toEqual(['upstream_failed']);
    });

    test.each([
      ['a page instead of a result', { idTexts: ['1'] }, 200],
      [
        'a page instead of an event stream',
        {
          idTexts: [],
          request: { method: 'GET' as const, session: undefined, headers: [], body: undefined },
        },
        200,
      ],
    ])('%s becomes 502', async (_name, changes, status) => {
      const { answer } = await start(changes);
      upstream.last.head(status, { 'content-type': 'text/html' }).data(HTML.repeat(10_000)).end();
      const got = await answer();
      expect(got.status).toBe(502);
      expect(await got.whole()).toContain('content of the type text/html');
    });

    test('a text that acknowledges a notification passes', async () => {
      const { answer } = await start({ idTexts: [] });
      upstream.last.head(202, { 'content-type': 'text/plain' }).data('Accepted').end();
      const { status, whole } = await answer();
      expect([status, await whole()]).toEqual([202, 'Accepted']);
    });
  });

  describe('with a large answer', () => {
    const large = `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(600_000)}"}`;

    test('passes it on while it comes', async () => {
      const { answer } = await start();
      upstream.last.json(200, { 'content-length': String(large.length) }).data(large.slice(0, 300_000));
      const got = await answer();
      expect(got.headers['content-length']).toBe(String(large.length));
      await got.until('x'.repeat(90_000));
      upstream.last.data(large.slice(300_000)).end();
      expect(await got.whole()).toBe(large);
      expect(outcomes).toEqual(['ok']);
    });

    test('collects it when somebody wants to see it', async () => {
      const seen: string[] = [];
      const { answer } = await start({
        onResponse: (text) => {
          seen.push(text);
          return RESULT;
        },
      });
      upstream.last.json(200, { 'content-length': String(large.length) });
      for (let i = 0; i < large.length; i += 50_000) upstream.last.data(large.slice(i, i + 50_000));
      upstream.last.end();
      const got = await answer();
      expect([await got.whole(), got.headers['content-length']]).toEqual([RESULT, String(RESULT.length)]);
      expect(seen).toEqual([large]);
    });

    test('breaks the connection when it breaks, so that half an answer is no answer', async () => {
      const { answer } = await start();
      upstream.last.json().data(large.slice(0, 300_000));
      const got = await answer();
      upstream.last.fail(true);
      await expect(got.whole()).rejects.toThrow('aborted');
      expect(outcomes).toEqual(['upstream_broke']);
    });

    test('breaks the connection when the time is over', async () => {
      const { answer, exchange } = await start({ timeoutMs: 30 });
      upstream.last.json(200, { 'content-length': String(large.length) }).data(large.slice(0, 300_000));
      const got = await answer();
      await expect(got.whole()).rejects.toThrow('aborted');
      expect([outcomes, upstream.last.aborted]).toEqual([['upstream_timeout'], true]);
      exchange.endStream();
    });

    test('that answers nothing breaks the connection too', async () => {
      const { answer } = await start({ idTexts: [] });
      const late = large.replace('"jsonrpc":"2.0","id":1,', '');
      upstream.last.json(200, { 'content-length': String(large.length) }).data(late.slice(0, 300_000));
      const got = await answer();
      upstream.last.fail(true);
      await expect(got.whole()).rejects.toThrow('aborted');
    });

    test('is given up past 64 MiB when it would have to be kept', async () => {
      const { answer } = await start({ onResponse: (text) => text });
      upstream.last.json();
      const chunk = Buffer.alloc(16 << 20, 0x20);
      for (let i = 0; i < 5; i++) upstream.last.data(chunk);
      const got = await answer();
      expect([got.status, await got.whole()]).toEqual([502, expect.stringContaining('too large')]);
      expect(upstream.last.aborted).toBe(true);
    });
  });

  describe('with an event stream that nobody wants to see', () => {
    test('opens it at once and passes each message as it comes, written anew', async () => {
      const { answer } = await start();
      upstream.last.eventStream({ 'cache-control': 'public' });
      const got = await answer();
      expect(got.headers).toMatchObject({
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        'mcp-session-id': 'session-1',
      });
      upstream.last.data(`retry: 5\r\nid: 1\r\n\r\nid:2\rdata:${NOTIFICATION}\r\rda`);
      await got.until(NOTIFICATION);
      upstream.last.data(`ta: ${RESULT}\r\nevent: message\r\nx: y\r\n\r\n:x\n\n`).end();
      expect(await got.whole()).toBe(
        `id: 1\nretry: 1000\n\nid: 2\ndata: ${NOTIFICATION}\n\nevent: message\ndata: ${RESULT}\n\n`,
      );
      expect(outcomes).toEqual(['ok']);
    });

    test('waits, before a changed list is announced, until nobody can see the old one', async () => {
      const { promise: dropped, resolve } = Promise.withResolvers<void>();
      let asked = 0;
      const { answer } = await start({
        onListChanged: () => {
          asked++;
          return dropped;
        },
      });
      upstream.last.eventStream().data(frame(NOTIFICATION));
      const changed = frame('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
      upstream.last.data(changed);
      expect([asked, upstream.last.paused]).toEqual([1, true]);
      upstream.last.data(frame(RESULT)).end();
      const got = await answer();
      await got.until('notifications/message');
      await settle();
      expect(got.body()).toBe(frame(NOTIFICATION));
      resolve();
      expect(await got.whole()).toBe(frame(NOTIFICATION) + changed + frame(RESULT));
      expect(upstream.last.paused).toBe(false);
    });

    test('finds the announcement wherever it is cut', async () => {
      const changed = frame('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
      for (let cut = 1; cut < changed.length; cut++) {
        outcomes = [];
        let asked = 0;
        const { answer } = await start({
          idTexts: [],
          onListChanged: async () => {
            asked++;
          },
        });
        upstream.last.eventStream().data(changed.slice(0, cut)).data(changed.slice(cut)).end();
        expect(await (await answer()).whole()).toBe(changed);
        expect(asked).toBe(1);
      }
    });
  });

  describe('with an event stream whose response somebody wants to see', () => {
    test('changes that response and nothing else', async () => {
      const seen: string[] = [];
      const { answer } = await start({
        onResponse: (text) => {
          seen.push(text);
          return '{"changed":true}';
        },
      });
      const before = `id: 0\ndata:\n\n${frame(NOTIFICATION, 'a')}`;
      const other = frame('{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}');
      const after = frame('{"jsonrpc":"2.0","id":1,"result":"a second one"}');
      upstream.last
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
      const { answer } = await start({ onResponse: async (text) => text });
      const original = `data: ${RESULT.replace(',', ',\ndata: ')}\n`;
      upstream.last.eventStream().data(`${original}event: message\n\n`).end();
      expect(await (await answer()).whole()).toBe(`event: message\n${original}\n`);
    });

    test('shows each response of a batch once', async () => {
      const seen: string[] = [];
      const { answer } = await start({
        idTexts: ['1', '"b"', '3'],
        onResponse: (text) => {
          seen.push(text);
          return text;
        },
      });
      const two = '[{"jsonrpc":"2.0","id":"b","result":{}},{"jsonrpc":"2.0","id":3,"result":{}}]';
      upstream.last
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
      const { answer } = await start({
        idTexts: ['1', '"b"'],
        onAnswered: () => {
          answered += 1;
          asked.resolve();
          return promise;
        },
      });
      const stream = upstream.last.eventStream();
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
      expect(outcomes).toEqual([]);
      stream.end();
      await arriving.whole();
      expect([answered, outcomes]).toEqual([1, ['ok']]);
    });

    test('holds everything back until the response is seen, where its headers depend on that', async () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const { answer, plan, reply } = await start({ holdHead: true, sessionId: undefined, onResponse: () => promise });
      upstream.last.eventStream().data(frame(NOTIFICATION)).data(frame(RESULT)).end();
      await settle();
      expect([reply.headersSent, upstream.last.paused]).toEqual([false, true]);
      plan.sessionId = 'session-2';
      resolve(RESULT);
      const got = await answer();
      expect(got.headers['mcp-session-id']).toBe('session-2');
      expect(await got.whole()).toBe(frame(NOTIFICATION) + frame(RESULT));
      expect(outcomes).toEqual(['ok']);
    });

    test.each<[string, Partial<Plan>, string]>([
      ['that can be resumed', {}, frame(NOTIFICATION, '7')],
      ['that answers nothing', { idTexts: [] }, frame(NOTIFICATION)],
      ['that has brought its response', {}, frame(RESULT)],
    ])('lets a stream end %s, without what is no whole event', async (_name, changes, sent) => {
      const { answer } = await start({ onResponse: (text) => text, ...changes });
      upstream.last.eventStream().data(`${sent}data: ${NOTIFICATION}`).end();
      expect(await (await answer()).whole()).toBe(sent);
      expect(outcomes).toEqual(['ok']);
    });

    test.each<[string, string, (open: OpenReply, one: FakeUpstream['last']) => unknown, boolean]>([
      ['its end', frame(NOTIFICATION, '7'), (_open, one) => one.end(), true],
      ['its break', frame(NOTIFICATION, '7'), (_open, one) => one.fail(true), true],
      ['its client’s leaving', frame(NOTIFICATION, '7'), ({ hangUp }) => hangUp(), true],
      ['its end with the response', frame(RESULT, '7'), (_open, one) => one.end(), false],
      ['the end of one without ids', frame(NOTIFICATION), (_open, one) => one.end(), false],
      ['the leaving of the client of one without ids', frame(NOTIFICATION), ({ hangUp }) => hangUp(), false],
    ])('tells at %s whether the call may be taken up again', async (_name, sent, end, expected) => {
      const told: boolean[] = [];
      const opened = await start({
        onResponse: (text) => text,
        onFinish: (_outcome, goesOn) => {
          told.push(goesOn);
          return undefined;
        },
      });
      const one = upstream.last.eventStream().data(sent);
      await (await opened.answer()).until(sent.trim());
      await end(opened, one);
      await settle();
      expect(told).toEqual([expected]);
    });

    test('takes an end without the response for a break, where the stream cannot be resumed', async () => {
      const { answer } = await start({ idTexts: ['1', '2'], onResponse: (text) => text });
      upstream.last
        .eventStream()
        .data(frame(RESULT) + frame(NOTIFICATION))
        .end();
      const got = await (await answer()).whole();
      expect(got.startsWith(frame(RESULT) + frame(NOTIFICATION))).toBe(true);
      const [error, ...others] = messagesIn(got.slice((frame(RESULT) + frame(NOTIFICATION)).length));
      expect([error, others]).toMatchObject([{ id: 2, error: { data: { code: 'upstream_failed' } } }, []]);
      expect(outcomes).toEqual(['upstream_broke']);
    });

    test('takes it for a break also before the head', async () => {
      const { answer } = await start({ holdHead: true, onResponse: (text) => text });
      upstream.last.eventStream().data(frame(NOTIFICATION)).end();
      const got = await answer();
      expect([got.status, errorOf(await got.whole())]).toMatchObject([502, { data: { code: 'upstream_failed' } }]);
    });

    test('opens it before the first frame, unless the head depends on the response', async () => {
      const { answer, exchange } = await start({ onResponse: (text) => text });
      upstream.last.eventStream();
      const got = await answer();
      exchange.keepAlive();
      await got.until(': keepalive');
      upstream.last.data(frame(RESULT)).end();
      expect(await got.whole()).toBe(`: keepalive\n\n${frame(RESULT)}`);
    });

    test('shows every response on the stream of a GET, which may take up that of any request', async () => {
      const { answer } = await start({
        idTexts: [],
        request: { method: 'GET', session: undefined, headers: [], body: undefined },
        onResponse: (text) => text.replace('"result"', '"seen"'),
      });
      const second = '{"jsonrpc":"2.0","id":"b","result":{}}';
      upstream.last
        .eventStream()
        .data(frame(RESULT) + frame(NOTIFICATION) + frame(second))
        .end();
      const changed = [RESULT, second].map((text) => text.replace('"result"', '"seen"'));
      expect(await (await answer()).whole()).toBe(
        `event: message\ndata: ${changed[0]}\n\n${frame(NOTIFICATION)}event: message\ndata: ${changed[1]}\n\n`,
      );
    });

    test('sends messages before the response at once, where nothing depends on it', async () => {
      const { answer } = await start({ onResponse: (text) => text });
      upstream.last.eventStream().data(frame(NOTIFICATION));
      const got = await answer();
      await got.until(NOTIFICATION);
      upstream.last.data(frame(RESULT)).end();
      expect(await got.whole()).toBe(frame(NOTIFICATION) + frame(RESULT));
    });
  });

  describe('with responses that were asked for elsewhere', () => {
    const STRAY = RESULT.replace('"id":1', '"id":7');
    const stray = (text: string): string => text.replace('"result"', '"stray"');

    test('shows them on an event stream, and passes what was asked for, and other messages', async () => {
      const { answer } = await start({ onStray: stray });
      const other = frame(STRAY).replace('event: message', 'event: other');
      upstream.last
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
      const request = { ...testPlan({ upstream, reply: undefined as never }).request, method };
      const { answer } = await start({ onStray: stray, request, idTexts: method === 'GET' ? [] : ['1'] });
      upstream.last.eventStream().data(frame(text));
      upstream.last.data(frame(NOTIFICATION, '1')).end();
      expect(await (await answer()).whole()).toBe(frame(NOTIFICATION, '1'));
    });

    test.each(['', ' ', 'ping'])('drops %j, which is no message to anybody', async (text) => {
      const { answer } = await start({ onStray: stray });
      upstream.last
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
      const { answer } = await start({ onStray: () => 'seen' });
      upstream.last.json().data(body).end();
      expect(await (await answer()).whole()).toBe(shown);
    });

    test.each([
      [1, true],
      [7, false],
    ])('keeps a large event in memory only if it is one: id %i', async (id, isPassed) => {
      const text = 'x'.repeat(600_000);
      const { answer } = await start({ onStray: () => '"seen"' });
      const data = `{"jsonrpc":"2.0","id":${id},"result":"${text}`;
      upstream.last.eventStream().data(`event: message\ndata: ${data}`);
      const got = await answer();
      if (isPassed) await got.until('x'.repeat(300_000));
      const after = isPassed ? frame(NOTIFICATION) : frame(RESULT);
      upstream.last.data(`€"}\n\n${after}`).end();
      const shown = isPassed ? `event: message\ndata: ${data}€"}\n\n` : frame('"seen"');
      expect(await got.whole()).toBe(shown + after);
    });
  });

  describe('when seeing the response fails', () => {
    test.each(['json', 'event stream'])('answers with the error that was thrown (%s)', async (kind) => {
      const { answer } = await start({
        holdHead: true,
        onResponse: async () => {
          throw new AdapterError('sessions_limit', 'Full.', { retryAfter: 3 });
        },
      });
      if (kind === 'json') upstream.last.json().data(RESULT).end();
      else upstream.last.eventStream().data(frame(RESULT)).end();
      const got = await answer();
      expect([got.status, got.headers['retry-after']]).toEqual([429, '3']);
      expect(errorOf(await got.whole())).toMatchObject({ message: 'Full.', data: { code: 'sessions_limit' } });
      expect([outcomes, unexpected, upstream.last.aborted]).toEqual([['sessions_limit'], [], true]);
    });

    test('answers 500 without saying why, and tells the log, when that was not expected', async () => {
      const failure = new TypeError('secret detail');
      const { answer } = await start({
        onResponse: () => {
          throw failure;
        },
      });
      upstream.last.json().data(RESULT).end();
      const got = await answer();
      const text = await got.whole();
      expect([got.status, errorOf(text)]).toEqual([
        500,
        { code: -32603, message: 'Internal error.', data: { code: 'internal' } },
      ]);
      expect(unexpected).toEqual([failure]);
    });
  });

  describe('whose upstream has lost the session', () => {
    const again = { method: 'POST', session: undefined, headers: ['x-again', '1'], body: undefined } as const;

    test.each<[string, (exchange: FakeUpstream['last']) => void, number]>([
      ['404', (one) => one.head(404).end(), 404],
      ['409', (one) => one.json(409).data('{}').end(), 409],
      [
        '400 and says so',
        (one) => one.json(400).data('{"error":{"message":"Bad Request: No valid session ID"}}').end(),
        400,
      ],
      ['400 and says so in plain text', (one) => one.head(400).data('Session not found').end(), 400],
    ])('sends the request again after %s', async (_name, refuse, status) => {
      const statuses: number[] = [];
      const { answer } = await start({
        again: async (one) => {
          statuses.push(one);
          return again;
        },
      });
      const first = upstream.last;
      refuse(first);
      await settle();
      expect([statuses, first.aborted, upstream.exchanges.length]).toEqual([[status], true, 2]);
      expect(upstream.last.request).toBe(again);
      upstream.last.json().data(RESULT).end();
      expect(await (await answer()).whole()).toBe(RESULT);
      expect(outcomes).toEqual(['ok']);
    });

    test('may be asked again and again, and answers with what is thrown in the end', async () => {
      let attempts = 0;
      const { answer } = await start({
        again: async () => {
          if (++attempts > 2) throw new AdapterError('upstream_session_terminated');
          return again;
        },
      });
      for (let i = 0; i < 3; i++) {
        upstream.last.head(404).end();
        await settle();
      }
      const got = await answer();
      expect([got.status, upstream.exchanges.length]).toEqual([200, 3]);
      expect(errorOf(await got.whole())).toMatchObject({ code: -32001 });
      expect(outcomes).toEqual(['upstream_session_terminated']);
    });

    test.each<[string, string, string, number, string]>([
      [
        'JSON',
        'application/json',
        '{"error":{"message":"Invalid params"}}',
        400,
        '{"error":{"message":"Invalid params"}}',
      ],
      ['no JSON', 'text/plain', 'bad request', 400, 'HTTP 400'],
    ])('is not assumed for any other 400 (%s)', async (_name, type, body, status, expected) => {
      const { answer } = await start({ again: () => Promise.reject(new Error('not to be called')) });
      upstream.last.head(400, { 'content-type': type }).data(body).end();
      const got = await answer();
      expect(got.status).toBe(status);
      expect(await got.whole()).toContain(expected);
    });

    test('is not assumed where the request named none', async () => {
      const request = { method: 'POST', session: undefined, headers: [], body: undefined } as const;
      const { answer } = await start({ request, again: () => Promise.reject(new Error('not to be called')) });
      upstream.last.json(400).data('"Session not found"').end();
      const got = await answer();
      expect([got.status, await got.whole()]).toEqual([400, '"Session not found"']);
    });

    test('is not sought in a 400 of any length', async () => {
      const { answer } = await start({ again: async () => again });
      upstream.last.json(400).data('x'.repeat(100_000));
      const got = await answer();
      expect([got.status, upstream.last.aborted, upstream.exchanges.length]).toEqual([502, true, 1]);
      expect(await got.whole()).toContain('too large');
    });

    test('is asked for nothing when the client has gone meanwhile', async () => {
      const { promise, resolve } = Promise.withResolvers<typeof again>();
      const { hangUp } = await start({ again: () => promise });
      upstream.last.head(404).end();
      await hangUp();
      resolve(again);
      await settle();
      expect([upstream.exchanges.length, outcomes]).toEqual([1, ['client_closed']]);
    });

    test('passes 404 and 400 to the client where nothing can be done about it', async () => {
      const { answer } = await start();
      upstream.last.json(404).data('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}').end();
      expect((await answer()).status).toBe(404);
    });
  });

  test('whose head is rejected answers with that error and takes nothing more', async () => {
    const { answer } = await start({
      onHead: ({ status }) => (status === 401 ? new AdapterError('upstream_failed', 'Refused.') : undefined),
    });
    upstream.last.json(401, { 'www-authenticate': 'Bearer' }).data(RESULT).end();
    const got = await answer();
    expect([got.status, got.headers['www-authenticate']]).toEqual([502, undefined]);
    expect(errorOf(await got.whole())).toMatchObject({ message: 'Refused.' });
    expect([outcomes, upstream.last.aborted]).toEqual([['upstream_failed'], true]);
  });

  describe('whose time is over', () => {
    test('O20 T22: ends a GET that has no head yet as a stream that is over, on a connection that is, too', async () => {
      const request = { method: 'GET', session: undefined, headers: [], body: undefined, lastEventId: '7' } as const;
      const { exchange, answer } = await start({ idTexts: [], request });
      exchange.endStream();
      const got = await answer();
      expect([got.status, got.headers['content-type'], got.headers.connection, await got.whole()]).toEqual([
        200,
        'text/event-stream',
        'close',
        'id: 7\ndata: \n\n',
      ]);
      expect([outcomes, upstream.last.aborted]).toEqual([['ok'], true]);
    });

    test.each<[string, (one: FakeUpstream['last']) => void]>([
      ['before the head', () => {}],
      ['while a small answer comes', (one) => void one.json().data(RESULT.slice(0, 10))],
      ['while a 400 is read', (one) => void one.json(400).data('{')],
      ['while the head is held', (one) => void one.eventStream().data(frame(NOTIFICATION))],
    ])('answers as the plan says: %s', async (_name, proceed) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { answer } = await start({
        timeoutMs: 60_000,
        onTimeout: () => '{"timeout":1}',
        onResponse: (text) => text,
        holdHead: true,
        again: () => Promise.reject(new Error('not to be called')),
      });
      proceed(upstream.last);
      vi.advanceTimersByTime(59_999);
      expect(outcomes).toEqual([]);
      vi.advanceTimersByTime(1);
      const got = await answer();
      expect([got.status, got.headers['mcp-session-id'], await got.whole()]).toEqual([
        200,
        'session-1',
        '{"timeout":1}',
      ]);
      expect([outcomes, upstream.last.aborted]).toEqual([['timeout'], true]);
    });

    test.each([
      ['after whole frames', frame(NOTIFICATION), ''],
      ['inside a large frame', `data: {"id":1,"result":"${'x'.repeat(300_000)}`, '\n\n'],
    ])('says so on the stream, %s', async (_name, sent, closing) => {
      const { answer } = await start({ timeoutMs: 30 });
      upstream.last.eventStream().data(sent);
      const got = await answer();
      const text = await got.whole();
      expect(
        text.startsWith(`${sent}${closing}event: message\ndata: {"jsonrpc":"2.0","id":1,"error":{"code":504`),
      ).toBe(true);
      expect(text.endsWith('}\n\n')).toBe(true);
      expect(outcomes).toEqual(['upstream_timeout']);
    });

    test('answers every request of a batch', async () => {
      const { answer } = await start({ timeoutMs: 5, idTexts: ['1', '"b"'] });
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
      const { answer } = await start({ timeoutMs: 1000, onTimeout, idTexts: ['1', '2'], onResponse: (text) => text });
      upstream.last.eventStream().data(frame(RESULT));
      await settle();
      vi.advanceTimersByTime(1000);
      expect(messagesIn(await (await answer()).whole())).toMatchObject([
        { id: 1, result: {} },
        { id: 2, error: { data: { code: 'upstream_timeout' } } },
      ]);
      expect([asked, outcomes]).toEqual([[['2']], ['upstream_timeout']]);
    });

    test('just ends a stream that stays open behind its response', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const onTimeout = (): never => expect.unreachable();
      const { answer } = await start({ timeoutMs: 1000, onTimeout, onResponse: (text) => text });
      upstream.last.eventStream().data(frame(RESULT));
      await settle();
      vi.advanceTimersByTime(1000);
      expect(await (await answer()).whole()).toBe(frame(RESULT));
      expect([outcomes, upstream.last.aborted]).toEqual([['ok'], true]);
    });

    test.each<[string, (one: FakeUpstream['last']) => void]>([
      ['a body', (one) => one.json().data(RESULT).end()],
      ['a stream', (one) => void one.eventStream().data(frame(RESULT))],
    ])('leaves time for what is made of a response that came before: %s', async (_name, proceed) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const made = Promise.withResolvers<string>();
      const onTimeout = (): never => expect.unreachable();
      const { answer } = await start({ timeoutMs: 1000, onTimeout, onResponse: () => made.promise });
      proceed(upstream.last);
      await settle();
      vi.advanceTimersByTime(1000 + AFTER_LIMIT_MS - 1);
      made.resolve(RESULT);
      await settle();
      upstream.last.end();
      expect(await (await answer()).whole()).toContain(RESULT);
      expect(outcomes).toEqual(['ok']);
    });

    test('says so when the response is looked at for too long', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { answer } = await start({ timeoutMs: 1000, onResponse: () => new Promise(() => {}) });
      upstream.last.eventStream().data(frame(RESULT));
      await settle();
      vi.advanceTimersByTime(1000 + AFTER_LIMIT_MS - 1);
      expect(outcomes).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(messagesIn(await (await answer()).whole())).toMatchObject([
        { id: 1, error: { data: { code: 'upstream_timeout' } } },
      ]);
    });

    test('has no time limit when it is null, and none after the end', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { answer } = await start();
      vi.advanceTimersByTime(2 ** 31);
      upstream.last.json().data(RESULT).end();
      await (await answer()).whole();
      await start({ timeoutMs: 1000 });
      upstream.last.json().data(RESULT).end();
      expect(vi.getTimerCount()).toBe(0);
      outcomes = [];
    });
  });

  describe('whose upstream breaks', () => {
    test.each<[string, boolean, string]>([
      ['before it was reached', false, 'upstream_unreachable'],
      ['after it was reached', true, 'upstream_failed'],
    ])('answers 502: %s', async (_name, sent, code) => {
      const { answer } = await start();
      upstream.last.fail(sent);
      const got = await answer();
      expect(got.status).toBe(502);
      expect(errorOf(await got.whole())).toMatchObject({ code: 502, data: { code } });
      expect(outcomes).toEqual(['upstream_broke']);
    });

    test.each<[string, Partial<Plan>, (one: FakeUpstream['last']) => void]>([
      ['a small answer', {}, (one) => void one.json().data(RESULT.slice(0, 10))],
      ['a 400', { again: () => Promise.reject(new Error('not to be called')) }, (one) => void one.json(400).data('{')],
      [
        'a held head',
        { holdHead: true, onResponse: (text) => text },
        (one) => void one.eventStream().data(frame(NOTIFICATION)),
      ],
    ])('answers 502 in the middle of %s', async (_name, changes, proceed) => {
      const { answer } = await start(changes);
      proceed(upstream.last);
      upstream.last.fail(true);
      const got = await answer();
      expect([got.status, errorOf(await got.whole())]).toMatchObject([502, { data: { code: 'upstream_failed' } }]);
      expect(outcomes).toEqual(['upstream_broke']);
    });

    test('says so on the stream, for a client that cannot resume it', async () => {
      for (const onResponse of [undefined, (text: string) => text]) {
        outcomes = [];
        const { answer } = await start({ onResponse });
        upstream.last.eventStream().data(frame(NOTIFICATION));
        await settle();
        upstream.last.fail(true);
        const text = await (await answer()).whole();
        expect(text.startsWith(frame(NOTIFICATION))).toBe(true);
        expect(text).toContain('"id":1,"error":{"code":502');
        expect(outcomes).toEqual(['upstream_broke']);
      }
    });

    test.each<[string, Partial<Plan>, string]>([
      ['it can resume', {}, frame(NOTIFICATION, '7')],
      ['it can resume by an event without a message', {}, 'id: 7\ndata:\n\n'],
      ['it can resume, and frames are read', { onResponse: (text) => text }, frame(NOTIFICATION, '7')],
      ['has brought its response', { onResponse: (text) => text }, frame(RESULT)],
      ['answers nothing', { idTexts: [] }, frame(NOTIFICATION)],
    ])('just ends a stream that %s', async (_name, changes, sent) => {
      const { answer } = await start(changes);
      upstream.last.eventStream().data(sent);
      await settle();
      upstream.last.fail(true);
      expect(await (await answer()).whole()).toBe(sent);
      expect(outcomes).toEqual(['upstream_broke']);
    });

    test('answers 503 when it was the state store that broke', async () => {
      const { answer } = await start();
      upstream.last.fail(true, Object.assign(new Error('down'), { name: 'StoreUnavailable' }));
      const got = await answer();
      expect([got.status, got.headers['retry-after']]).toEqual([503, '5']);
      expect(await got.whole()).toContain('state_unavailable');
    });
  });

  describe('whose client goes away', () => {
    test.each<[string, Partial<Plan>, (one: FakeUpstream['last']) => void]>([
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
        { holdHead: true, onResponse: () => new Promise(() => {}) },
        (one) => void one.eventStream().data(frame(RESULT)),
      ],
    ])('gives the upstream up and tells so once: %s', async (_name, changes, proceed) => {
      const { hangUp, exchange } = await start(changes);
      proceed(upstream.last);
      await settle();
      await hangUp();
      expect([outcomes, upstream.last.aborted, running.all()]).toEqual([['client_closed'], true, []]);
      exchange.finish('cancelled');
      exchange.endStream();
      exchange.keepAlive();
      expect(outcomes).toEqual(['client_closed']);
    });

    test('is over at once when it had gone before', async () => {
      const { plan, reply, hangUp } = await start();
      await hangUp();
      outcomes.length = 0;
      const asked = upstream.exchanges.length;
      new Exchange({ ...plan, reply }).start();
      expect([outcomes, running.all(), upstream.exchanges.length]).toEqual([['client_closed'], [], asked]);
    });
  });

  describe('whose client is slow', () => {
    const huge = Buffer.concat([Buffer.from('{"id":1,"result":"'), Buffer.alloc(32 << 20, 'x')]);

    test.each<[string, (one: FakeUpstream['last']) => void]>([
      ['a stream', (one) => void one.eventStream().data('data:')],
      ['a large answer', (one) => void one.json()],
    ])('stops the upstream until %s has left', async (_name, proceed) => {
      const { answer } = await start();
      proceed(upstream.last);
      upstream.last.data(huge);
      expect([upstream.last.pauses, upstream.last.resumes]).toEqual([1, 0]);
      // More that was on its way is kept, and holds the upstream no second time.
      upstream.last.data('tail');
      await settle();
      expect([upstream.last.pauses, upstream.last.resumes]).toEqual([1, 0]);
      const got = await answer();
      await got.until('tail');
      await vi.waitFor(() => expect(upstream.last.resumes).toBe(1));
      upstream.last.data(' and end"}\n\n').end();
      expect((await got.whole()).endsWith('xtail and end"}\n\n')).toBe(true);
      expect(upstream.last.paused).toBe(false);
    });

    test('is held once for both reasons, and goes on when both are over', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { answer } = await start({ onListChanged: () => promise });
      upstream.last.eventStream().data('data:').data(huge);
      upstream.last.data(`"}\n\n${frame('{"method":"notifications/tools/list_changed"}')}`);
      expect([upstream.last.pauses, upstream.last.resumes]).toEqual([1, 0]);
      resolve();
      await settle();
      expect(upstream.last.resumes).toBe(0);
      const got = await answer();
      await got.until('list_changed');
      await vi.waitFor(() => expect([upstream.last.pauses, upstream.last.resumes]).toEqual([1, 1]));
    });
  });

  describe('that is quiet', () => {
    test('says that it lives, between frames only, and not when it said something just now', async () => {
      const { answer, exchange } = await start();
      upstream.last.eventStream();
      exchange.keepAlive();
      const large = `data: {"id":1,"result":"${'x'.repeat(300_000)}`;
      upstream.last.data(frame(NOTIFICATION));
      exchange.keepAlive();
      exchange.keepAlive();
      upstream.last.data(large);
      const got = await answer();
      await got.until(large);
      await vi.waitFor(() => expect(upstream.last.paused).toBe(false));
      exchange.keepAlive();
      exchange.keepAlive();
      upstream.last.data('"}\r');
      exchange.keepAlive();
      exchange.keepAlive();
      upstream.last.data('\n\r\n');
      exchange.keepAlive();
      exchange.keepAlive();
      upstream.last.end();
      exchange.keepAlive();
      const alive = ': keepalive\n\n';
      expect(await got.whole()).toBe(`${alive}${frame(NOTIFICATION)}${alive}${large}"}\n\n${alive}`);
    });

    test('is known to the timer for as long as its stream is open', async () => {
      const added = vi.spyOn(keepAlive, 'add');
      const deleted = vi.spyOn(keepAlive, 'delete');
      const stream = await start();
      expect(added).not.toHaveBeenCalled();
      upstream.last.eventStream();
      expect(added).toHaveBeenCalledExactlyOnceWith(stream.exchange);
      upstream.last.end();
      expect(deleted).toHaveBeenCalledExactlyOnceWith(stream.exchange);
      vi.restoreAllMocks();
    });
  });

  describe('that is ended from outside', () => {
    test('answers with the error, before and after the head', async () => {
      const early = await start();
      early.exchange.finish('session_ended');
      const got = await early.answer();
      expect([got.status, errorOf(await got.whole())]).toMatchObject([404, { code: -32001 }]);
      expect([outcomes, upstream.last.aborted]).toEqual([['session_ended'], true]);
      outcomes = [];
      const late = await start();
      upstream.last.eventStream().data(frame(NOTIFICATION));
      late.exchange.finish('cancelled');
      late.exchange.finish('cancelled');
      expect(await (await late.answer()).whole()).toContain('"id":1,"error":{"code":-32800');
      expect(outcomes).toEqual(['cancelled']);
    });

    test('answers nothing twice', async () => {
      for (const idTexts of [['1'], ['1', '2', '3']]) {
        outcomes = [];
        const { exchange, answer } = await start({ idTexts, onResponse: (text) => text });
        upstream.last.eventStream().data(frame(RESULT));
        await settle();
        exchange.finish('session_ended');
        const got = await (await answer()).whole();
        expect(got.startsWith(frame(RESULT))).toBe(true);
        const errors = messagesIn(got.slice(frame(RESULT).length)).flat();
        expect(errors).toMatchObject(idTexts.slice(1).map((id) => ({ id: Number(id), error: {} })));
        expect(outcomes).toEqual([errors.length === 0 ? 'ok' : 'session_ended']);
      }
    });

    test('by a cancellation only when nothing else is awaited, after a grace', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const { exchange, answer } = await start({ idTexts: ['1', '2', '3'], onResponse: (text) => text });
      upstream.last.eventStream();
      exchange.cancel('2', 5000);
      vi.advanceTimersByTime(5000);
      expect([outcomes, upstream.last.aborted]).toEqual([[], false]);
      upstream.last.data(frame(RESULT));
      await settle();
      exchange.cancel('3', 5000);
      vi.advanceTimersByTime(4999);
      expect(outcomes).toEqual([]);
      vi.advanceTimersByTime(1);
      const [first, ...others] = messagesIn(await (await answer()).whole()).flat();
      expect(first).toMatchObject({ id: 1, result: {} });
      expect(others).toMatchObject([2, 3].map((id) => ({ id, error: { data: { code: 'cancelled' } } })));
      expect([outcomes, upstream.last.aborted]).toEqual([['cancelled'], true]);
    });

    test('by its upstream, unanswered, when it was cancelled', async () => {
      const { exchange, answer } = await start({ onResponse: (text) => text });
      upstream.last.eventStream().data(frame(NOTIFICATION));
      exchange.cancel('1', 5000);
      upstream.last.end();
      expect(await (await answer()).whole()).toBe(frame(NOTIFICATION));
      expect(outcomes).toEqual(['ok']);
    });

    test.each<[string, Partial<Plan>, string]>([
      ['a GET', { idTexts: [] }, frame(NOTIFICATION)],
      ['a stream that can be resumed', {}, frame(NOTIFICATION, '7')],
    ])('just ends %s', async (_name, changes, sent) => {
      const { exchange, answer } = await start(changes);
      upstream.last.eventStream().data(sent);
      exchange.endStream();
      expect(await (await answer()).whole()).toBe(sent);
      expect([outcomes, upstream.last.aborted]).toEqual([['ok'], true]);
    });

    test.each<[string, (one: FakeUpstream['last']) => void]>([
      ['before the head', () => {}],
      ['on its stream', (one) => void one.eventStream().data(frame(NOTIFICATION))],
    ])('tells a request that will have no answer: %s', async (_name, proceed) => {
      const { exchange, answer } = await start();
      proceed(upstream.last);
      exchange.endStream();
      expect(await (await answer()).whole()).toContain('"id":1,"error":{"code":503');
      expect([outcomes, upstream.last.aborted]).toEqual([['draining'], true]);
    });
  });

  test('lets its last byte leave only when the end has been noted', async () => {
    const ways: [string, Partial<Plan>, (one: FakeUpstream['last']) => void][] = [
      ['whole', {}, (one) => one.json().data(RESULT).end()],
      ['stream', {}, (one) => one.eventStream().data(frame(RESULT)).end()],
      ['error', {}, (one) => one.fail(true)],
    ];
    for (const [name, changes, proceed] of ways) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { reply, answer } = await start({ ...changes, onFinish: () => promise });
      proceed(upstream.last);
      await settle();
      expect([name, reply.writableEnded]).toEqual([name, false]);
      resolve();
      await (await answer()).whole();
    }
  });

  test('is running from its start to its end', async () => {
    const { exchange, answer } = await start({ id: 'x' });
    expect(running.of('s1', 'session-1')).toEqual([exchange]);
    expect([exchange.id, exchange.isGet, exchange.idTexts]).toEqual(['x', false, ['1']]);
    upstream.last.json().data(RESULT).end();
    await (await answer()).whole();
    expect(running.all()).toEqual([]);
  });
});
