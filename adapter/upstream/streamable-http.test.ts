import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { PAUSE_MS } from '../../lib/stream/small-parts.ts';
import { StreamableHttpUpstream } from './streamable-http.ts';
import { answerResult, type HttpUpstream, startHttpUpstream } from './testing/http-upstream.ts';
import type { ResponseControl, ResponseHead, ResponseSink, UpstreamRequest } from '../exchange/upstream.ts';
import { ownBody } from './own-request.ts';

/** Collects what an exchange reports. */
class Recorder implements ResponseSink {
  readonly events: string[] = [];
  readonly ended: Promise<void>;
  readonly headed: Promise<void>;
  control: ResponseControl | undefined;
  head: ResponseHead | undefined;
  body = '';
  error: { message: string; sent: boolean } | undefined;
  #end: () => void = () => {};
  #headed: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.headed = new Promise((resolve) => (this.#headed = resolve));
  }

  onStart(control: ResponseControl): void {
    this.control = control;
    this.events.push('start');
  }

  onHead(head: ResponseHead): void {
    this.head = head;
    this.events.push('head');
    this.#headed();
  }

  onData(chunk: Buffer): void {
    this.body += chunk.toString();
  }

  onEnd(): void {
    this.events.push('end');
    this.#end();
  }

  onError(error: Error, sent: boolean): void {
    this.error = { message: error.message, sent };
    this.events.push('error');
    this.#end();
  }
}

const session = (upstreamSessionId: string | null | undefined): UpstreamRequest['session'] => ({
  serverId: 's1',
  sessionId: 'downstream',
  upstreamSessionId,
  generation: 0,
});

