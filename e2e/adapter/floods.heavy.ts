import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { openSession } from './kit/session.ts';
import { within } from './kit/within.ts';

const MIB = 2 ** 20;
const PATIENCE_MS = 20_000;

/** What one process withstands that has as much memory as in a container of 512 MiB. */
describe('T17: a flood ends no adapter with a heap of 256 MiB', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let adapter: RunningAdapter;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const core = {
      max_start_wait_seconds: 0,
      upstream_ping: { enabled: false },
      max_connections: 60,
      max_connections_per_peer: null,
    };
    const config = { core, state_persistence: { type: 'memory' }, servers: [mounted('up', upstream.url)] };
    adapter = await startAdapter({ config, env: { NODE_OPTIONS: '--max-old-space-size=256' } });
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    // Whatever came, others are served, and nothing is left of it.
    const session = await within(PATIENCE_MS, 'a session', openSession(adapter));
    const answer = await session.at(adapter).request('ping');
    expect(answer.status).toBe(200);
    await answer.text();
  });
  afterAll(async () => {
    await adapter?.stop();
    await upstream?.close();
  });

  async function open(): Promise<Socket & { readonly seen: Promise<string> }> {
    const socket = connect(adapter.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined).setEncoding('latin1');
    const seen = new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (part: string) => (text += part)).once('close', () => resolve(text));
    });
    await once(socket, 'connect');
    return Object.assign(socket, { seen });
  }

  const head = (length: number, more = ''): string =>
    `POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}Content-Length: ${length}\r\n\r\n`;
  const MODERN = 'MCP-Protocol-Version: 2026-07-28\r\n';

  test('of bodies that never end: beyond a quarter of its heap they are refused, and the others are served', async () => {
    const part = Buffer.alloc(15 * MIB, ' ');
    const all = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const socket = await open();
        socket.write(head(16 * MIB, MODERN));
        socket.write(part);
        return socket;
      }),
    );
    // Which ones have no room is chance; those that have it wait for their ends.
    const answers: string[] = [];
    for (const { seen } of all) void seen.then((text) => answers.push(text));
    await expect.poll(() => answers.length, { timeout: PATIENCE_MS }).toBeGreaterThanOrEqual(4);
    for (const text of answers)
      expect(text).toMatch(/^HTTP\/1\.1 503 [^]*\r\nretry-after: 1\r\n[^]*"code":"overloaded"/);
    expect(answers.length).toBeLessThan(12);
  });

  test('of large bodies of nobody: they are answered unread', async () => {
    const answers = await Promise.all(
      ['', `Mcp-Session-Id: ${'0'.repeat(32)}\r\n`].map(async (more) => {
        const socket = await open();
        socket.write(head(16 * MIB, more) + '{"jsonrpc":"2.0","id":1,');
        const [answer] = (await within(PATIENCE_MS, 'an answer', once(socket, 'data'))) as [string];
        return answer.slice(0, 12);
      }),
    );
    expect(answers).toEqual(['HTTP/1.1 413', 'HTTP/1.1 404']);
  });

  /** A call with 5.5 million values, which would take 370 MB to parse. */
  const manyValues = (): Buffer => {
    const start = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":[{}';
    return Buffer.from(`${start}${',{}'.repeat((16 * MIB - 200) / 3)}]}}}`);
  };
  // Nothing of it was parsed, its id neither.
  const TOO_MANY = { id: null, error: { code: -32600, message: expect.stringContaining('200000 values') as string } };

  test('of one body of 16 MiB of `{},` without a session: it is counted before it is parsed', async () => {
    const headers = { 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28' };
    const answer = await fetch(`${adapter.url}/mcp/up`, { method: 'POST', headers, body: manyValues() });
    expect([answer.status, await answer.json()]).toMatchObject([400, TOO_MANY]);
  });

  test('of three such bodies in a session at once', async () => {
    const session = await openSession(adapter);
    const body = manyValues().toString();
    const answers = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const answer = await session.at(adapter).send(body);
        return [answer.status, await answer.json()];
      }),
    );
    expect(answers).toMatchObject(Array.from({ length: 3 }, () => [400, TOO_MANY]));
  });

  test('of requests on one connection that reads nothing: few of them run', async () => {
    const session = await openSession(adapter);
    const before = upstream.requests.length;
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}';
    const one = `${head(body.length, `Mcp-Session-Id: ${session.sessionId}\r\n`)}${body}`;
    const socket = await open();
    socket.pause();
    socket.write(one.repeat(2_000));
    await expect.poll(() => upstream.requests.length - before, { timeout: PATIENCE_MS }).toBe(8);
    // Others are served meanwhile, and the rest goes on waiting.
    expect((await fetch(`${adapter.url}/livez`)).status).toBe(200);
    expect(upstream.requests.length - before).toBe(8);
  });

  test('of connections: idle ones make room', async () => {
    const idle = await Promise.all(Array.from({ length: 150 }, () => open()));
    // A connection that was kept for this may be among those that made room.
    const livez = (): Promise<number> =>
      fetch(`${adapter.url}/livez`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(livez, { timeout: PATIENCE_MS }).toBe(200);
    await expect
      .poll(() => idle.filter(({ closed }) => closed).length, { timeout: PATIENCE_MS })
      .toBeGreaterThanOrEqual(90);
  });
});
