import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { listen } from './listen.ts';

const CONNECTIONS = 1_000;
/** As many as wait at a port that Node opens by itself. */
const OF_NODE = 512;

/** How many connections wait to be accepted at a port, as the kernel counts them. */
function waitingAt(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const listening = new RegExp(`: [0-9A-F]{8}:${hex} \\S+ 0A [0-9A-F]{8}:([0-9A-F]{8})`);
  return Number.parseInt(listening.exec(readFileSync('/proc/net/tcp', 'utf8'))?.[1] ?? '', 16);
}

test('T23: a thousand connections at once find room, before any is accepted', async ({ skip }) => {
  skip(process.platform !== 'linux', 'only Linux says how many wait');
  const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  const server = createServer();
  const { port } = await listen(server, 0, '127.0.0.1');
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  const { promise, resolve } = Promise.withResolvers<number>();
  // The connections are asked for at the end of this turn, and accepted after it.
  process.nextTick(() => resolve(waitingAt(port)));
  const waiting = await promise;
  for (const socket of sockets) socket.destroy();
  server.close();
  expect(waiting).toBeGreaterThan(Math.min(OF_NODE, most));
});
