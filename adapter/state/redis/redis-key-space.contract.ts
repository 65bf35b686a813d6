import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { RedisConnection } from './redis-connection.ts';
import { type AdapterIdentity, KeySpaceTaken, RedisKeySpace } from './redis-key-space.ts';
import { RedisStore } from './redis-store.ts';
import { StoreUnavailable } from '../state-store.ts';
import { startRedis, type TestRedis } from '../testing/redis-server.ts';

const KEY_BASE = 'adapter:tests';
const SEARCH = 'https://search.test';
const NOTES = 'https://notes.test';

let server: TestRedis;
let connection: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.use((redis) => redis.flushall());
  connection = new RedisConnection(server.server);
  await connection.connect();
});
afterEach(() => {
  connection.close();
  vi.restoreAllMocks();
});

const replica = (servers: Record<string, string>, name: string | null = null, keyBase = KEY_BASE): RedisKeySpace =>
  new RedisKeySpace(connection, { keyBase, own: { name, servers }, renewMs: 5_000 });

const identity = (servers: Record<string, string>, name: string | null = null): AdapterIdentity => ({ name, servers });

describe('T19: the keys of one adapter in Redis', () => {
  test('are shared by all its replicas, again and again', async () => {
    const replicas = [1, 2, 3].map(() => replica({ search: SEARCH }));
    await Promise.all([...replicas, ...replicas].map((one) => one.claim()));
    expect(await server.use((redis) => redis.hlen(`${KEY_BASE}:replicas`))).toBe(3);
  });

  test.each<[string, AdapterIdentity, AdapterIdentity, boolean]>([
    ['a server more', identity({ search: SEARCH }), identity({ search: SEARCH, notes: NOTES }), true],
    ['a server less', identity({ search: SEARCH, notes: NOTES }), identity({ notes: NOTES }), true],
    ['no server in common', identity({ search: SEARCH }), identity({ notes: NOTES }), false],
    ['the same id for another upstream', identity({ search: SEARCH }), identity({ search: NOTES }), false],
    [
      'one id for two upstreams, though another server is the same',
      identity({ search: SEARCH, notes: NOTES }),
      identity({ search: SEARCH, notes: 'https://other.test' }),
      false,
    ],
    [
      'the same name and another upstream',
      identity({ search: SEARCH }, 'a/b'),
      identity({ search: NOTES }, 'a/b'),
      true,
    ],
    ['the same name and other servers', identity({ search: SEARCH }, 'a/b'), identity({ notes: NOTES }, 'a/b'), true],
    [
      'another name and the same servers',
      identity({ search: SEARCH }, 'a/b'),
      identity({ search: SEARCH }, 'a/c'),
      false,
    ],
    [
      'a name on one side and the same servers',
      identity({ search: SEARCH }),
      identity({ search: SEARCH }, 'a/b'),
      true,
    ],
    ['a name on one side and other servers', identity({ search: SEARCH }), identity({ notes: NOTES }, 'a/b'), false],
  ])('with %s', async (_, first, second, accepted) => {
    await replica(first.servers, first.name).claim();
    const claimed = replica(second.servers, second.name).claim();
    if (accepted) await claimed;
    else await expect(claimed).rejects.toThrow(KeySpaceTaken);
  });

  test('are refused with a sentence that says whose they are and what to do', async () => {
    await replica({ b: SEARCH, a: NOTES }, 'tools/one').claim();
    await expect(replica({ c: SEARCH }, 'tools/two').claim()).rejects.toThrow(
      'the keys "adapter:tests" in Redis belong to another adapter: they are used by tools/one (servers a, b), and this is ' +
        'tools/two (servers c). Set state_persistence.redis.key_base of one of them to something else, such as ' +
        '"mcp:tools/two"; or, if they are replicas of one adapter, set MCP_ADAPTER_NAME to the same value at all of them',
    );
  });

  test('leave others alone that have a base of their own', async () => {
    await replica({ search: SEARCH }).claim();
    await replica({ search: NOTES }, null, 'other').claim();
  });

  test('are free once their replicas have ended, or have not been heard of for a minute', async () => {
    const ended = replica({ search: SEARCH });
    await ended.claim();
    await ended.release();
    const lost = replica({ search: NOTES });
    await lost.claim();
    const [field = ''] = await server.use((redis) => redis.hkeys(`${KEY_BASE}:replicas`));
    const [time] = await server.use((redis) => redis.time());
    const note = await server.use((redis) => redis.hget(`${KEY_BASE}:replicas`, field));
    const ends = Number(note?.split(' ')[0]);
    expect(ends - Number(time) * 1000).toBeGreaterThan(55_000);
    await expect(replica({ search: SEARCH }).claim()).rejects.toThrow(KeySpaceTaken);
    const past = note?.replace(/^\d+/, String(Number(time) * 1000 - 1)) ?? '';
    await server.use((redis) => redis.hset(`${KEY_BASE}:replicas`, field, past));
    await replica({ search: SEARCH }).claim();
    expect(await server.use((redis) => redis.hlen(`${KEY_BASE}:replicas`))).toBe(1);
    expect(await server.use((redis) => redis.pttl(`${KEY_BASE}:replicas`))).toBeGreaterThan(55_000);
  });

  test('that another adapter took while this one was not heard of are out of reach, as in an outage', async () => {
    const first = replica({ search: SEARCH });
    await first.claim();
    await server.use((redis) => redis.del(`${KEY_BASE}:replicas`));
    await replica({ search: NOTES }).claim();
    await expect(first.claim()).rejects.toThrow(StoreUnavailable);
  });

  test('are claimed by the health check of the store, and given back at its end', async () => {
    const own = new RedisConnection(server.server);
    const store = new RedisStore(own, { keyBase: KEY_BASE, keySpace: replica({ search: SEARCH }) });
    await own.connect();
    await store.ping();
    await expect(replica({ search: NOTES }).claim()).rejects.toThrow(KeySpaceTaken);
    await store.clear();
    await expect(replica({ search: NOTES }).claim()).rejects.toThrow(KeySpaceTaken);
    await store.close();
    await replica({ search: NOTES }).claim();
  });
});
