import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { MemoryBudget } from '../limits/memory-budget.ts';
import type { RequestFailure } from './failure.ts';
import type { HttpRequest } from './http-client.ts';
import { inTurn, json, TestServer } from './testing/test-server.ts';
import { proxiesFrom, UndiciClient } from './undici-client.ts';

const TLS = ClientTls.parse({});
const never = new AbortController().signal;

let server: TestServer;
let client: UndiciClient;
beforeEach(async () => {
  server = await TestServer.start();
  client = new UndiciClient({ proxies: {}, userAgent: 'test/1' });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const request = (changes: Partial<HttpRequest> & { path?: string } = {}): HttpRequest => ({
  method: 'GET',
  url: server.url + (changes.path ?? '/v1/x?token=s3cret'),
  headers: {},
  timeoutMs: 5000,
  maxBytes: 1000,
  tls: TLS,
  ...changes,
});

async function failure(changes: Partial<HttpRequest> & { path?: string } = {}): Promise<RequestFailure> {
  const failed = await client.send(request(changes), never).then(
    () => undefined,
    (error: unknown) => error as RequestFailure,
  );
  if (failed === undefined) throw new Error('the request did not fail');
  expect(failed.message).not.toContain('s3cret');
  return failed;
}

describe('T5: addresses that nobody may connect to', () => {
  test.each(['http://169.254.169.254/', 'http://2852039166/', 'http://[::ffff:a9fe:a9fe]/', 'http://100.100.100.200/'])(
    '%s',
    async (url) => {
      expect(await failure({ url })).toMatchObject({
        kind: 'refused',
        message: expect.stringMatching(/^GET http:\S+: refused: \S+ is (a|the) /),
      });
    },
  );

  test('this machine, in a pod without a sidecar, also by its name; a proxy may be there all the same', async () => {
    await client.close();
    client = new UndiciClient({ proxies: {}, userAgent: 'test/1', rules: { loopback: false } });
    expect(await failure()).toMatchObject({ kind: 'refused', message: expect.stringContaining('the pod itself') });
    const url = server.url.replace('127.0.0.1', 'localhost');
    expect(await failure({ url })).toMatchObject({ kind: 'refused', message: expect.stringContaining('resolves to') });
    expect(server.requests).toEqual([]);
    await client.close();
    client = new UndiciClient({ proxies: { httpProxy: server.url }, userAgent: 'test/1', rules: { loopback: false } });
    expect(await client.send(request({ url: 'http://api.example.com/x' }), never)).toMatchObject({ status: 200 });
  });

  test('a proxy at such an address', async () => {
    await client.close();
    client = new UndiciClient({ proxies: { httpProxy: 'http://169.254.169.254:80' }, userAgent: 'test/1' });
    expect(await failure()).toMatchObject({ kind: 'refused' });
  });
});

describe('a request', () => {
  test('arrives as it was written, its query untouched', async () => {
    const path = "/a%20b/'x'?q=a:b,c[0]|'d'+%20{e}";
    await client.send(request({ path, headers: { 'X-Key': 'é' } }), never);
    expect(server.requests[0]).toMatchObject({ method: 'GET', target: path });
    expect(server.requests[0]?.headers).toMatchObject({
      accept: '*/*',
      'user-agent': 'test/1',
      'accept-encoding': 'gzip, deflate, br',
    });
    expect(Buffer.from(server.requests[0]?.headers['x-key'] as string, 'latin1').toString('latin1')).toBe('é');
  });

  test('has the headers that are given instead of the usual ones', async () => {
    await client.send(request({ headers: { Accept: 'application/json', 'User-Agent': 'mine' } }), never);
    expect(server.requests[0]?.headers).toMatchObject({ accept: 'application/json', 'user-agent': 'mine' });
  });

  test('with a body', async () => {
    await client.send(request({ method: 'POST', body: '{"a":"é"}' }), never);
    expect(server.requests[0]).toMatchObject({ method: 'POST', body: '{"a":"é"}' });
  });
});

describe('an answer', () => {
  test('comes as text, with its size, without a byte order mark', async () => {
    server.answer = (_request, response) => void response.writeHead(206, { link: '<x>' }).end('\uFEFF{"é":1}');
    const answer = await client.send(request(), never);
    expect(answer).toMatchObject({ status: 206, text: '{"é":1}', bytes: 11 });
    expect(answer.headers.link).toBe('<x>');
  });

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['zstd', zstdCompressSync],
    ['identity', (text: string) => Buffer.from(text)],
  ])('may be compressed: %s', async (encoding, compress) => {
    const text = JSON.stringify({ a: 'é'.repeat(100) });
    server.answer = (_request, response) =>
      void response.writeHead(200, { 'content-encoding': encoding }).end(compress(text));
    expect(await client.send(request(), never)).toMatchObject({ text, bytes: 208 });
  });

  test('of exactly the size limit is read', async () => {
    server.answer = (_request, response) => void response.end('x'.repeat(1000));
    expect((await client.send(request(), never)).bytes).toBe(1000);
  });

  test.each([
    ['with a length', (text: string) => ({ body: text, headers: { 'content-length': String(text.length) } })],
    ['in chunks', (text: string) => ({ body: text, headers: { 'transfer-encoding': 'chunked' } })],
    ['compressed', (text: string) => ({ body: gzipSync(text), headers: { 'content-encoding': 'gzip' } })],
  ])('that is too large is not read: %s', async (_how, made) => {
    const { body, headers } = made('x'.repeat(1001));
    server.answer = (_request, response) => void response.writeHead(200, headers).end(body);
    expect(await failure()).toMatchObject({
      kind: 'too_large',
      message: `GET ${server.url}/v1/x: the answer is larger than 1000 bytes`,
    });
  });

  test('that says it is too large is not waited for', async () => {
    server.answer = (_request, response) => response.writeHead(200, { 'content-length': '1001' }).flushHeaders();
    expect((await failure({ timeoutMs: 20_000 })).kind).toBe('too_large');
  });

  test('T17: that does not fit into memory with what it becomes fails', async () => {
    server.answer = (_request, response) => void response.end('x'.repeat(600));
    const memory = (bytes: number) => new MemoryBudget(bytes).share();
    expect(await client.send(request({ memory: memory(1200) }), never)).toMatchObject({ bytes: 600 });
    expect(await failure({ memory: memory(1199) })).toMatchObject({
      kind: 'too_large',
      message: expect.stringContaining('of memory'),
    });
  });

  test('M4: that comes slowly is read where no rate is asked for, and so is one that is thought about first', async () => {
    const quick = new UndiciClient({ proxies: {}, userAgent: 'test', slowMs: 50 });
    server.answer = async (_request, response) => {
      response.writeHead(200).flushHeaders();
      await delay(200);
      response.end('{}');
    };
    expect(await quick.send(request({ minBytesPerSecond: 1024, timeoutMs: 20_000 }), never)).toMatchObject({
      text: '{}',
    });
    server.answer = async (_request, response) => {
      response.writeHead(200).write('{');
      await delay(200);
      response.end('}');
    };
    expect(await quick.send(request({ minBytesPerSecond: 0, timeoutMs: 20_000 }), never)).toMatchObject({ text: '{}' });
    expect(await quick.send(request({ timeoutMs: 20_000 }), never)).toMatchObject({ text: '{}' });
    await quick.close();
  });

  test.each([200, 500])(
    'M4 T17: that begins and hardly goes on fails before its time limit (status %i)',
    async (status) => {
      const quick = new UndiciClient({ proxies: {}, userAgent: 'test', slowMs: 100 });
      server.answer = (_request, response) => void response.writeHead(status).write('{');
      await expect(quick.send(request({ minBytesPerSecond: 1024, timeoutMs: 60_000 }), never)).rejects.toMatchObject({
        kind: 'slow',
        message: `GET ${server.url}/v1/x: the answer comes with less than 1024 bytes a second (minBytesPerSecond)`,
      });
      await quick.close();
    },
  );

  test('H6 M4: that waits for memory loses no time, and need not go on meanwhile', async () => {
    const quick = new UndiciClient({ proxies: {}, userAgent: 'test', slowMs: 300 });
    const budget = new MemoryBudget(1000);
    const other = budget.share();
    await other.take(900, never);
    let goOn = (): void => expect.fail('nothing was asked for');
    server.answer = (_request, response) => {
      response.write('x'.repeat(400));
      goOn = () => void response.end();
    };
    const memory = budget.share();
    const sent = quick.send(request({ memory, timeoutMs: 1500, minBytesPerSecond: 1024 }), never);
    await delay(1700);
    other[Symbol.dispose]();
    goOn();
    expect(await sent).toMatchObject({ bytes: 400 });
    await quick.close();
  });

  test('without end is not read for ever', async () => {
    server.answer = (_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(100))) continue;
        response.once('drain', more);
      };
      more();
    };
    expect((await failure()).kind).toBe('too_large');
  });

  test('in no UTF-8, or an unknown encoding, is no JSON', async () => {
    server.answer = (_request, response) => void response.end(Buffer.from('"é"', 'latin1'));
    expect((await failure()).kind).toBe('not_json');
    server.answer = (_request, response) => void response.writeHead(200, { 'content-encoding': 'rot13' }).end('x');
    expect((await failure()).kind).toBe('not_json');
  });

  test('that is not what its encoding says fails', async () => {
    server.answer = (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('{}');
    expect(await failure()).toMatchObject({ kind: 'network', message: expect.stringContaining('not the gzip') });
  });

  test('T17: that is no success and becomes large is not told', async () => {
    const answer = gzipSync('x'.repeat(2 ** 21));
    server.answer = (_request, response) => void response.writeHead(500, { 'content-encoding': 'gzip' }).end(answer);
    expect(await client.send(request(), never)).toMatchObject({ status: 500, text: '' });
  });

  test('that is no success comes with its beginning', async () => {
    server.answer = json({ error: 'slow down' }, 429, { 'retry-after': '7' });
    const answer = await client.send(request({ maxBytes: 1 }), never);
    expect(answer).toMatchObject({ status: 429, text: '{"error":"slow down"}' });
    server.answer = (_request, response) => void response.writeHead(500).end('x'.repeat(1_000_000));
    expect((await client.send(request(), never)).text).toHaveLength(16_384);
    const gzip = gzipSync('problem');
    server.answer = (_request, response) => void response.writeHead(500, { 'content-encoding': 'gzip' }).end(gzip);
    expect((await client.send(request(), never)).text).toBe('problem');
    server.answer = (_request, response) => void response.writeHead(500, { 'content-encoding': 'gzip' }).end('?');
    expect((await client.send(request(), never)).text).toBe('');
  });

  test('that redirects is an answer, and nobody goes there', async () => {
    server.answer = (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end();
    expect((await client.send(request(), never)).status).toBe(302);
    expect(server.targets).toEqual(['/v1/x?token=s3cret']);
  });
});

