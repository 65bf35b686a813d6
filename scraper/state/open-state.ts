import type { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { LocalCounter } from '../requests/rate-limit.ts';
import type { RequestCounter } from '../requests/rate-limit.ts';
import type { Assignment, AssignmentOptions } from './assignment.ts';
import type { Ledger } from './ledger.ts';
import { LocalAssignment } from './local-assignment.ts';
import { SqliteLedger } from './sqlite-ledger.ts';
import { lockStateFile } from './sqlite-lock.ts';

/** Everything that outlives a scrape. */
export interface State {
  readonly ledger: Ledger;
  readonly requestCounter: RequestCounter;
  assignment(options: AssignmentOptions): Assignment;
  close(): Promise<void>;
}

export interface StateOptions {
  /** Unique for this process: a pod that starts again is another pod. */
  readonly pod: string;
  /** Milliseconds of a clock that only runs forwards. */
  readonly clock: () => number;
  /** Told what goes wrong in the background. */
  readonly onError: (error: unknown) => void;
}

/** Opens the state that `scraper.fingerprintStore` names. Raises StateUnavailable when it cannot be used now. */
export function openState(store: FingerprintStore, options: StateOptions): Promise<State> {
  return store.backend === 'sqlite' ? openSqlite(store, options) : openRedis(store, options);
}

async function openSqlite(store: FingerprintStore, { pod }: StateOptions): Promise<State> {
  const { path } = store.sqlite;
  const unlock = lockStateFile(path);
  try {
    const lockBackoffMs = store.lockBackoffSeconds * 1000;
    const ledger = new SqliteLedger({ path, lockRetries: store.lockRetries, lockBackoffMs });
    return {
      ledger,
      requestCounter: new LocalCounter(),
      assignment: (options) => new LocalAssignment(pod, options),
      close: async () => {
        await ledger.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function openRedis(store: FingerprintStore, { pod, clock, onError }: StateOptions): Promise<State> {
  // Its client is loaded only where it is used: it takes a tenth of the start.
  const [{ LUA }, { RedisAssignment }, { RedisConnection }, { RedisKeys }, { RedisLedger }, { RedisRequestCounter }] =
    await Promise.all([
      import('./lua-scripts.ts'),
      import('./redis-assignment.ts'),
      import('./redis-connection.ts'),
      import('./redis-keys.ts'),
      import('./redis-ledger.ts'),
      import('./redis-request-counter.ts'),
    ]);
  LUA.load();
  const connection = new RedisConnection(store.valkey);
  const keys = new RedisKeys(store.valkey.keyPrefix);
  try {
    await connection.connect();
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    ledger: new RedisLedger(connection, keys),
    requestCounter: new RedisRequestCounter(connection, keys),
    assignment: (options) => new RedisAssignment(connection, keys, { ...options, pod, clock, onError }),
    close: async () => connection.close(),
  };
}
