import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { countingTurns } from '../../lib/stream/testing/counting-turns.ts';
import { turnBudget } from '../../lib/stream/turn-budget.ts';
import type { ByteAccount } from '../byte-account.ts';
import { sampleAccount } from '../testing/sample-account.ts';
import { type BodyReceiver, readBody } from './body-reader.ts';

let server: Server;
let port: number;
let account: ByteAccount;
let outcomes: Promise<unknown>[];

beforeEach(() => {
  account = sampleAccount({ total: 1_000_000 });
  outcomes = [];
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function start(options: Partial<BodyReceiver> = {}): Promise<void> {
  server = createServer((incoming, response) => {
    const share = account.share('bodies', { server: 's' });
    response.once('close', () => share.giveBack());
    const { promise: outcome, resolve } = Promise.withResolvers<unknown>();
    const received = (body: Buffer): void => resolve(String(body));
    readBody(incoming, { maxBytes: 500_000, share, ask: () => undefined, received, failed: resolve, ...options });
    outcomes.push(outcome);
    void outcome.then(() => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
}

/** Sends the parts, and the end unless it is told not to. */
async function send(parts: readonly string[], { length, isOpen = false }: { length?: number; isOpen?: boolean } = {}) {
  const headers = length === undefined ? {} : { 'content-length': length };
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false });
  outgoing.on('error', () => undefined).on('response', (answer: IncomingMessage) => answer.resume());
  const arrived = once(server, 'request');
  outgoing.flushHeaders();
  await arrived;
  for (const part of parts) outgoing.write(part);
  if (!isOpen) outgoing.end();
  return outgoing;
}

describe('a body', () => {
  test.each([undefined, 6])('comes in parts, with a length or without: %s', async (length) => {
    await start();
    await send(['abc', 'def'], length === undefined ? {} : { length });
    expect(await outcomes[0]).toBe('abcdef');
  });

  test.each([undefined, 500_001])('is refused where it is too large: %s', async (length) => {
    await start();
    await send(['x'.repeat(500_001)], length === undefined ? {} : { length, isOpen: true });
    expect(await outcomes[0]).toMatchObject({ code: 'body_too_large' });
  });

  test('T17: whose sender makes a pause that is too long is given up', async () => {
    await start({ stallMs: 50 });
    const slow = await send(['abc'], { length: 100, isOpen: true });
    expect(await outcomes[0]).toMatchObject({ code: 'request_timeout' });
    slow.destroy();
  });

  test('T17: whose sender has gone is given up, and its bytes are free', async () => {
    await start();
    const sending = await send(['x'.repeat(1000)], { length: 2000, isOpen: true });
    await expect.poll(() => account.held).toBe(1000);
    sending.destroy();
    expect(await outcomes[0]).toMatchObject({ code: 'cancelled' });
    await expect.poll(() => account.held).toBe(0);
  });

  test('T17: for which there is no room is refused, and has room once the others are gone', async () => {
    account = sampleAccount({ total: 1500 });
    await start();
    const first = await send(['x'.repeat(1000)], { length: 2000, isOpen: true });
    await expect.poll(() => account.held).toBe(1000);
    await send(['x'.repeat(600)], { length: 600 });
    expect(await outcomes[1]).toMatchObject({ code: 'overloaded', status: 503, retryAfter: 1 });
    first.destroy();
    await expect.poll(() => account.held).toBe(0);
    await send(['x'.repeat(600)], { length: 600 });
    expect(await outcomes[2]).toBe('x'.repeat(600));
  });
});

test.each([
  ['takes no more than it is', 1_000, 'x'.repeat(1_000)],
  ['is refused when they are many', 60_000, { code: 'invalid_request', status: 400 }],
])('M1 T17: a body of single bytes %s', async (_what, count, expected) => {
  await start();
  const socket = connect(port, '127.0.0.1');
  const arrived = once(server, 'request');
  socket.on('error', () => undefined).resume();
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await arrived;
  socket.write(`${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`);
  const outcome = await outcomes[0];
  if (typeof expected === 'string') expect(outcome).toBe(expected);
  else expect(outcome).toMatchObject(expected);
  socket.destroy();
});

describe('M1 T17: a large body', () => {
  test.each([
    ['with its length', 200_000, 0],
    ['that grows large', undefined, 70_000],
  ])('is not read on before its sender is known: %s', async (_what, length, sent) => {
    const { promise, reject } = Promise.withResolvers<number>();
    await start({ largest: () => promise });
    const parts = ['x'.repeat(70_000), 'x'.repeat(130_000)];
    await send(parts, length === undefined ? {} : { length });
    await expect.poll(() => account.held).toBeGreaterThanOrEqual(sent === 0 ? 0 : 65_537);
    expect(account.held).toBeLessThan(200_000);
    reject(new Error('unknown'));
    expect(await outcomes[0]).toMatchObject({ message: 'unknown' });
  });

  test.each([200_000, undefined])('comes whole when its sender may: %s', async (length) => {
    let asked = 0;
    await start({ largest: () => Promise.resolve(++asked * 300_000) });
    await send(['x'.repeat(70_000), 'x'.repeat(130_000)], length === undefined ? {} : { length });
    expect([(await outcomes[0]) === 'x'.repeat(200_000), asked]).toEqual([true, 1]);
  });

  test('for which there is no room is not read at all, once its sender is known', async () => {
    account = sampleAccount({ total: 250_000 });
    await start({ largest: () => Promise.resolve(Infinity), ask: () => expect.fail('asked') });
    await send([], { length: 250_001, isOpen: true });
    expect(await outcomes[0]).toMatchObject({ code: 'overloaded', status: 503, retryAfter: 1 });
    expect(account.held).toBe(0);
  });

  test.each([200_000, undefined])('may be less for some: %s', async (length) => {
    await start({ largest: () => Promise.resolve(100_000) });
    await send(['x'.repeat(70_000), 'x'.repeat(130_000)], length === undefined ? {} : { length });
    expect(await outcomes[0]).toMatchObject({ code: 'body_too_large' });
  });

  test('is nobody’s question while it is small', async () => {
    await start({ largest: () => expect.fail('asked') });
    await send(['x'.repeat(65_536)]);
    expect(await outcomes[0]).toHaveLength(65_536);
  });
});

test('T17: what others have brought in a turn leaves one part to a body', async () => {
  const counted = countingTurns();
  const parts: number[] = [];
  const share = account.share('bodies', { server: 's' });
  vi.spyOn(share, 'take').mockImplementation(() => {
    turnBudget.isSpentBy(1 << 20);
    return parts.push(counted.turns) > 0;
  });
  await start({ share });
  await send(['x'.repeat(400_000)], { length: 400_000 });
  expect(await outcomes[0]).toHaveLength(400_000);
  counted.stop();
  expect(parts.length).toBeGreaterThanOrEqual(7);
  // The first part is not counted.
  expect(new Set(parts).size).toBeGreaterThanOrEqual(parts.length - 1);
});
