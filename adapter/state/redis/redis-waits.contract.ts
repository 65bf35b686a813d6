import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RedisConnection } from './redis-connection.ts';
import { RedisStore } from './redis-store.ts';
import { StoreUnavailable } from '../state-store.ts';
import { newFile, newSession } from '../testing/files.ts';
import { startRedis, type TestRedis } from '../testing/redis-server.ts';

/** Longer than any start of Redis. */
const WAIT_MS = 20_000;
/** Long enough for a command to have left, and to be under way at a server that is frozen. */
const UNDER_WAY_MS = 200;

const alice = () => ({ principal: 'alice', now: Date.now() });
const call = () => ({ id: 'call', until: Date.now() + 30_000, maxInFlight: 5 });
const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a store that waits for Redis', { timeout: 40_000 }, () => {
  let server: TestRedis;
  let connection: RedisConnection;
  let store: RedisStore;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    connection = new RedisConnection(server.server, { waitMs: WAIT_MS });
    await connection.connect();
    store = new RedisStore(connection, { keyBase: 'waits' });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
    await server.start();
  });

  test('O18: what is asked while Redis is away is answered when it is back', async () => {
    await server.stop();
    const asked = [store.find(newSession(), alice()), store.tryLock('name', 'owner', 60_000), store.files.totals()];
    // Health does not wait.
    await expect(asked[2]).rejects.toThrow(StoreUnavailable);
    await server.start();
    expect(await asked[0]).toEqual({ state: 'unknown' });
    expect(await asked[1]).toBe(true);
  });

  test('O18: what was under way is done again, once, where twice is once', async () => {
    const session = newSession({ lastActiveAt: Date.now() });
    await store.open(session);
    server.freeze();
    const opened = store.open(session);
    const entered = store.enter(session, alice(), call());
    await later(UNDER_WAY_MS);
    await server.stop();
    await server.start();
    await opened;
    expect(await entered).toMatchObject({ state: 'active' });
    expect(await store.counts(Date.now())).toMatchObject({ sessions: 1, inFlight: 1 });
  });

  test('O18: what was under way and gives something to one caller only is not done again', async () => {
    const session = newSession({ lastActiveAt: Date.now() });
    await store.open(session);
    server.freeze();
    const removed = expect(store.remove(session)).rejects.toThrow(StoreUnavailable);
    const begun = expect(
      store.files.begin([newFile(session)], { now: Date.now(), maxArtifacts: null }),
    ).rejects.toThrow(StoreUnavailable);
    await later(UNDER_WAY_MS);
    await server.stop();
    await server.start();
    await Promise.all([removed, begun]);
  });

  test('O18: a new upstream session whose answer was lost is the one that is stored', async () => {
    const session = newSession({ lastActiveAt: Date.now() });
    await store.open(session);
    const upstream = { upstreamSessionId: 'upstream-2', protocolVersion: '2025-06-18' };
    expect(await store.replaceUpstream(session, 0, upstream)).toBe(true);
    expect(await store.replaceUpstream(session, 0, upstream)).toBe(true);
    expect(await store.replaceUpstream(session, 0, { ...upstream, upstreamSessionId: 'upstream-3' })).toBe(false);
    expect(await store.find(session, alice())).toMatchObject({ record: { generation: 1 } });
  });

  test('O18: waits end when they are ended, and none begins afterwards', async () => {
    await server.stop();
    const waiting = store.find(newSession(), alice());
    connection.endWaits();
    await expect(waiting).rejects.toThrow(StoreUnavailable);
    await expect(store.find(newSession(), alice())).rejects.toThrow(StoreUnavailable);
  });

  test('O18: waits end when the store is closed', async () => {
    await server.stop();
    const waiting = store.find(newSession(), alice());
    connection.close();
    await expect(waiting).rejects.toThrow(StoreUnavailable);
  });
});

describe('a server that loads its data', () => {
  let server: Server;
  let connection: RedisConnection;
  let loading = 3;
  const seen: string[] = [];

  beforeAll(async () => {
    server = createServer((socket: Socket) => {
      socket.on('data', (data) => {
        for (const [, name = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
          seen.push(name.toLowerCase());
          if (name.toLowerCase() === 'hello') socket.write("-ERR unknown command 'HELLO'\r\n");
          else if (name.toLowerCase() === 'client') socket.write('+OK\r\n');
          else if (name.toLowerCase() === 'ping' && loading-- <= 0) socket.write('+PONG\r\n');
          else socket.write(loading >= 0 ? '-LOADING Redis is loading the dataset in memory\r\n' : '$5\r\nvalue\r\n');
        }
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    connection.close();
    server.close();
    await once(server, 'close');
  });

  test('O18: is waited for, and gets no command before', async () => {
    const { port } = server.address() as AddressInfo;
    const at = { host: '127.0.0.1', port, db: 0, username: null, password: null, tls: 'off' } as const;
    connection = new RedisConnection(at, { waitMs: WAIT_MS });
    await connection.connect();
    expect(await connection.run((redis) => redis.get('key'))).toBe('value');
    expect(seen.filter((name) => name !== 'client' && name !== 'hello')).toEqual([
      'ping',
      'ping',
      'ping',
      'ping',
      'get',
    ]);
  });
});
