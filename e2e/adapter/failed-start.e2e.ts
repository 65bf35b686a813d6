import { createServer } from 'node:http';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runAdapter } from '../support/adapter-process.ts';
import { listen } from '../support/ports.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import type { JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { accessTo, mounted } from './kit/deployment.ts';
import { startInProcess } from './kit/in-process.ts';

describe('a start that fails half-way', () => {
  const taken = createServer();
  let redis: RedisServer;
  let watching: Redis;
  let port: number;
  beforeAll(async () => {
    redis = await startRedis();
    watching = new Redis(redis.url);
    port = await listen(taken);
  });
  afterAll(async () => {
    watching?.disconnect();
    await redis?.[Symbol.asyncDispose]();
    taken.close();
  });

  const config = (): JsonObject => ({
    state_persistence: { type: 'redis', redis: accessTo(redis) },
    // Nobody answers there, so pings and the wait at the start would go on.
    servers: [mounted('search', 'http://127.0.0.1:9/mcp')],
  });
  const connections = async (): Promise<number> =>
    String(await watching.client('LIST'))
      .trim()
      .split('\n').length;

  test('leaves no connection and no port to who embeds the adapter', async () => {
    const before = await connections();
    const open = openHere();
    await expect(startInProcess(config(), { port })).rejects.toThrow('EADDRINUSE');
    await expect.poll(connections).toBe(before);
    await expect.poll(openHere).toEqual(open);
  });

  test('ends the process with 1 and the reason', async () => {
    const { code, stderr } = await runAdapter({ config: config(), port });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^mcp-adapter: cannot start: .*EADDRINUSE/m);
  });
});

/** Connections and ports of this process. */
const openHere = (): string[] =>
  process
    .getActiveResourcesInfo()
    .filter((kind) => kind.startsWith('TCP'))
    .toSorted();
