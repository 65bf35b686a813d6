import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryStore } from '../memory-store.ts';
import { SqliteStore } from '../sqlite-store.ts';
import type { StateStore } from '../state-store.ts';

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

/** Everything that must pass the state store's contract. */
export const stateStores: readonly StoreTechnology[] = [memory, sqlite(true), sqlite(false)];
