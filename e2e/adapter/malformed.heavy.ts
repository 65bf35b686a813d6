import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectGarbage, inspectorUrl } from '../../bench/harness/collect-garbage.ts';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { type Door, drain, openSession, textOf } from './kit/session.ts';
import { within } from './kit/within.ts';

const MIB = 2 ** 20;
const PATH = '/mcp/up';
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
/** What a client must wait for at most; generous, because other tests run at the same time. */
const PATIENCE_MS = 20_000;

interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Buffer;
}

const POST_HEADERS = [
  ['Host', 'localhost'],
  ['Content-Type', 'application/json'],
  ['Connection', 'close'],
] as const;

/** The bytes of a request, exactly as they are told; `Content-Length` is added where nothing says otherwise. */
function bytesOf({ method = 'POST', path = PATH, headers = [], body = '' }: Sending): Buffer {
  const own = new Set(headers.map(([name]) => name.toLowerCase()));
  const all = [...POST_HEADERS.filter(([name]) => !own.has(name.toLowerCase())), ...headers];
  const framed = own.has('content-length') || own.has('transfer-encoding');
  if (!framed) all.push(['Content-Length', String(Buffer.byteLength(body))]);
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, 'latin1'), Buffer.from(body)]);
}

/** Reads one answer and checks its form: a status line, headers, and a body of just the length that they say. */
function parseAnswer(bytes: Buffer): Answer {
  const text = bytes.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end === -1 ? undefined : end).split('\r\n');
  const [, status] = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine) ?? [];
  if (status === undefined) throw new Error(`no HTTP answer: ${text.slice(0, 200)}`);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
    }),
  );
  const body = bytes.subarray(end + 4);
  const length = headers.get('content-length');
  if (length !== undefined) expect(body.length).toBe(Number(length));
  return { status: Number(status), headers, body: body.toString() };
}

