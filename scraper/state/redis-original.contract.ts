import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { windowId } from './ledger.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisKeys } from './redis-keys.ts';
import { RedisLedger } from './redis-ledger.ts';
import { claim } from './testing/ledgers.ts';
import { startRedis } from './testing/redis-server.ts';
import type { TestRedis } from './testing/redis-server.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const time = new Date('2026-03-01T10:15:00.123Z');
const later = new Date('2026-03-01T10:20:00Z');

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.use((client) => client.flushall()));

async function withLedger<T>(prefix: string, work: (ledger: RedisLedger, parts: Parts) => Promise<T>): Promise<T> {
  const connection = new RedisConnection(redis.server);
  await connection.connect();
  const keys = new RedisKeys(prefix);
  try {
    return await work(new RedisLedger(connection, keys), { connection, keys });
  } finally {
    connection.close();
  }
}
interface Parts {
  readonly connection: RedisConnection;
  readonly keys: RedisKeys;
}

describe('what the original has left in Redis', () => {
  test('a source continues where the original has stopped', async () => {
    await redis.use((client) => client.set('last_success:s', '2026-03-01T10:15:00.123456+00:00'));
    await withLedger('', async (ledger, { connection, keys }) => {
      const fence = await claim(connection, keys, 's', 'pod');
      expect(await ledger.source('s')).toMatchObject({ plannedUntil: time, watermark: time });
      expect(await ledger.plan('s', undefined, [], later, fence)).toBe(false);
      expect(await ledger.plan('s', later, [], later, fence)).toBe(false);
      expect(await ledger.plan('s', time, [{ start: time, end: later }], later, fence)).toBe(true);
      expect(await ledger.plan('s', time, [], later, fence)).toBe(false);
      expect(await ledger.source('s')).toMatchObject({ plannedUntil: later, watermark: time, openWindows: 1 });
    });
  });

  test('a broken time reads as never scraped', async () => {
    await redis.use((client) => client.set('last_success:s', 'yesterday'));
    await withLedger('', async (ledger, { connection, keys }) => {
      const fence = await claim(connection, keys, 's', 'pod');
      expect(await ledger.source('s')).toBeUndefined();
      expect(await ledger.plan('s', undefined, [], later, fence)).toBe(true);
    });
  });

  test('its fingerprints hold for the time that they have left', async () => {
    await redis.use(async (client) => {
      await client.set('last_success:s', '2026-03-01T10:15:00.123456+00:00');
      for (const [text, ttl] of [
        ['long', 600],
        ['short', 60],
      ] as const) {
        await client.set(`fp:s:${hash(text)}`, '1764324900.5', 'EX', ttl);
        await client.zadd('fp_index:s', 1764324900.5, hash(text));
      }
      await client.zadd('fp_index:s', 1764324900.5, hash('gone'));
    });
    await withLedger('', async (ledger, { connection, keys }) => {
      await ledger.plan('s', time, [], later, await claim(connection, keys, 's', 'pod'));
      const hashes = ['long', 'short', 'gone', 'other'].map(hash);
      const seen = (ms: number) => ledger.seen('s', hashes, new Date(Date.now() + ms));
      expect(await seen(0)).toEqual(new Set([hash('long'), hash('short')]));
      expect(await seen(100_000)).toEqual(new Set([hash('long')]));
    });
  });
});

test('every key expires', async () => {
  await withLedger('mine:', async (ledger, { connection, keys }) => {
    const fence = await claim(connection, keys, 's', 'pod');
    const ranges = [0, 1, 2, 3].map((minute) => ({
      start: new Date(time.getTime() + minute * 60_000),
      end: new Date(time.getTime() + (minute + 1) * 60_000),
    }));
    await ledger.plan('s', undefined, ranges, later, fence);
    const [first, second] = ranges.map((range) => windowId('scheduled', range));
    const commit = { now: new Date(), fingerprints: [hash('a')], ttlMs: 3_600_000, maxEntries: 10 };
    await ledger.commit('s', String(first), commit, fence);
    await ledger.failed('s', String(second), { error: 'no', nextAttemptAt: 'dead', now: new Date() }, fence);
    await ledger.backfill('s', ranges);
    await ledger.pause('paused only');
    await ledger.backfill('backfilled only', ranges);
  });
  const keys = await redis.use((client) => client.keys('*'));
  expect(keys.length).toBeGreaterThan(8);
  for (const key of keys) {
    expect(key.startsWith('mine:')).toBe(true);
    expect(await redis.use((client) => client.pttl(key)), key).toBeGreaterThan(0);
  }
});

test('deployments with different prefixes share a database without seeing or cleaning each other', async () => {
  const until = new Date(Date.now() + 60_000);
  const range = { start: time, end: later };
  for (const prefix of ['', 'other:']) {
    await withLedger(prefix, async (ledger, { connection, keys }) => {
      expect(await ledger.source('s')).toBeUndefined();
      const fence = await claim(connection, keys, 's', `pod of ${prefix}`);
      expect(await ledger.plan('s', undefined, [range], later, fence)).toBe(true);
      const commit = { now: new Date(), fingerprints: [hash('a')], ttlMs: 3_600_000, maxEntries: 10 };
      expect(await ledger.commit('s', windowId('scheduled', range), commit, fence)).toBe(true);
    });
  }
  const before = await redis.use((client) => client.dbsize());
  const farAway = new Date(Date.now() + 86_400_000);
  await withLedger('other:', (ledger) => ledger.cleanUp(farAway, ['s', 'x']));
  await withLedger('', async (ledger) => {
    expect((await ledger.seen('s', [hash('a')], until)).size).toBe(1);
    // Nor does a deployment remove what it does not know.
    expect(await ledger.cleanUp(farAway, ['another'])).toEqual({ fingerprints: 0, windows: 0 });
    expect((await ledger.seen('s', [hash('a')], until)).size).toBe(1);
  });
  expect(await redis.use((client) => client.dbsize())).toBe(before - 1);
});
