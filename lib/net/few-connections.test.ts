import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createServerForFew } from './few-connections.ts';

const REQUEST_MS = 60_000;
const HALF = 'GET /livez HTTP/1.1\r\nHost: x\r\n';

let server: Server;
let sockets: Socket[];
let held: ServerResponse[];
beforeEach(async () => {
  [sockets, held] = [[], []];
  server = await listening(REQUEST_MS);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function listening(requestMs: number): Promise<Server> {
  const made = createServerForFew({ connections: 16, requestMs }, (request, response) => {
    if (request.url === '/slow') held.push(response);
    else response.end('ok');
  });
  made.listen(0, '127.0.0.1');
  await once(made, 'listening');
  return made;
}

const count = (): Promise<number> => new Promise((done) => server.getConnections((_error, found) => done(found)));

async function open(text: string, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined).resume();
  sockets.push(socket);
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}

async function probe(localAddress?: string): Promise<string> {
  const socket = await open(`${HALF}Connection: close\r\n\r\n`, localAddress);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return String(answer).split('\r\n', 1)[0] ?? '';
}

test('T23: somebody who holds all connections with half requests keeps no probe away', async () => {
  for (let i = 0; i < 80; i += 1) await open(HALF);
  expect(await probe()).toBe('HTTP/1.1 200 OK');
  expect(await probe('127.0.0.2')).toBe('HTTP/1.1 200 OK');
});

test('T23: many who do so together hold no more than there may be', async () => {
  for (let i = 0; i < 80; i += 1) await open(HALF, `127.0.0.${3 + (i % 10)}`);
  expect(await probe()).toBe('HTTP/1.1 200 OK');
  await expect.poll(count).toBeLessThanOrEqual(16);
});

test('T23: one peer has half of the connections; the oldest of its own make room, those of others stay', async () => {
  const other = await open(HALF, '127.0.0.3');
  const first = await open(HALF, '127.0.0.2');
  for (let i = 0; i < 40; i += 1) await open(HALF, '127.0.0.2');
  if (!first.destroyed) await once(first, 'close');
  other.write('\r\n');
  const [answer] = (await once(other, 'data')) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200/);
  expect(await count()).toBeLessThanOrEqual(9);
});

test('who is being answered is not thrown out for who waits', async () => {
  const busy = await open('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
  while (held.length === 0) await once(server, 'request');
  for (let i = 0; i < 40; i += 1) await open(HALF);
  held[0]?.end('late');
  const [answer] = (await once(busy, 'data')) as [Buffer];
  expect(String(answer)).toMatch(/late$/);
  // It waits now, and was there first.
  for (let i = 0; i < 8; i += 1) await open(HALF);
  if (!busy.closed) await once(busy, 'close');
});

test('T23: a request that does not arrive in time ends its connection soon after, not half a minute later', async () => {
  server.close();
  server = await listening(500);
  const socket = await open(HALF);
  const since = performance.now();
  await once(socket, 'close');
  expect(performance.now() - since).toBeLessThan(5_000);
});
