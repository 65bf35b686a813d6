import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RedisConnection } from './redis-connection.ts';
import { RedisStore } from './redis-store.ts';
import type { Taking } from '../call-limits.ts';
import { StoreUnavailable } from '../state-store.ts';
import { sampleSession } from '../testing/sample-session.ts';
import type { SessionRecord } from '../state-store.ts';
import { startRedis } from '../testing/redis-server.ts';
import type { TestRedis } from '../testing/redis-server.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KEY_BASE = 'adapter:tests';

const newRecord = (changes: Partial<SessionRecord> = {}): SessionRecord => {
  const times = { createdAt: Date.now(), lastActiveAt: Date.now() };
  return sampleSession(randomUUID(), { upstreamSessionId: 'upstream-1', ...times, ...changes });
};

const baseline = { fingerprint: 'fingerprint', text: '[]' };

const caller = (now = Date.now()) => ({ principal: '', now });
const lease = (id: string = randomUUID()) => ({ id, until: Date.now() + 30_000, maxInFlight: null });

describe('RedisStore and its server', () => {
  let server: TestRedis;
  let connection: RedisConnection;
  let store: RedisStore;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    await server.use((redis) => redis.flushall());
    connection = new RedisConnection(server.server);
    await connection.connect();
    store = new RedisStore(connection, { keyBase: KEY_BASE });
  });
  afterEach(() => store.close());

  /** How often the server ran each command since the last reset, but for what scripts do. */
  const commandsOf = async (work: () => Promise<unknown>): Promise<Record<string, number>> => {
    await server.use((redis) => redis.config('RESETSTAT'));
    await work();
    const stats = await server.use((redis) => redis.info('commandstats'));
    const calls = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map((match) => [match[1], Number(match[2])]);
    return Object.fromEntries(calls);
  };

  test('find, enter and leave are one command each', async () => {
    const record = newRecord();
    await store.open(record);
    await store.enter(record, caller(), lease('warm up'));
    await store.leave(record, 'warm up', Date.now());

    const found = await commandsOf(() => store.find(record, caller()));
    expect(found).toMatchObject({ hmget: 1 });
    expect(found).not.toHaveProperty('evalsha');
    expect(await commandsOf(() => store.enter(record, caller(), lease('call')))).toMatchObject({
      evalsha: 1,
      hmget: 1,
    });
    const left = await commandsOf(() => store.leave(record, 'call', Date.now() + MINUTE));
    expect(left).toMatchObject({ evalsha: 1, zrem: 2, hset: 1 });
    expect(await commandsOf(() => store.leave(record, 'call', Date.now()))).not.toHaveProperty('hmget');
  });

  const taking: Taking = {
    rates: ['one', 'two'].map((key) => ({ per: 'caller', key, intervalUs: 600_000_000, burst: 9, calls: 1 })),
    places: [{ per: 'tool', key: 'three', most: 9, calls: 1 }],
  };

  test('limits take no command more, and outside of sessions one for each end of a call', async () => {
    const record = newRecord();
    await store.open(record);
    // The server knows the scripts from here on.
    const warm = { id: 'warm up', until: Date.now() + MINUTE, taking };
    await store.enter(record, caller(), { ...lease('warm up'), taking });
    await store.leave(record, 'warm up', Date.now(), taking.places);
    await store.callLimits.take(warm, Date.now());
    await store.callLimits.leave({ id: warm.id, places: taking.places });

    const sent = async (work: () => Promise<unknown>): Promise<number> => {
      const scripted = await commandsOf(work);
      return scripted['evalsha'] ?? 0;
    };
    const limited = { ...lease('call'), taking };
    expect(await sent(() => store.enter(record, caller(), limited))).toBe(1);
    expect(await sent(() => store.leave(record, 'call', Date.now(), taking.places))).toBe(1);
    expect(await sent(() => store.enter(record, caller(), { ...limited, isUncounted: true }))).toBe(1);
    const call = { id: 'alone', until: Date.now() + MINUTE, taking };
    expect(await sent(() => store.callLimits.take(call, Date.now()))).toBe(1);
    expect(await sent(() => store.callLimits.leave({ id: 'alone', places: taking.places }))).toBe(1);
  });

  test('what limits have counted goes by itself', async () => {
    const now = Date.now();
    const short = { per: 'caller' as const, key: 'short', intervalUs: 200_000, burst: 2, calls: 1 };
    await store.callLimits.take({ id: 'call', until: now + MINUTE, taking: { ...taking, rates: [short] } }, now);
    const ttls = await server.use((redis) =>
      Promise.all([redis.pttl(`${KEY_BASE}:rate:short`), redis.pttl(`${KEY_BASE}:places:three`)]),
    );
    expect(ttls[0]).toBeGreaterThan(100);
    expect(ttls[0]).toBeLessThanOrEqual(200);
    expect(ttls[1]).toBeGreaterThan(MINUTE - 1_000);
    expect(ttls[1]).toBeLessThanOrEqual(MINUTE);
    await store.callLimits.renew([{ id: 'call', places: taking.places }], now + 2 * MINUTE);
    expect(await server.use((redis) => redis.pttl(`${KEY_BASE}:places:three`))).toBeGreaterThan(2 * MINUTE - 1_000);
    await store.callLimits.leave({ id: 'call', places: taking.places });
    expect(await server.use((redis) => redis.keys('*places*'))).toEqual([]);
  });

  /** The kinds of keys there are; each key must have an expiry. */
  const expiringKeys = async (): Promise<Set<string | undefined>> => {
    const keys = await server.use((redis) => redis.keys('*'));
    for (const key of keys) expect(await server.use((redis) => redis.pttl(key)), key).toBeGreaterThan(0);
    return new Set(keys.map((key) => key.replace(`${KEY_BASE}:`, '').split(':')[0]));
  };

  test('every key expires, whatever was done', async () => {
    const now = Date.now();
    const idle = newRecord({ lastActiveAt: now - DAY, logLevel: '{}', subscriptions: ['file:///a'] });
    const [active, drifted, revived] = [newRecord(), newRecord(), newRecord({ lastActiveAt: now - DAY })];
    for (const record of [idle, active, drifted, revived]) await store.open(record);
    const running = lease();
    await store.enter(active, caller(), running);
    expect(await expiringKeys()).toEqual(new Set(['session', 'leases', 'active', 'in_flight', 'servers']));
    await store.renew([{ key: active, lease: { id: running.id, until: now + MINUTE } }], now);
    await store.reserve(newRecord(), { maxActive: 99, now, expiresAt: now + MINUTE });
    await store.expireIdle({ now, idleBefore: now - HOUR, tombstoneUntil: now + DAY, limit: 9 });
    await store.revive(revived, caller(), { maxActive: null });
    await store.invalidate(drifted, 'drift', now + 90 * DAY);
    await store.setSubscription(active, 'file:///b', true);
    await store.setLogLevel(active, '{}');
    await store.tryLock('reinit', 'one', MINUTE);
    for (const record of [active, drifted, revived, newRecord()]) await store.pin(record, baseline);
    await store.enter(active, caller(), { ...lease(), taking });
    await store.ping();

    const ofSessions = ['session', 'leases', 'active', 'in_flight', 'tombstones', 'reservations', 'servers'];
    expect(await expiringKeys()).toEqual(new Set([...ofSessions, 'lock', 'probe', 'rate', 'places']));
    // The index must outlive what it names.
    const [index, tombstone] = await server.use((redis) =>
      Promise.all([redis.pttl(`${KEY_BASE}:tombstones`), redis.pttl(`${KEY_BASE}:session:files:${drifted.sessionId}`)]),
    );
    expect(tombstone).toBeGreaterThan(90 * DAY);
    expect(index).toBeGreaterThanOrEqual(tombstone);
  });

  test('a pin is one command, and no other reads what it holds', async () => {
    const record = newRecord();
    await store.open(record);
    await store.pin(newRecord(), baseline);
    expect(await commandsOf(() => store.pin(record, baseline))).toMatchObject({ evalsha: 1, hset: 1 });
    expect(await commandsOf(() => store.baseline(record))).toMatchObject({ hmget: 1 });

    const sent = async (work: () => Promise<unknown>): Promise<number> => {
      const bytes = async (): Promise<number> => {
        const stats = await server.use((redis) => redis.info('stats'));
        return Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1]);
      };
      // What the looking itself costs.
      const before = await bytes();
      const between = await bytes();
      await work();
      return (await bytes()) - between - (between - before);
    };
    const other = newRecord();
    await store.open(other);
    await store.pin(other, { fingerprint: 'long', text: 'x'.repeat(64 << 10) });
    expect(await sent(() => store.find(other, caller()))).toBeLessThan(2_000);
    expect(await sent(() => store.enter(other, caller(), lease()))).toBeLessThan(2_000);
    expect(await sent(() => store.touch(other, caller()))).toBeLessThan(2_000);
    expect(await sent(() => store.pin(other, { fingerprint: 'long', text: 'x' }))).toBeLessThan(2_000);
    expect(await sent(() => store.baseline(other))).toBeGreaterThan(64 << 10);
    expect(await sent(() => store.remove(other))).toBeLessThan(2_000);
  });

  test('of 50 pins at once over five connections one wins', async () => {
    const record = newRecord();
    await store.open(record);
    const connections = Array.from({ length: 5 }, () => new RedisConnection(server.server));
    try {
      await Promise.all(connections.map((one) => one.connect()));
      const stores = connections.map((one) => new RedisStore(one, { keyBase: KEY_BASE }));
      const tries = Array.from({ length: 10 }, (_, round) =>
        stores.map((one, index) => one.pin(record, { fingerprint: `${round}-${index}`, text: `${round}` })),
      ).flat();
      const got = new Set((await Promise.all(tries)).map((pinned) => JSON.stringify(pinned)));
      expect(got).toEqual(new Set([JSON.stringify(await store.baseline(record))]));
    } finally {
      for (const one of connections) one.close();
    }
  });

  test('a session that nobody touches expires, and its place is free again', async () => {
    const shortLived = new RedisStore(connection, { keyBase: KEY_BASE, sessionTtlMs: 2 * HOUR });
    const record = newRecord();
    await shortLived.open(record);
    const ttl = await server.use((redis) => redis.pttl(`${KEY_BASE}:session:files:${record.sessionId}`));
    expect(ttl).toBeGreaterThan(2 * HOUR);
    expect(ttl).toBeLessThanOrEqual(3 * HOUR);

    await server.use((redis) => redis.del(`${KEY_BASE}:session:files:${record.sessionId}`));
    const later = Date.now() + 4 * HOUR;
    const reservation = newRecord();
    expect(await shortLived.reserve(reservation, { maxActive: 1, now: later, expiresAt: later + 1 })).toBe(true);
    await shortLived.release(reservation);

    await shortLived.open(record);
    await server.use((redis) => redis.del(`${KEY_BASE}:session:files:${record.sessionId}`));
    expect((await shortLived.counts(later)).sessions).toBe(0);
  });

  test('activity renews the expiry of a session and of the index, at most hourly', async () => {
    const record = newRecord();
    const keys = [`${KEY_BASE}:session:files:${record.sessionId}`, `${KEY_BASE}:active`];
    await store.open(record);
    const shorten = () => server.use((redis) => Promise.all(keys.map((key) => redis.pexpire(key, MINUTE))));
    const ttls = () => server.use((redis) => Promise.all(keys.map((key) => redis.pttl(key))));

    await shorten();
    await store.enter(record, caller(record.lastActiveAt + HOUR), lease());
    for (const ttl of await ttls()) expect(ttl).toBeLessThanOrEqual(MINUTE);
    await store.enter(record, caller(record.lastActiveAt + HOUR + 1), lease());
    for (const ttl of await ttls()) expect(ttl).toBeGreaterThan(DAY);
    await shorten();
    await store.enter(record, caller(record.lastActiveAt + HOUR + MINUTE), lease());
    await store.touch(record, caller(record.lastActiveAt + HOUR + MINUTE));
    for (const ttl of await ttls()) expect(ttl).toBeLessThanOrEqual(MINUTE);
    await store.touch(record, caller(record.lastActiveAt + 2 * HOUR + MINUTE));
    for (const ttl of await ttls()) expect(ttl).toBeGreaterThan(DAY);
  });

  test('a call that runs keeps its session, the index and what is known of files from expiring', async () => {
    const record = newRecord();
    const [call, start] = [lease(), record.lastActiveAt];
    const keys = [`${KEY_BASE}:session:files:${record.sessionId}`, `${KEY_BASE}:active`, `${KEY_BASE}:servers`];
    const ttls = () => server.use((redis) => Promise.all(keys.map((key) => redis.pttl(key))));
    await store.open(record);
    await store.enter(record, caller(start), call);
    await server.use((redis) => Promise.all(keys.map((key) => redis.pexpire(key, MINUTE))));
    const renew = (now: number) => store.renew([{ key: record, lease: { id: call.id, until: now + MINUTE } }], now);
    await renew(start + HOUR);
    for (const ttl of await ttls()) expect(ttl).toBeLessThanOrEqual(MINUTE);
    await renew(start + HOUR + 1);
    for (const ttl of await ttls()) expect(ttl).toBeGreaterThan(DAY);
  });

  test('calls of replicas that died are forgotten', async () => {
    const record = newRecord();
    await store.open(record);
    for (let index = 0; index < 3; index += 1) await store.enter(record, caller(), lease());
    const known = () => server.use((redis) => redis.zcard(`${KEY_BASE}:in_flight`));
    expect((await store.counts(Date.now())).inFlight).toBe(3);
    expect(await known()).toBe(3);
    expect((await store.counts(Date.now() + MINUTE)).inFlight).toBe(0);
    expect(await known()).toBe(0);
  });

  test('a session that Redis expired early leaves no trace behind', async () => {
    const now = Date.now();
    const [lost, kept] = [newRecord({ lastActiveAt: now - DAY }), newRecord({ lastActiveAt: now - DAY })];
    await store.open(lost);
    await store.open(kept);
    await server.use((redis) => redis.del(`${KEY_BASE}:session:files:${lost.sessionId}`));
    const options = { now, idleBefore: now - HOUR, tombstoneUntil: now + 1, limit: 9 };
    expect(await store.expireIdle(options)).toEqual([kept]);
    await server.use((redis) => redis.del(`${KEY_BASE}:session:files:${kept.sessionId}`));
    expect(await store.expireTombstones({ now: now + 1, limit: 9 })).toEqual([]);
    expect(await server.use((redis) => redis.keys('*'))).toEqual([`${KEY_BASE}:servers`]);
  });

  test('more sessions than one page are expired and cleared', async () => {
    const now = Date.now();
    const records = Array.from({ length: 250 }, () => newRecord({ lastActiveAt: now - DAY }));
    await Promise.all(records.map((record) => store.open(record)));
    const busy = records.slice(0, 120);
    await Promise.all(busy.map((record) => store.enter(record, caller(now - DAY), lease())));
    const options = { now, idleBefore: now - HOUR, tombstoneUntil: now + DAY, limit: 1000 };
    expect(await store.expireIdle(options)).toHaveLength(130);
    await store.clear();
    expect(await server.use((redis) => redis.keys('*'))).toEqual([]);
  });

  test('a server that forgot the scripts is taught again, also for many calls at once', async () => {
    const record = newRecord();
    await store.open(record);
    await server.use((redis) => redis.script('FLUSH'));
    const results = await Promise.all(Array.from({ length: 20 }, () => store.enter(record, caller(), lease())));
    expect(results.every((result) => result.state === 'active')).toBe(true);
    expect((await store.counts(Date.now())).inFlight).toBe(20);
  });

  test('another key base is another store', async () => {
    const record = newRecord();
    await store.open(record);
    const other = new RedisStore(connection, { keyBase: `${KEY_BASE}:other` });
    expect(await other.find(record, caller())).toEqual({ state: 'unknown' });
    await other.clear();
    expect((await store.find(record, caller())).state).toBe('active');
  });

  test('L5: what somebody else has written in its place is an outage', async () => {
    const record = newRecord();
    await server.use((redis) => redis.set(`${KEY_BASE}:session:files:${record.sessionId}`, 'not a hash'));
    await expect(store.find(record, caller())).rejects.toThrow(StoreUnavailable);
    await expect(store.ping()).resolves.toBeUndefined();
  });

  test('a fault of our own is no outage', async () => {
    const failure = await connection.run((redis) => redis.eval('return nobody()', 0)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(StoreUnavailable);
  });
});

