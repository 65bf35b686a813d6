import { existsSync } from 'node:fs';
import type { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import type { Ledger } from './ledger.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisKeys } from './redis-keys.ts';
import { RedisLedger } from './redis-ledger.ts';
import { SqliteLedger } from './sqlite-ledger.ts';

/** What can be read of the state. */
export type StateReader = Pick<Ledger, 'source' | 'due' | 'seen' | 'close'>;

/**
 * Opens the state that `scraper.fingerprintStore` names, without changing it and without holding up a scraper that works
 * on it. Undefined: there is none yet. Raises StateUnavailable, or what SQLite raises, when it cannot be read.
 */
export async function readState(store: FingerprintStore): Promise<StateReader | undefined> {
  if (store.backend === 'sqlite') {
    const { path } = store.sqlite;
    if (!existsSync(path)) return undefined;
    const lockBackoffMs = store.lockBackoffSeconds * 1000;
    return new SqliteLedger({ path, lockRetries: store.lockRetries, lockBackoffMs, readOnly: true });
  }
  const connection = new RedisConnection(store.valkey);
  try {
    await connection.connect();
  } catch (error) {
    connection.close();
    throw error;
  }
  const ledger = new RedisLedger(connection, new RedisKeys(store.valkey.keyPrefix));
  return {
    source: (name) => ledger.source(name),
    due: (name, now, limit) => ledger.due(name, now, limit),
    seen: (name, hashes, now) => ledger.seen(name, hashes, now),
    close: async () => connection.close(),
  };
}