describe('time', () => {
  test('is limited for the whole exchange', async () => {
    server.answer = () => {};
    expect(await failure({ timeoutMs: 30 })).toMatchObject({
      kind: 'timeout',
      message: `GET ${server.url}/v1/x: no answer within 0.03 s`,
    });
    server.answer = (_request, response) => void response.write('{"a":');
    expect((await failure({ timeoutMs: 30 })).kind).toBe('timeout');
  });

  test('does not matter to who has given up', async () => {
    const controller = new AbortController();
    const reason = new Error('shutting down');
    server.answer = () => controller.abort(reason);
    await expect(client.send(request(), controller.signal)).rejects.toBe(reason);
    await expect(client.send(request(), controller.signal)).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a broken connection', () => {
  let raw: Server;
  afterEach(() => new Promise((resolve) => raw.close(resolve)));

  const listen = async (onData: (socket: Socket) => void): Promise<string> => {
    raw = createServer((socket) => void socket.on('error', () => {}).once('data', () => onData(socket)));
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(raw.address() as AddressInfo).port}/x?token=s3cret`;
  };

  test.each<[string, (socket: Socket) => void]>([
    ['reset', (socket) => socket.resetAndDestroy()],
    ['closed without an answer', (socket) => socket.end()],
    ['closed in the middle of the body', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"a":')],
    ['no HTTP', (socket) => socket.end('220 mail.example.com ESMTP\r\n')],
  ])('%s', async (_how, onData) => {
    expect((await failure({ url: await listen(onData) })).kind).toBe('network');
  });

  test('refused', async () => {
    const url = await listen(() => {});
    await new Promise((resolve) => raw.close(resolve));
    expect(await failure({ url })).toMatchObject({ kind: 'network', message: expect.stringContaining('ECONNREFUSED') });
  });
});

test('connections are used again, also after errors', async () => {
  server.answer = inTurn(json({}, 500), json({ ok: true }));
  for (let i = 0; i < 10; i++) await client.send(request(), never);
  // The pool opens a second one where a request follows before the first is known to be free.
  expect(server.connections).toBeLessThanOrEqual(2);
});

test('a client that is closed sends nothing', async () => {
  await client.close();
  await expect(client.send(request(), never)).rejects.toThrow('the client is closed');
});

describe('proxies from the environment', () => {
  test('in either case', () => {
    expect(proxiesFrom({ HTTP_PROXY: 'http://a', http_proxy: 'http://b', NO_PROXY: 'x' })).toEqual({
      httpProxy: 'http://b',
      httpsProxy: undefined,
      noProxy: 'x',
    });
  });

  test('of all schemes, where there is none for one', () => {
    expect(proxiesFrom({ ALL_PROXY: 'http://a', https_proxy: 'http://b' })).toEqual({
      httpProxy: 'http://a',
      httpsProxy: 'http://b',
      noProxy: undefined,
    });
  });

  test.each(['socks5://user:s3cret@127.0.0.1:1', 'user:s3cret@127.0.0.1:1', 's3cret'])(
    'must be URLs of http: %s',
    async (httpProxy) => {
      const proxied = new UndiciClient({ proxies: { httpProxy }, userAgent: 'test/1' });
      try {
        const failure: unknown = await proxied.send(request(), never).catch((error: unknown) => error);
        expect(failure).toMatchObject({ kind: 'network', message: expect.stringContaining('the proxy of the') });
        expect(String(failure)).not.toContain('s3cret');
      } finally {
        await proxied.close();
      }
    },
  );

  test('are asked for plain http by the whole URL, but not for hosts that are excluded', async () => {
    const proxy = await TestServer.start(json({ via: 'proxy' }));
    const proxied = new UndiciClient({ proxies: { httpProxy: proxy.url, noProxy: '127.0.0.1' }, userAgent: 'test/1' });
    try {
      const url = 'http://api.invalid/x?a=b';
      expect((await proxied.send(request({ url }), never)).text).toBe('{"via":"proxy"}');
      expect(proxy.targets).toEqual([url]);
      expect(proxy.requests[0]?.headers.host).toBe('api.invalid');
      expect((await proxied.send(request(), never)).text).toBe('{}');
    } finally {
      await proxied.close();
      await proxy.close();
    }
  });
});