describe('RedisStore when the server fails', () => {
  let server: TestRedis;
  let connection: RedisConnection;
  let store: RedisStore;

  beforeEach(async () => {
    server = await startRedis();
    connection = new RedisConnection(server.server);
    await connection.connect();
    store = new RedisStore(connection, { keyBase: KEY_BASE });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  test('it is unavailable at once when the server is gone, and comes back with it', async () => {
    await server.stop();
    await expect.poll(() => connection.redis.status).not.toBe('ready');
    const start = performance.now();
    await expect(store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
    await expect(store.enter(newRecord(), caller(), lease())).rejects.toThrow(StoreUnavailable);
    expect(performance.now() - start).toBeLessThan(1_000);
    // Also later, when connection attempts have become rare.
    for (let attempt = 0; attempt < 15; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const start = performance.now();
      await expect(store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
      expect(performance.now() - start).toBeLessThan(400);
    }

    await server.start();
    const record = newRecord();
    await expect
      .poll(
        () =>
          store.open(record).then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true);
    expect((await store.enter(record, caller(), lease())).state).toBe('active');
  });

  test('a command that is under way when the server goes is unavailable', async () => {
    server.freeze();
    const waiting = expect(store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
    const start = performance.now();
    await server.stop();
    await waiting;
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  test('a server that does not answer is unavailable after the timeout', async () => {
    server.freeze();
    const start = performance.now();
    await expect(store.ping()).rejects.toThrow(StoreUnavailable);
    expect(performance.now() - start).toBeLessThan(4_000);
    server.thaw();
    await expect
      .poll(
        () =>
          store.ping().then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true);
  });

  test('the first connection may fail; it goes on trying', async () => {
    await server.stop();
    const early = new RedisConnection(server.server);
    try {
      await expect(early.connect()).rejects.toThrow(/ECONNREFUSED/);
      await expect(early.connect()).rejects.toThrow(StoreUnavailable);
      await server.start();
      await expect.poll(() => early.redis.status, { timeout: 10_000 }).toBe('ready');
    } finally {
      early.close();
    }
  });

  test.each([
    ['is full', (redis: TestRedis) => redis.use((client) => client.config('SET', 'maxmemory', '1'))],
    ['became a replica', (redis: TestRedis) => redis.use((client) => client.replicaof('127.0.0.1', redis.server.port))],
    [
      'asks for other replicas first',
      (redis: TestRedis) => redis.use((client) => client.config('SET', 'min-replicas-to-write', '1')),
    ],
    [
      'took our rights away',
      (redis: TestRedis) =>
        redis.use((client) => client.call('ACL', 'SETUSER', 'default', '-set', '-evalsha', '-eval')),
    ],
  ])('a server that %s is unavailable', async (_, change) => {
    const record = newRecord();
    await store.open(record);
    await change(server);
    await expect(store.ping()).rejects.toThrow(StoreUnavailable);
    await expect(store.enter(record, caller(), lease())).rejects.toThrow(StoreUnavailable);
  });

  test('a wrong password is unavailable and says so', async () => {
    const wrong = new RedisConnection({ ...server.server, username: 'nobody', password: 'wrong' });
    try {
      await expect(wrong.connect()).rejects.toThrow(/WRONGPASS/);
      await expect(new RedisStore(wrong, { keyBase: KEY_BASE }).ping()).rejects.toThrow(StoreUnavailable);
    } finally {
      wrong.close();
    }
  });
});
