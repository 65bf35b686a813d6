import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHandshake, EventReader, firstEvent } from './handshake.ts';

const forever = new AbortController().signal;
const result = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} } };

let server: Server;
let origin: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let requests: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[];
let handshake: ReturnType<typeof createHandshake>;

beforeEach(async () => {
  requests = [];
  handshake = createHandshake('1.2.3');
  server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ method: request.method, headers: request.headers, body });
      if (request.method === 'DELETE') response.end();
      else answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await handshake.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const probe = (signal = forever) => handshake.probeHandshake({ origin, mountPath: '/mcp' }, signal);
const json =
  (status: number, body: object, headers: Record<string, string> = {}): typeof answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

describe('a handshake', () => {
  it('opens a session as a client does, and ends it', async () => {
    answer = json(200, result, { 'mcp-session-id': 's1' });
    expect(await probe()).toEqual({ ok: true });
    const [opening, closing] = requests;
    expect(opening?.headers).toMatchObject({ accept: 'application/json, text/event-stream' });
    expect(JSON.parse(opening?.body ?? '')).toMatchObject({
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', clientInfo: { name: 'mcp-operator', version: '1.2.3' } },
    });
    expect(closing).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 's1' } });
  });

  it('takes the first answer of a stream that does not end', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`: hello\n\nid: 1\ndata:\n\nevent: message\ndata: ${JSON.stringify(result)}\n\n`);
    };
    expect(await probe()).toEqual({ ok: true });
  });

  it.each<[string, number, object, object]>([
    [
      'the adapter wants a token',
      401,
      { error: { data: { code: 'unauthorized' } } },
      { ok: true, note: expect.stringContaining('the adapter wants credentials') },
    ],
    [
      'the upstream wants a token',
      401,
      { error: 'invalid_token' },
      { ok: true, note: expect.stringContaining('the upstream wants credentials') },
    ],
    [
      'the adapter wants a header',
      400,
      { error: { data: { code: 'missing_client_header' } } },
      { ok: true, note: expect.stringContaining('headers') },
    ],
    [
      'the adapter has all the sessions that it may have',
      429,
      { error: { data: { code: 'sessions_limit' } } },
      { ok: true, note: expect.stringContaining('sessions') },
    ],
    [
      'the upstream refuses more',
      429,
      { error: { message: 'Too many requests' } },
      { ok: false, message: expect.stringContaining('HTTP 429') },
    ],
    [
      'the upstream is down',
      502,
      { error: { message: 'The upstream server could not be reached.' } },
      {
        ok: false,
        message: expect.stringMatching(
          /\/mcp answered initialize with HTTP 502: The upstream server could not be reached/,
        ),
      },
    ],
    [
      'nothing is there',
      404,
      { detail: 'There is nothing at this path.' },
      { ok: false, message: expect.stringContaining('HTTP 404: There is nothing') },
    ],
    [
      'it is no MCP server',
      200,
      { hello: 'world' },
      { ok: false, message: expect.stringContaining('no answer of an MCP server') },
    ],
  ])('tells that %s', async (_, status, body, expected) => {
    answer = json(status, body);
    expect(await probe()).toEqual(expected);
  });

  it('T5: connects to no metadata service, whatever address a pod says it has', async () => {
    const target = { origin: 'http://169.254.169.254:80', mountPath: '/mcp' };
    expect(await handshake.probeHandshake(target, forever)).toMatchObject({
      ok: false,
      message: expect.stringContaining('ERR_BLOCKED_ADDRESS'),
    });
  });

  it('T17: reads no answer that nests without end', async () => {
    answer = (_, response) =>
      response.end(JSON.stringify(result).replace('{', `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)},`));
    expect(await probe()).toMatchObject({ ok: false });
  });

  it('tells that nobody is there', async () => {
    const found = await handshake.probeHandshake({ origin: 'http://127.0.0.1:1', mountPath: '/mcp' }, forever);
    expect(found).toEqual({ ok: false, message: 'http://127.0.0.1:1/mcp cannot be reached: ECONNREFUSED' });
  });

  it('ends with the operator', async () => {
    const stop = new AbortController();
    answer = () => stop.abort(new Error('the operator stops'));
    await expect(probe(stop.signal)).rejects.toThrow('the operator stops');
  });

  it('gives up after its time, which is told, and says what may be in the way', async () => {
    await handshake.close();
    handshake = createHandshake('1.2.3', 300);
    answer = () => {};
    const began = performance.now();
    expect(await probe()).toEqual({
      ok: false,
      message: expect.stringContaining('did not answer within 0.3 s; if its NetworkPolicy'),
    });
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(290);
    expect(took).toBeLessThan(4_000);
  });
});

it.each([
  ['data: {"result":1}\r\n\r\n', { result: 1 }],
  ['data: {"result":\ndata: 1}\n\n', { result: 1 }],
  ['data: {"method":"ping"}\n\ndata: {"error":{}}\n\n', { error: {} }],
  ['data: {"result":1}\n', undefined],
  ['', undefined],
])('finds the first answer in %j', (stream, expected) => {
  expect(new EventReader().add(stream)).toEqual(expected);
});

it.each(['\r\n', '\n', '\r'])('is found with %j at the ends of lines, wherever the parts are cut', (end) => {
  const stream = [
    ': hello',
    '',
    'data: {"method":"x"}',
    '',
    'event: message',
    'data: {"result":',
    'data: 1}',
    '',
    '',
  ].join(end);
  for (let cut = 1; cut < stream.length; cut += 1) {
    const reader = new EventReader();
    const found = reader.add(stream.slice(0, cut)) ?? reader.add(stream.slice(cut));
    expect(found, String(cut)).toEqual({ result: 1 });
  }
});

it('L9 T23: an answer that comes in thousands of parts is read once', () => {
  const reader = new EventReader();
  const start = process.threadCpuUsage();
  for (let part = 0; part < 20_000; part += 1) reader.add(`data: {"n":${part},"text":"${'x'.repeat(30)}"}\n\n`);
  for (let part = 0; part < 100_000; part += 1) reader.add('xxxxxxxxxx');
  const { user, system } = process.threadCpuUsage(start);
  expect((user + system) / 1000).toBeLessThan(500);
  expect(reader.count).toBe(20_000);
});

/** The text in parts of so many bytes. */
async function* inChunks(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

it.each(['\n\n', '\r\n\r\n', '\r\r'])(
  'finds the first answer byte by byte, with events that end in %j',
  async (end) => {
    const stream = `data: {"method":"ping"}${end}data: {"result":"ü"}${end}data: {"result":2}${end}`;
    expect(await firstEvent(inChunks(stream, 1))).toEqual({ result: 'ü' });
  },
);

it.each([
  ['events', ': hello\n\ndata: {}\n\n', 1001],
  ['bytes', `data: ${'x'.repeat(65_530)}`, 17],
])('T23: reads so many %s of a stream that never ends', async (_, text, most) => {
  let parts = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; parts < 2 * most; parts += 1) yield Buffer.from(text);
  }
  expect(await firstEvent(endless())).toBeUndefined();
  expect(parts).toBe(most - 1);
});

it('T23: takes little time for a stream that comes byte by byte and never ends', async () => {
  const parts = inChunks(`data: ${'x'.repeat(200_000)}`, 1);
  const before = process.cpuUsage();
  expect(await firstEvent(parts)).toBeUndefined();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(2_000);
});
