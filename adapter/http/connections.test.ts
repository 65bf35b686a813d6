import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

import { afterEach, describe, expect, test, vi } from 'vitest';

import { type ConnectionLimits, Connections, proxyAddresses } from './connections.ts';

let server: Server;
let connections: Connections;
let warnings: string[];
const clients: Socket[] = [];

async function start(
  limits: Partial<ConnectionLimits>,
  handler: RequestListener,
  pipelining?: ConstructorParameters<typeof Connections>[2],
): Promise<void> {
  warnings = [];
  const warn = (message: string): void => void warnings.push(message);
  connections = new Connections(
    { max: 100, perPeer: null, isProxy: () => false, warn, ...limits },
    handler,
    pipelining,
  );
  server = createServer(connections.serve).on('connection', connections.accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function client(): Promise<Socket & { gone: Promise<unknown> }> {
  const accepted = once(server, 'connection');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  clients.push(socket);
  socket.on('error', () => undefined).resume();
  const gone = new Promise((resolve) => socket.once('close', resolve));
  await accepted;
  return Object.assign(socket, { gone });
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

describe('T17: connections', () => {
  test.each([
    ['in all', { max: 3 }, 'core.max_connections allows'],
    ['from one address', { perPeer: 3 }, 'core.max_connections_per_peer allows'],
  ])(
    'are limited %s: the oldest without a request makes room, and where there is none the new one goes',
    async (_what, limits, field) => {
      const begun: ServerResponse[] = [];
      await start(limits, (_request, response) => void begun.push(response));
      const busy = await client();
      busy.write(GET);
      await expect.poll(() => begun).toHaveLength(1);
      const [idle, other] = [await client(), await client()];
      expect(connections.size).toBe(3);
      const third = await client();
      await idle.gone;
      expect([connections.size, busy.destroyed, other.destroyed, third.destroyed]).toEqual([3, false, false, false]);
      for (const one of [other, third]) one.write(GET);
      await expect.poll(() => begun).toHaveLength(3);
      await (
        await client()
      ).gone;
      begun[1]?.end('x');
      await expect.poll(() => begun[1]?.writableFinished).toBe(true);
      const last = await client();
      await other.gone;
      expect([connections.size, last.destroyed, warnings.length]).toEqual([3, false, 1]);
      expect(warnings[0]).toContain(field);
    },
  );

  test('of a proxy are counted in all only', async () => {
    await start({ perPeer: 1, isProxy: (address) => address === '127.0.0.1' }, (_request, response) => response.end());
    const all = [await client(), await client(), await client()];
    expect([connections.size, all.map(({ destroyed }) => destroyed), warnings]).toEqual([3, [false, false, false], []]);
  });

  test('that are gone are not counted', async () => {
    await start({ max: 2, perPeer: 2 }, (_request, response) => response.end());
    for (let i = 0; i < 5; i++) {
      const one = await client();
      one.destroy();
      await expect.poll(() => connections.size).toBe(0);
    }
    expect(warnings).toEqual([]);
  });
});

test('H2 T17: of the requests that one connection sends at once eight run, the others wait, and all are answered in turn', async () => {
  const begun: { url: string; response: ServerResponse }[] = [];
  await start({}, (request, response) => void begun.push({ url: request.url ?? '', response }));
  const socket = await client();
  let seen = '';
  socket.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  const all = Array.from({ length: 300 }, (_, i) => `/${i}`);
  socket.write(all.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(1000)}\r\n\r\n`).join(''));
  await vi.waitFor(() => expect(begun).toHaveLength(8));
  for (let i = 0; i < all.length; i++) {
    await vi.waitFor(() => expect(begun.length).toBeGreaterThan(i));
    expect(begun.filter(({ response }) => !response.writableFinished).length).toBeLessThanOrEqual(8);
    begun[i]?.response.end(`<${i}>`);
  }
  await vi.waitFor(() => expect(seen.match(/<\d+>/g)).toHaveLength(300));
  expect(seen.match(/<\d+>/g)?.join()).toBe(all.map((path) => `<${path.slice(1)}>`).join());
  expect(begun.map(({ url }) => url)).toEqual(all);
});

test('H2 T17: while requests wait, nothing more of their connection is parsed, whoever reads the bodies of others', async () => {
  const begun: ServerResponse[] = [];
  await start({}, (request, response) => {
    request.resume();
    begun.push(response);
  });
  let parsed = 0;
  server.prependListener('request', () => parsed++);
  const socket = await client();
  const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n${'x'.repeat(2000)}`;
  socket.write(post.repeat(1000));
  // Each answer lets its connection go on reading.
  for (let i = 0; i < 100; i++) {
    await vi.waitFor(() => expect(begun.length).toBeGreaterThan(i));
    const left = once(begun[i] as ServerResponse, 'close');
    begun[i]?.end('x');
    await left;
  }
  // A packet has about 31 of them.
  expect(parsed).toBeLessThan(200);
});

test('H2 T17: a connection whose requests wait ends when no answer leaves for a while: nobody sees its client leave', async () => {
  const begun: ServerResponse[] = [];
  await start({}, (_request, response) => void begun.push(response), { maxUnreadMs: 100 });
  const socket = await client();
  socket.write(GET.repeat(20));
  await vi.waitFor(() => expect(begun).toHaveLength(8));
  socket.destroy();
  await expect.poll(() => begun.every((response) => response.destroyed)).toBe(true);
  await expect.poll(() => connections.size).toBe(0);
  expect(begun).toHaveLength(8);

  begun.length = 0;
  const patient = await client();
  patient.write(GET.repeat(8));
  await vi.waitFor(() => expect(begun).toHaveLength(8));
  patient.destroy();
  await expect.poll(() => begun.every((response) => response.destroyed)).toBe(true);
});

test('H2 T17: of all connections, a limited number of requests may wait', async () => {
  const begun: ServerResponse[] = [];
  await start({}, (_request, response) => void begun.push(response), { maxWaiting: 20 });
  const socket = await client();
  socket.write(GET.repeat(18));
  await vi.waitFor(() => expect(begun).toHaveLength(8));
  const greedy = await client();
  greedy.write(GET.repeat(19));
  await greedy.gone;
  expect([socket.destroyed, connections.size]).toEqual([false, 1]);
  // What waited there waits no more.
  const other = await client();
  other.write(GET.repeat(18));
  await vi.waitFor(() => expect(begun).toHaveLength(24));
  expect(other.destroyed).toBe(false);
});

test.each([
  [['loopback', 'uniquelocal'], '127.0.0.1', true],
  [['loopback'], '::1', true],
  [['loopback'], '::ffff:127.0.0.1', true],
  [['uniquelocal'], '10.1.2.3', true],
  [['uniquelocal'], 'fd00::1', true],
  [['linklocal'], 'fe80::1', true],
  [['10.0.0.0/8', 'fd00::/8'], '10.9.9.9', true],
  [['192.0.2.7'], '192.0.2.7', true],
  [['192.0.2.7'], '192.0.2.8', false],
  [['loopback', 'linklocal', 'uniquelocal'], '192.0.2.7', false],
  [[], '127.0.0.1', false],
  [['loopback'], '', false],
])('%j has %s: %s', (trusted, address, expected) => {
  expect(proxyAddresses(trusted)(address)).toBe(expected);
});
