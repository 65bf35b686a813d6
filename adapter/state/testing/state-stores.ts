import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { availableStore } from '../availability/availability.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { RedisConnection } from '../redis/redis-connection.ts';
import type { RedisServer } from '../../../lib/redis/redis-options.ts';
import { RedisStore } from '../redis/redis-store.ts';
import { SqliteStore } from '../sqlite/sqlite-store.ts';
import type { StateStore } from '../state-store.ts';
import { startRedis, startRestrictedRedis } from './redis-server.ts';
import type { TestRedis } from './redis-server.ts';

/** Two clients of one empty store, as two replicas have them. */
export interface StoreClients {
  readonly a: StateStore;
  readonly b: StateStore;
  close(): Promise<void>;
}

export interface StoreTechnology {
  readonly name: string;
  start?(): Promise<void>;
  stop?(): Promise<void>;
  connect(): Promise<StoreClients>;
}

const memory: StoreTechnology = {
  name: 'MemoryStore',
  connect: async () => {
    const store = new MemoryStore();
    return { a: store, b: store, close: () => store.close() };
  },
};

const sqlite = (wal: boolean): StoreTechnology => ({
  name: `SqliteStore ${wal ? 'with' : 'without'} WAL`,
  connect: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sqlite-store-'));
    const file = { path: join(folder, 'state', 'adapter_state.sqlite3'), wal };
    const [a, b] = [new SqliteStore(file), new SqliteStore(file)];
    const close = async (): Promise<void> => {
      await Promise.all([a.close(), b.close()]);
      await rm(folder, { recursive: true });
    };
    return { a, b, close };
  },
});

/** `fallback_memory` does most: it follows what happens to every session. */
const available: StoreTechnology = {
  name: 'AvailableStore',
  connect: async () => {
    const store = availableStore(new MemoryStore(), {
      policy: 'fallback_memory',
      configuredType: 'memory',
      pingMs: 60_000,
      prepare: async () => undefined,
      exit: () => undefined,
      log: () => undefined,
    });
    await store.start();
    return { a: store, b: store, close: () => store.close() };
  },
};

/** Two connections to one redis-server, each test under its own key base. */
function redis(name: string, start: () => Promise<{ server: TestRedis; client: RedisServer }>): StoreTechnology {
  let running: { server: TestRedis; client: RedisServer } | undefined;
  let tests = 0;
  return {
    name,
    start: async () => {
      running = await start();
    },
    stop: async () => running?.server.stop(),
    connect: async () => {
      if (running === undefined) throw new Error('redis-server does not run');
      const { client } = running;
      tests += 1;
      const options = { keyBase: `adapter:${tests}` };
      const connections = [new RedisConnection(client), new RedisConnection(client)] as const;
      await Promise.all(connections.map((connection) => connection.connect()));
      const [a, b] = [new RedisStore(connections[0], options), new RedisStore(connections[1], options)];
      const close = async (): Promise<void> => {
        await Promise.all([a.close(), b.close()]);
      };
      return { a, b, close };
    },
  };
}

const plainRedis = redis('RedisStore', async () => {
  const server = await startRedis();
  return { server, client: server.server };
});

const restrictedRedis = redis('RedisStore with a restricted user', () => startRestrictedRedis('adapter'));

/** Everything that must pass the state store's contract. */
export const stateStores: readonly StoreTechnology[] = [
  memory,
  available,
  sqlite(true),
  sqlite(false),
  plainRedis,
  restrictedRedis,
];
