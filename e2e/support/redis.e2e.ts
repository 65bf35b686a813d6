import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import { type RedisOptions, type RedisServer, startRedis } from './redis.ts';

/** One connection for one use, so that no reconnecting hides what the server does. */
async function withClient<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, {
    retryStrategy: () => null,
    commandTimeout: 500,

    lazyConnect: true,
  });
  // The reason of a refusal comes as an event; the promise says only that the connection was closed.
  const reasons: Error[] = [];
  client.on('error', (error) => reasons.push(error));
  try {
    await client.connect();
    return await use(client);
  } catch (error) {
    throw reasons[0] ?? error;
  } finally {
    client.disconnect();
  }
}
const set = (url: string) => withClient(url, (client) => client.set('key', 'kept'));
const get = (url: string) => withClient(url, (client) => client.get('key'));

describe('a Redis for tests', { timeout: 15_000 }, () => {
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const resource of opened.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
  });

  async function start(options?: RedisOptions): Promise<RedisServer> {
    const redis = await startRedis(options);
    opened.push(redis);
    return redis;
  }
  test('keeps its port and its data over a stop and a start', async () => {
    const redis = await start();
    await set(redis.url);
    await redis.stop();
    await expect(get(redis.url)).rejects.toThrow();
    await redis.start();
    expect(await get(redis.url)).toBe('kept');
  });

  test('keeps its data over a crash only with an append-only file', async () => {
    for (const appendonly of [true, false]) {
      const redis = await start({ appendonly });
      await set(redis.url);
      await redis.crash();
      await redis.start();
      expect(await get(redis.url)).toBe(appendonly ? 'kept' : null);
    }
  });

  test('answers nothing while paused, and goes on after', async () => {
    const redis = await start();
    await set(redis.url);
    await withClient(redis.url, async (client) => {
      await redis.pause();
      await expect(client.get('key')).rejects.toThrow('timed out');
    });
    await redis.resume();
    expect(await get(redis.url)).toBe('kept');
  });

  test('can be stopped while paused, and keeps its data', async () => {
    const redis = await start();
    await set(redis.url);
    await redis.pause();
    await redis.stop();
    await redis.start();
    expect(await get(redis.url)).toBe('kept');
    await redis.pause();
    await redis.close();
    await expect(get(redis.url)).rejects.toThrow();
  });

  test('asks for the password of the default user', async () => {
    const redis = await start({ requirepass: 'secret' });
    await set(redis.url);
    await expect(get(`redis://127.0.0.1:${redis.port}`)).rejects.toThrow('NOAUTH');
  });

  test('lets only the user of the access control list in', async () => {
    const redis = await start({ aclUser: { name: 'adapter', password: 'secret' } });
    await set(redis.url);
    await expect(get(`redis://127.0.0.1:${redis.port}`)).rejects.toThrow('NOAUTH');
    await expect(get(`redis://adapter:wrong@127.0.0.1:${redis.port}`)).rejects.toThrow('WRONGPASS');
  });
});
