import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { readState } from './read-state.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisKeys } from './redis-keys.ts';
import { RedisLedger } from './redis-ledger.ts';
import { claim } from './testing/ledgers.ts';
import { startRedis, type TestRedis } from './testing/redis-server.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const [one, two] = [new Date('2026-03-01T01:00:00Z'), new Date('2026-03-01T02:00:00Z')];

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const storeAt = (changes: object = {}): FingerprintStore => {
  const { host, port } = redis.server;
  return FingerprintStore.parse({ backend: 'redis', redis: { host, port, keyPrefix: 'p:', ...changes } });
};

/** Everything that is there. */
const contents = async (): Promise<string[]> =>
  redis.use(async (client) => {
    const keys = (await client.keys('*')).sort();
    return Promise.all(keys.map(async (key) => `${key}=${(await client.dumpBuffer(key))?.toString('base64') ?? ''}`));
  });

test('a state in Redis is read and stays as it is', async () => {
  const connection = new RedisConnection(redis.server);
  await connection.connect();
  const keys = new RedisKeys('p:');
  const ledger = new RedisLedger(connection, keys);
  const fence = await claim(connection, keys, 's', 'pod');
  await ledger.plan('s', undefined, [{ start: one, end: two }], two, fence);
  const [window] = await ledger.due('s', two, 1);
  const commit = { now: two, fingerprints: [hash('a')], ttlMs: 1e9, maxEntries: 9 };
  await ledger.commit('s', window?.id ?? '', commit, fence);
  connection.close();
  const before = await contents();

  const reader = await readState(storeAt());
  expect(await reader?.source('s')).toMatchObject({ plannedUntil: two, watermark: two, openWindows: 0 });
  expect(await reader?.due('s', two, 9)).toEqual([]);
  expect(await reader?.seen('s', [hash('a'), hash('b')], two)).toEqual(new Set([hash('a')]));
  expect(await reader?.source('none')).toBeUndefined();
  await reader?.close();
  expect(await contents()).toEqual(before);
  expect(before.length).toBeGreaterThan(0);
});

test('a Redis that is not there is said, and not waited for', async () => {
  await expect(readState(storeAt({ port: 1 }))).rejects.toThrow(/Redis is unavailable/);
});