describe('an upstream of Streamable HTTP', () => {
  let http: HttpUpstream;
  let upstream: StreamableHttpUpstream;

  beforeEach(async () => {
    http = await startHttpUpstream((request, res) => answerResult(request, res, { url: request.url }));
    upstream = new StreamableHttpUpstream({ url: `${http.origin}/mcp?a=1`, insecureTls: false });
  });
  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  function send(changes: Partial<UpstreamRequest> = {}): Recorder {
    const recorder = new Recorder();
    const body = ownBody({ method: 'ping' });
    upstream.send({ method: 'POST', session: session('up-1'), headers: ['x-a', '1'], body, ...changes }, recorder);
    return recorder;
  }

  test('T5: connects to no metadata service, nor to its own pod where there is no sidecar, and says so', async () => {
    const refused = async (url: string, rules = { loopback: true }): Promise<unknown> => {
      await upstream.close();
      upstream = new StreamableHttpUpstream({ url, insecureTls: false, rules });
      const recorder = send();
      await recorder.ended;
      return [recorder.error?.message, recorder.error?.sent];
    };
    expect(await refused('http://2852039166/mcp')).toEqual([
      expect.stringContaining('refused: 169.254.169.254 is a link-local address'),
      false,
    ]);
    const own = await refused(http.origin.replace('127.0.0.1', 'localhost'), { loopback: false });
    expect(own).toEqual([
      expect.stringMatching(/^refused: localhost resolves to \S+, an address of the pod itself/),
      false,
    ]);
    expect(http.requests).toEqual([]);
  });

  test('carries the bytes, the headers and its own session there and back', async () => {
    http.handler = (request, res) => answerResult(request, res, 1, { 'mcp-session-id': 'up-2' });
    const body = ownBody({ method: 'ping' });
    const recorder = send({ body });
    await recorder.ended;
    expect(recorder.events).toEqual(['start', 'head', 'end']);
    expect(recorder.head).toMatchObject({ status: 200, upstreamSessionId: 'up-2' });
    expect(JSON.parse(recorder.body)).toMatchObject({ result: 1 });
    const [request] = http.requests;
    expect(request).toMatchObject({ method: 'POST', url: '/mcp?a=1', body: body.text });
    expect(request?.headers).toMatchObject({ 'x-a': '1', 'mcp-session-id': 'up-1' });
    expect(request?.headers).not.toHaveProperty('last-event-id');
  });

  test.each([102, 103])('M6: takes no informational answer for the answer (%i)', async (status) => {
    http.handler = (request, res) => {
      res.socket?.write(`HTTP/1.1 ${status} Soon\r\nContent-Type: text/event-stream\r\n\r\n`);
      answerResult(request, res, 1);
    };
    const recorder = send();
    await recorder.ended;
    expect(recorder.events).toEqual(['start', 'head', 'end']);
    expect(recorder.head).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  });

  test.each([undefined, null, ''])('sends no session header while there is none (%j)', async (id) => {
    await send({ session: session(id) }).ended;
    expect(http.requests[0]?.headers).not.toHaveProperty('mcp-session-id');
  });

  test('takes streams up by Last-Event-ID', async () => {
    await send({ method: 'GET', body: undefined, lastEventId: 'e/7' }).ended;
    expect(http.requests[0]).toMatchObject({ method: 'GET', body: '', headers: { 'last-event-id': 'e/7' } });
  });

  test.each(['with space', 'x'.repeat(5000), ''])('takes no session id that is none (%.20s)', async (id) => {
    http.handler = (request, res) => answerResult(request, res, 1, { 'mcp-session-id': id });
    const recorder = send();
    await recorder.ended;
    expect(recorder.head?.upstreamSessionId).toBeNull();
  });

  describe('that redirects', () => {
    test.each([307, 308])('within its origin is followed with the whole request (%i)', async (status) => {
      http.handler = (request, res) => {
        if (request.url === '/mcp/') answerResult(request, res, 'there');
        else res.writeHead(status, { location: '/mcp/' }).end('moved');
      };
      const recorder = send();
      await recorder.ended;
      expect(recorder.events).toEqual(['start', 'head', 'end']);
      expect(JSON.parse(recorder.body)).toMatchObject({ result: 'there' });
      expect(http.requests.map(({ method, url, body }) => [method, url, body === http.requests[0]?.body])).toEqual([
        ['POST', '/mcp?a=1', true],
        ['POST', '/mcp/', true],
      ]);
      expect(http.requests[1]?.headers).toMatchObject({ 'x-a': '1', 'mcp-session-id': 'up-1' });
    });

    test.each([307, 308])('one client leads no other one there (%i)', async (status) => {
      http.handler = (request, res) => {
        if (request.headers['x-a'] === undefined && request.url === '/mcp?a=1') {
          res.writeHead(status, { location: '/login' }).end();
        } else answerResult(request, res, request.url);
      };
      const urls: unknown[] = [];
      for (const headers of [[], ['x-a', '1']]) {
        const recorder = send({ headers });
        await recorder.ended;
        urls.push((JSON.parse(recorder.body) as { result: unknown }).result);
      }
      expect(urls).toEqual(['/login', '/mcp?a=1']);
    });

    test('step by step is followed, each step from where the last one led', async () => {
      const steps: Record<string, string> = { '/mcp?a=1': '/a/b', '/a/b': 'c', '/a/c': '?d' };
      http.handler = (request, res) => {
        const location = steps[request.url];
        if (location === undefined) answerResult(request, res, request.url);
        else res.writeHead(308, { location }).end();
      };
      const recorder = send();
      await recorder.ended;
      expect(JSON.parse(recorder.body)).toMatchObject({ result: '/a/c?d' });
    });

    test.each([
      ['elsewhere', 307, 'http://127.0.0.1:9/mcp'],
      ['to another host of the same port', 308, 'http://localhost:PORT/mcp'],
      ['to another scheme', 308, 'https://127.0.0.1:PORT/mcp'],
      ['by 302, which changes the method', 302, '/mcp/'],
      ['nowhere', 307, undefined],
      ['to nonsense', 307, 'http://['],
    ])('%s is not followed', async (_name, status, location) => {
      const port = new URL(http.origin).port;
      http.handler = (_request, res) =>
        void res.writeHead(status, location === undefined ? {} : { location: location.replace('PORT', port) }).end();
      const recorder = send();
      await recorder.ended;
      expect([recorder.head?.status, http.requests.length]).toEqual([status, 1]);
    });

    test('without end is given up', async () => {
      http.handler = (request, res) => void res.writeHead(307, { location: `${request.url}x` }).end();
      const recorder = send();
      await recorder.ended;
      expect([recorder.head?.status, http.requests.length]).toEqual([307, 4]);
    });

    test('can still be aborted, paused and resumed', async () => {
      http.handler = (request, res) => {
        if (request.url === '/mcp/') res.writeHead(200).write('first');
        else res.writeHead(307, { location: '/mcp/' }).end();
      };
      const recorder = send();
      await recorder.headed;
      recorder.control?.pause();
      recorder.control?.resume();
      recorder.control?.abort();
      await new Promise((resolve) => setImmediate(resolve));
      expect(recorder.events).toEqual(['start', 'head']);
    });
  });

  test('says nothing more after an abort, and closes the connection', async () => {
    let closed: () => void = () => {};
    const gone = new Promise<void>((resolve) => (closed = resolve));
    http.handler = (_request, res) => {
      res.on('close', closed);
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': x\n\n');
    };
    const recorder = send();
    await recorder.headed;
    recorder.control?.abort();
    await gone;
    expect(recorder.events).toEqual(['start', 'head']);
    const early = new Recorder();
    upstream.send({ method: 'GET', session: undefined, headers: [], body: undefined }, early);
    early.control?.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(early.events).toEqual(['start']);
  });

  test('stops the flow while it is paused', async () => {
    const total = 64 << 20;
    http.handler = (_request, res) => void res.writeHead(200).end(Buffer.alloc(total, 'x'));
    const recorder = new Recorder();
    let size = 0;
    recorder.onData = (chunk) => {
      size += chunk.length;
      if (size === chunk.length) recorder.control?.pause();
    };
    upstream.send({ method: 'GET', session: undefined, headers: [], body: undefined }, recorder);
    await recorder.headed;
    // A round trip on another connection: what was on its way has come.
    await send({ body: undefined, method: 'DELETE' }).headed;
    expect(size).toBeLessThan(total);
    recorder.control?.resume();
    await recorder.ended;
    expect(size).toBe(total);
  });

  test('T17: single bytes come in many turns, so that others have theirs, and all of them arrive', async () => {
    const count = 30_000;
    http.handler = (_request, res) => {
      res.writeHead(200, { 'transfer-encoding': 'chunked' }).flushHeaders();
      res.socket?.write(`${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`);
    };
    const recorder = new Recorder();
    let [ofTurn, most, size] = [0, 0, 0];
    recorder.onData = (chunk) => {
      if (ofTurn++ === 0) setImmediate(() => (ofTurn = 0));
      most = Math.max(most, ofTurn);
      size += chunk.length;
      // Whoever takes what comes may hold it up, too.
      if (size % 3000 === 0) {
        recorder.control?.pause();
        setTimeout(() => recorder.control?.resume(), 5);
      }
    };
    upstream.send({ method: 'GET', session: undefined, headers: [], body: undefined }, recorder);
    await recorder.ended;
    expect(size).toBe(count);
    expect(most).toBeLessThanOrEqual(2048);
  });

  test('that breaks off among single bytes says so, once', async () => {
    http.handler = (_request, res) => {
      res.writeHead(200, { 'transfer-encoding': 'chunked' }).flushHeaders();
      res.socket?.write('1\r\nx\r\n'.repeat(9_000), () => res.socket?.resetAndDestroy());
    };
    const recorder = send({ body: undefined, method: 'GET' });
    await recorder.ended;
    // It would be read on by now.
    await new Promise((resolve) => setTimeout(resolve, 2 * PAUSE_MS));
    expect(recorder.events).toEqual(['start', 'head', 'error']);
  });

  describe('that fails', () => {
    test('before it was reached says that nothing was sent', async () => {
      await http.close();
      const recorder = send();
      await recorder.ended;
      expect(recorder.events).toEqual(['start', 'error']);
      expect(recorder.error).toMatchObject({ sent: false, message: expect.stringContaining('ECONNREFUSED') });
    });

    test.each<[string, (res: import('node:http').ServerResponse) => void, string[]]>([
      ['before its head', (res) => void res.destroy(), ['start', 'error']],
      ['after its head', (res) => void res.writeHead(200).write('x', () => res.destroy()), ['start', 'head', 'error']],
    ])('%s says that it may have been sent', async (_name, answer, events) => {
      http.handler = (_request, res) => answer(res);
      const recorder = send();
      await recorder.ended;
      expect(recorder.events).toEqual(events);
      expect(recorder.error?.sent).toBe(true);
    });

    test('because of what it is asked to send reports it and throws nothing', async () => {
      const recorder = send({ headers: ['x-a', 'line\nbreak'] });
      await recorder.ended;
      expect(recorder.events.at(-1)).toBe('error');
      expect(http.requests).toEqual([]);
    });
  });

  describe('ends a session', () => {
    test('with its id and the headers', async () => {
      http.handler = (_request, res) => void res.writeHead(200).end('gone');
      await upstream.endSession(
        { serverId: 's1', sessionId: 'd', upstreamSessionId: 'up-1', generation: 0 },
        ['x-a', '1'],
        5000,
      );
      expect(http.requests).toMatchObject([
        { method: 'DELETE', url: '/mcp?a=1', headers: { 'mcp-session-id': 'up-1', 'x-a': '1' } },
      ]);
    });

    test('where the upstream redirects to', async () => {
      http.handler = ({ url }, res) =>
        void (url === '/mcp?a=1' ? res.writeHead(307, { location: '/mcp/' }) : res.writeHead(200)).end();
      await upstream.endSession(
        { serverId: 's1', sessionId: 'd', upstreamSessionId: 'up-1', generation: 0 },
        ['x-a', '1'],
        5000,
      );
      expect(http.requests).toMatchObject([
        { method: 'DELETE', url: '/mcp?a=1' },
        { method: 'DELETE', url: '/mcp/', headers: { 'mcp-session-id': 'up-1', 'x-a': '1' } },
      ]);
    });

    test.each([null, undefined, ''])('only if there is one (%j)', async (upstreamSessionId) => {
      await upstream.endSession({ serverId: 's1', sessionId: 'd', upstreamSessionId, generation: 0 }, [], 5000);
      expect(http.requests).toEqual([]);
    });

    test('and waits no longer than it may', async () => {
      http.handler = () => {};
      const ending = upstream.endSession(
        { serverId: 's1', sessionId: 'd', upstreamSessionId: 'u', generation: 0 },
        [],
        20,
      );
      await expect(ending).rejects.toThrow('timeout');
    });
  });
});
