import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { RequestCounter } from '../requests/rate-limit.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisKeys } from './redis-keys.ts';
import { RedisRequestCounter } from './redis-request-counter.ts';
import { startRedis } from './testing/redis-server.ts';
import type { TestRedis } from './testing/redis-server.ts';

const keys = new RedisKeys('');
let redis: TestRedis;
const connections: RedisConnection[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.close();
  await redis.use((client) => client.flushall());
});

async function connect(): Promise<RedisConnection> {
  const connection = new RedisConnection(redis.server);
  connections.push(connection);
  await connection.connect();
  return connection;
}

const limit = { requests: 10, perMs: 60_000, burst: 3 };
const newPod = async (): Promise<RequestCounter> => new RedisRequestCounter(await connect(), keys);

test('a rate limit is shared by all pods', async () => {
  const [a, b] = [await newPod(), await newPod()];
  const waits = [];
  for (const pod of [a, b, a, b, a, b]) waits.push(await pod.reserve('api', limit));
  expect(waits.slice(0, 3)).toEqual([0, 0, 0]);
  for (const [index, wait] of waits.slice(3).entries()) {
    expect(wait).toBeGreaterThan(6_000 * (index + 1) - 2_000);
    expect(wait).toBeLessThanOrEqual(6_000 * (index + 1));
  }
  expect(await b.reserve('other', limit)).toBe(0);
  const left = await redis.use((client) => client.pttl('rate:api'));
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(36_000);
});

test('a rate limit gives no place twice', async () => {
  const pods = await Promise.all([newPod(), newPod(), newPod()]);
  const many = { requests: 1000, perMs: 60_000_000, burst: 1 };
  const taken = await Promise.all(pods.flatMap((pod) => Array.from({ length: 20 }, () => pod.reserve('api', many))));
  const places = taken.map((wait) => Math.round(wait / 60_000));
  expect(places.sort((x, y) => x - y)).toEqual(Array.from({ length: 60 }, (_, index) => index));
});