describe('T17: malformed requests', { timeout: 90_000 }, () => {
  let upstream: ScriptedUpstream;
  let adapter: RunningAdapter;
  let door: Door;
  let sessionId: string;
  let sent = 0;
  let before = 0;
  const sockets = new Set<Socket>();

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const core = { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, log_level: 'info' };
    const config = { core, state_persistence: { type: 'memory' }, servers: [mounted('up', upstream.url)] };
    // SIGUSR1 then opens the inspector at a free port.
    adapter = await startAdapter({ config, env: { NODE_OPTIONS: '--inspect-port=0' } });
    const session = await openSession(adapter);
    ({ sessionId } = session);
    door = session.at(adapter);
    // Its memory grows with the first requests that it serves at all.
    await serve(3000);
    before = await memory();
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await adapter?.stop();
    await upstream?.close();
  });

  const inSession = (): readonly (readonly [string, string])[] => [['Mcp-Session-Id', sessionId]];
  const valid = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"text":"naïve 😀"}}`;

  async function open(): Promise<Socket> {
    const socket = connect(adapter.port, '127.0.0.1');
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    await once(socket, 'connect');
    return socket;
  }

  /** All that comes until the connection is closed. Resets count as such: what is unread then is none of its care. */
  async function received(socket: Socket): Promise<Buffer> {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    socket.on('close', () => resolve());
    await within(PATIENCE_MS, 'the end of the connection', closed);
    sent += 1;
    return Buffer.concat(chunks);
  }

  /** Sends bytes and reads the answer. */
  async function rawExchange(bytes: Buffer): Promise<Buffer> {
    const socket = await open();
    socket.write(bytes);
    return received(socket);
  }

  const exchange = async (sending: Sending): Promise<Answer> => parseAnswer(await rawExchange(bytesOf(sending)));

  /** A refusal as this mount gives it: no fault of the adapter's, a JSON-RPC error, nothing of its insides. */
  function expectRefusal(answer: Answer, status?: number): void {
    if (status === undefined) expect([400, 404, 405, 413, 415]).toContain(answer.status);
    else expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const errors: unknown = JSON.parse(answer.body);
    for (const error of Array.isArray(errors) ? errors : [errors]) {
      expect(error).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number), message: expect.any(String) } });
    }
    expect(answer.body).not.toMatch(/node_modules|\.ts:\d|at \w+ \(/);
    expect(answer.body.length).toBeLessThan(2000);
  }

  async function memory(): Promise<number> {
    const status = await readFile(`/proc/${adapter.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** Requests as usual. They also make room: what is garbage goes when something new needs the place. */
  async function serve(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) expect(await drain(door.request('ping'))).toBe(200);
  }

  describe('whose body is no message', () => {
    test('because it is cut off, at every byte', async () => {
      const sample = Buffer.from(valid(1));
      for (let end = 0; end < sample.length; end += 1) {
        expectRefusal(await exchange({ headers: inSession(), body: sample.subarray(0, end) }), 400);
      }
    });

    test('because a byte of it is no UTF-8, at every position', async () => {
      const sample = Buffer.from(valid(1));
      for (let at = 0; at < sample.length; at += 1) {
        const body = Buffer.concat([sample.subarray(0, at), Buffer.of(0xff), sample.subarray(at)]);
        expectRefusal(await exchange({ headers: inSession(), body }), 400);
      }
    });

    const members = ['jsonrpc', 'id', 'method', 'params'] as const;
    const values = [
      'null',
      'true',
      '1.5',
      '[]',
      '{}',
      '""',
      '"x"',
      '1e999',
      '-0',
      '[[[]]]',
      '{"a":{"a":1}}',
      '"\\u0000"',
    ];
    /** Which of them are what the member may be. */
    const fine: Record<(typeof members)[number], readonly string[]> = {
      jsonrpc: [],
      id: ['""', '"x"', '-0', '"\\u0000"'],
      method: ['"x"', '"\\u0000"'],
      params: ['{}', '{"a":{"a":1}}'],
    };

    test.for(members)('because its %s is of the wrong kind, and is answered when it is not', async (member) => {
      for (const value of values) {
        const texts = { jsonrpc: '"2.0"', id: '7', method: '"ping"', params: '{}', [member]: value };
        const body = `{${Object.entries(texts)
          .map(([name, text]) => `"${name}":${text}`)
          .join(',')}}`;
        const answer = await exchange({ headers: inSession(), body });
        if (fine[member].includes(value)) expect([body, answer.status]).toEqual([body, 200]);
        else expectRefusal(answer, 400);
      }
    });

    test.for<[string, string | Buffer]>([
      ['nothing', ''],
      ['spaces', '   \r\n\t'],
      ['null', 'null'],
      ['a number', '12345'],
      ['a text', '"ping"'],
      ['an empty object', '{}'],
      ['an empty array', '[]'],
      ['an array of nothing', '[null,[],1,"x",{}]'],
      ['an array of arrays', `[[${PING}]]`],
      ['a batch in a revision without batches', `[${PING}]`],
      ['a batch of too many', `[${Array.from({ length: 101 }, (_, i) => valid(i)).join(',')}]`],
      ['a response to nobody', '{"jsonrpc":"2.0","result":{}}'],
      ['only an id', '{"jsonrpc":"2.0","id":1}'],
      ['duplicate ids', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
      ['duplicate methods', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'],
      ['duplicate methods in other letters', '{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}'],
      [
        'duplicate methods, one escaped',
        String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}`,
      ],
      ['duplicate parameters', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}'],
      [
        'a duplicate after a thousand others',
        `{"jsonrpc":"2.0","id":1,"method":"ping",${Array.from({ length: 1000 }, (_, i) => `"k${i}":0`).join(',')},"x":1,"x":2}`,
      ],
      ['a byte order mark', `\ufeff${PING}`],
      ['UTF-16', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le')],
      ['a NUL byte', '{"jsonrpc":"2.0","id":1,"method":"ping"}\0'],
      ['a NUL byte in a text', '{"jsonrpc":"2.0","id":1,"method":"pi\0ng"}'],
      ['a line break in a text', '{"jsonrpc":"2.0","id":1,"method":"pi\nng"}'],
      ['comments', '{"jsonrpc":"2.0","id":1,/* x */"method":"ping"}'],
      ['single quotes', "{'jsonrpc':'2.0','id':1,'method':'ping'}"],
      ['two messages', '{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}'],
      ['an overlong encoding', Buffer.from([0x7b, 0xc0, 0xaf, 0x7d])],
      ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
      ['gzip', Buffer.from('1f8b0800000000000003abaed40d00f1f3d08b03000000', 'hex')],
      ['a form', 'jsonrpc=2.0&id=1&method=ping'],
      [
        'nesting of 100,000 arrays',
        `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
      ],
      ['nesting of 100,000 objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
      ['16 million open brackets', '['.repeat(16_000_000)],
      ['an initialize in a batch', '[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]'],
      [
        'an initialize that is longer than what a session keeps',
        `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":"${'a'.repeat(300_000)}"}}`,
      ],
    ])('because it is %s', async ([, body]) => {
      expectRefusal(await exchange({ headers: inSession(), body }), 400);
    });

    test('but lone surrogates, NULs and large numbers in a good one pass as they are', async () => {
      const text = String.raw`"\ud800 \u0000 \udfff"`;
      const params = `{"name":"bytes","arguments":{"result":${JSON.stringify(`{"content":[],"x":${text},"n":1e400}`)},"y":${text}}}`;
      const answer = await exchange({
        headers: inSession(),
        body: `{"jsonrpc":"2.0","id":${text},"method":"tools/call","params":${params}}`,
      });
      expect([answer.status, answer.body]).toEqual([
        200,
        `{"jsonrpc":"2.0","id":${text},"result":{"content":[],"x":${text},"n":1e400}}`,
      ]);
    });
  });

  describe('whose headers are wrong', () => {
    const body = PING;

    test.for([
      '',
      ' ',
      'application',
      'application/',
      '/json',
      'application/json5',
      'application/jsonx',
      'text/json',
      'text/html',
      '*/*',
      'application/json, text/plain',
      'multipart/form-data; boundary=',
      'application/xml',
      ';',
      'é',
      'a'.repeat(5000),
    ])('as to what the body is: %.40s', async (type) => {
      const answer = await exchange({ headers: [...inSession(), ['Content-Type', type]], body });
      expectRefusal(answer, 415);
    });

    test.for([
      'application/json;charset=utf-8',
      'Application/JSON ; Charset="UTF-8"',
      'application/json; charset=latin1',
      'application/json; charset=',
      'application/json;;;',
      'application/json; x=y',
    ])('is none: %s', async (type) => {
      expect((await exchange({ headers: [...inSession(), ['Content-Type', type]], body })).status).toBe(200);
    });

    test.for<[string, string, number]>([
      ['a path', '../../../../etc/passwd', 404],
      ['an encoded path', '%2e%2e%2f%2e%2e%2f', 404],
      ['a NUL', 'a\0b', 400],
      ['spaces', '   ', 400],
      ['10 KB', 'a'.repeat(10_240), 404],
      ['letters outside ASCII', 'sessiön', 404],
      ['an emoji', Buffer.from('😀').toString('latin1'), 404],
      ['a query for a database', "' OR 1=1 --", 404],
      ['a pattern for keys', '*', 404],
      ['a prototype', '__proto__', 404],
      ['a letter too much', `${'0'.repeat(32)}0`, 404],
      ['two ids', `${'0'.repeat(32)}, ${'0'.repeat(32)}`, 404],
      ['no id', '', 400],
    ])('as to the session: %s', async ([, id, status]) => {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const answer = await exchange({
          method,
          headers: [['Mcp-Session-Id', id]],
          body: method === 'POST' ? body : '',
        });
        // node's own parser refuses control characters before there is a mount.
        if (id.includes('\0')) expect(answer.status).toBe(400);
        else expectRefusal(answer, status);
      }
    });

    test('twice as to the session', async () => {
      expectRefusal(await exchange({ headers: [...inSession(), ...inSession()], body }), 404);
    });

    test.for(['', '7', '../x', 'GET|1-1', 'a'.repeat(8000), 'ü', '\t', '%00', "' OR 1=1 --"])(
      'as to the last event: %.20j',
      async (id) => {
        // What an event id means is the upstream's business; it is passed on and the answer comes back.
        const stream = await fetch(`${adapter.url}${PATH}`, {
          headers: { 'mcp-session-id': sessionId, 'last-event-id': id },
          signal: AbortSignal.timeout(PATIENCE_MS),
        });
        expect([200, 400, 404, 409]).toContain(stream.status);
        await stream.body?.cancel();
        sent += 1;
      },
    );

    test.for(['', 'text/html', 'image/*', 'application/json;q=0', '*/*;q=abc', ',,,', 'a'.repeat(5000), 'é'])(
      'as to the answer: %.20s',
      async (accept) => {
        const answer = await exchange({ headers: [...inSession(), ['Accept', accept]], body });
        expect(answer.status).toBe(200);
      },
    );

    test.for(['2024-11-05', '9999-99-99', 'zzz', '', '2026-07-28', 'a'.repeat(1000), "'"])(
      'as to the revision: %.20s',
      async (version) => {
        const answer = await exchange({ headers: [...inSession(), ['MCP-Protocol-Version', version]], body });
        expect([200, 400]).toContain(answer.status);
      },
    );

    test.for<[string, Sending]>([
      ['one of 20 KB', { headers: [['X-Large', 'a'.repeat(20_000)]] }],
      ['one of 1 MB', { headers: [['X-Large', 'a'.repeat(MIB)]] }],
      ['a name of 20 KB', { headers: [['a'.repeat(20_000), 'x']] }],
      ['5000 of them', { headers: Array.from({ length: 5000 }, (_, i) => [`X-${i}`, 'x']) }],
      ['a path of 100 KB', { path: `${PATH}?${'a'.repeat(100_000)}` }],
    ])('because there is too much: %s', async ([, sending]) => {
      const bytes = await rawExchange(bytesOf({ ...sending, body }));
      // Where much is left unread, a reset may overtake the answer.
      if (bytes.length === 0) return;
      const answer = parseAnswer(bytes);
      expect(answer.status).toBe(431);
      expect(JSON.parse(answer.body)).toEqual({ detail: expect.any(String), code: 'headers_too_large' });
      expect(answer.headers.get('connection')).toBe('close');
    });

    test('by their number alone is no reason to refuse them', async () => {
      const many = Array.from({ length: 500 }, (_, i) => [`X-${i}`, 'x'] as const);
      expect((await exchange({ headers: [...inSession(), ...many], body })).status).toBe(200);
    });

    test.for<[string, Sending]>([
      ['negative', { headers: [['Content-Length', '-1']] }],
      ['no number', { headers: [['Content-Length', 'abc']] }],
      ['hexadecimal', { headers: [['Content-Length', '0x10']] }],
      [
        'given twice',
        {
          headers: [
            ['Content-Length', '5'],
            ['Content-Length', '6'],
          ],
        },
      ],
      ['larger than numbers are', { headers: [['Content-Length', '99999999999999999999999']] }],
      [
        'there beside chunks',
        {
          headers: [
            ['Content-Length', '5'],
            ['Transfer-Encoding', 'chunked'],
          ],
        },
      ],
    ])('as to the length: %s', async ([, sending]) => {
      const answer = await exchange({ ...sending, body: '{"a":1}' });
      expect([400, 413]).toContain(answer.status);
      expect(JSON.parse(answer.body)).toBeTypeOf('object');
    });

    test('because the length is larger than any body may be: refused before a byte of it is read', async () => {
      const answer = await exchange({ headers: [...inSession(), ['Content-Length', String(100 * MIB)]], body: '{' });
      expectRefusal(answer, 413);
      expect(answer.headers.get('connection')).toBe('close');
    });

    test('because the length is too small: the rest is no request', async () => {
      const headers = [...inSession(), ['Content-Length', '5'], ['Connection', 'keep-alive']] as const;
      const answers = (await rawExchange(bytesOf({ headers, body }))).toString().split(/(?=HTTP\/1\.1 )/);
      expect(answers.length).toBeGreaterThan(0);
      for (const answer of answers) expect(parseAnswer(Buffer.from(answer)).status).toBe(400);
    });

    test.for([
      'zz\r\nabc\r\n0\r\n\r\n',
      '-1\r\n\r\n',
      '5\r\nab',
      'ffffffffffffffffff\r\nx',
      '1;ext\r\n{\r\n0\r\n\r\n',
      '0\r\nBad Trailer\r\n\r\n',
      '\r\n',
    ])('as to the chunks: %j', async (chunks) => {
      const socket = await open();
      socket.write(bytesOf({ headers: [...inSession(), ['Transfer-Encoding', 'chunked']], body: chunks }));
      // Some of them are unfinished; then it is the client that gives up.
      setTimeout(() => socket.end(), 50).unref();
      const answer = await received(socket);
      if (answer.length > 0) expect(parseAnswer(answer).status).toBe(400);
    });
  });

  describe('that are no HTTP', () => {
    test.for<[string, Buffer]>([
      ['garbage', Buffer.from('garbage\r\n\r\n')],
      ['zeros', Buffer.alloc(1000)],
      ['TLS', Buffer.from('16030100c8010000c40303', 'hex')],
      ['HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
      ['HTTP/9', Buffer.from('GET / HTTP/9.9\r\n\r\n')],
      ['no version', Buffer.from('GET /\r\n\r\n')],
      ['an unknown method', Buffer.from('BREW /mcp/up HTTP/1.1\r\nHost: localhost\r\n\r\n')],
      ['a method of 100 KB', Buffer.from(`${'A'.repeat(100_000)} / HTTP/1.1\r\n\r\n`)],
      ['no host', Buffer.from('POST /mcp/up HTTP/1.1\r\n\r\n')],
      ['two hosts', Buffer.from('POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nContent-Length: 0\r\n\r\n')],
      ['a header without a name', Buffer.from('POST /mcp/up HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n')],
      ['a space before the colon', Buffer.from('POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nX : x\r\n\r\n')],
      ['a folded header', Buffer.from('POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n')],
      ['a bare line feed', Buffer.from('POST /mcp/up HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n')],
      ['a broken escape in the path', Buffer.from('GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')],
      ['a NUL in the path', Buffer.from('GET /mcp\0up HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')],
      ['random bytes', Buffer.from(Array.from({ length: 2000 }, (_, i) => (i * 7919 + 13) % 251))],
    ])('but %s', async ([, bytes]) => {
      const socket = await open();
      // What it takes for a good beginning it waits for the rest of.
      socket.end(bytes);
      const answer = await received(socket);
      if (answer.length === 0) return;
      const { status } = parseAnswer(answer);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    });
  });

  describe('that are too much', () => {
    test('a body of 100 MB is stopped while it comes', async () => {
      const socket = await open();
      const answered = received(socket);
      socket.write(bytesOf({ headers: [...inSession(), ['Transfer-Encoding', 'chunked']] }));
      const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB, 'x'), Buffer.from('\r\n')]);
      let written = 0;
      for (; written < 100 * MIB && !socket.destroyed; written += MIB) {
        const { promise: left, resolve } = Promise.withResolvers<void>();
        socket.write(chunk, () => resolve());
        await left;
      }
      const answer = await answered;
      // A reset may overtake the answer; that nothing more is taken is what counts.
      if (answer.length > 0) expectRefusal(parseAnswer(answer), 413);
      // 16 MiB are allowed; what is on its way meanwhile comes on top of it.
      expect(written).toBeLessThan(60 * MIB);
    });

    test('requests that never become whole are given up by their clients, and cost nothing', async () => {
      const whole = bytesOf({ headers: inSession(), body: valid(1) });
      const half = await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const socket = await open();
          socket.write(whole.subarray(0, Math.max(1, Math.floor((whole.length * i) / 100))));
          return socket;
        }),
      );
      // While they are open, everybody else is served.
      expect(textOf(await door.tool('echo', { a: 1 }))).toBe('{"a":1}');
      for (const socket of half) socket.destroy();
      sent += half.length;
    });

    test('clients that go away in the middle of an answer cost nothing', async () => {
      for (let i = 0; i < 20; i += 1) {
        const controller = new AbortController();
        const response = await door.request(
          'tools/call',
          { name: 'big', arguments: { bytes: 5 * MIB } },
          { signal: controller.signal },
        );
        expect(response.status).toBe(200);
        controller.abort();
        await response.arrayBuffer().catch(() => undefined);
      }
    });
  });

  test('leave an adapter that serves as before', async () => {
    expect(sent).toBeGreaterThan(400);
    expect(adapter.hasExited()).toBe(false);
    expect(textOf(await door.tool('echo', { a: 1 }))).toBe('{"a":1}');
    const health = await fetch(`${adapter.url}/healthz`);
    expect([health.status, await health.json()]).toEqual([200, expect.objectContaining({ status: 'ok' })]);
    // It has never taken one of these for a failure of its own.
    const statuses = adapter.logs().flatMap((line) => (typeof line.status === 'number' ? [line.status] : []));
    expect(statuses.length).toBeGreaterThan(200);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    expect(adapter.logs().filter(({ level }) => level === 'error' || level === 'critical')).toEqual([]);
    expect(adapter.stderr()).toBe('');
    // Nothing that was longer than it may be got into the log.
    expect(
      Math.max(
        ...adapter
          .stdout()
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBeLessThan(2000);
  });

  test('leave its memory as it was, but for 30 MB', async () => {
    // Only what is still in use counts, not what nobody has had the time to collect.
    process.kill(adapter.pid, 'SIGUSR1');
    await expect.poll(() => inspectorUrl(adapter.stderr()), { timeout: 20_000 }).toBeDefined();
    const inspector = inspectorUrl(adapter.stderr()) ?? '';
    await expect
      .poll(
        async () => {
          await serve(200);
          await collectGarbage(inspector, AbortSignal.timeout(10_000));
          return ((await memory()) - before) / MIB;
        },
        { timeout: 50_000, interval: 250 },
      )
      .toBeLessThan(30);
  });
});
