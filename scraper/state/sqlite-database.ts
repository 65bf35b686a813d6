import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { tightenDatabase } from '../../lib/files/private-files.ts';
import { sqliteFault } from '../../lib/sqlite/sqlite-fault.ts';
import { StateUnavailable } from './ledger.ts';
import { openSqliteReader } from './sqlite-reader.ts';
import { MORE_TABLES, TABLES, VERSION } from './sqlite-tables.ts';

export interface SqliteSettings {
  readonly path: string;
  /** How often work is tried again while another process has the file locked. */
  readonly lockRetries: number;
  /** Wait before the first of these attempts; it doubles up to a second. */
  readonly lockBackoffMs: number;
  /** Only looks: nothing is created, changed or brought up to date. The file must be there. */
  readonly readOnly?: boolean;
}

/** How long SQLite itself waits for another process's lock, which blocks this one. */
const BUSY_TIMEOUT_MS = 10;
/** The name that SQLite has for a database without a file. */
export const IN_MEMORY = ':memory:';
const LONGEST_BACKOFF_MS = 1000;
/** A page of fingerprints touches most of their index: that of 50,000 takes 5 MB. */
const CACHE_KIB = 8_000;
/** Pages of 4 KiB in the write-ahead log before they move into the file, which waits for the disk. */
const CHECKPOINT_PAGES = 4_000;

/** The state file, with transactions that wait for their turn. */
export class SqliteDatabase {
  readonly connection: DatabaseSync;
  readonly #settings: SqliteSettings;
  readonly #closed = new AbortController();

  /** Opens the file, creating it and its folder when missing, unless it is only to be read. */
  constructor(settings: SqliteSettings) {
    this.#settings = settings;
    if (settings.readOnly === true) {
      this.connection = openSqliteReader(settings.path, BUSY_TIMEOUT_MS);
      return;
    }
    if (settings.path !== IN_MEMORY) tightenDatabase(settings.path);
    this.connection = new DatabaseSync(settings.path, { timeout: BUSY_TIMEOUT_MS });
    try {
      prepare(this.connection);
    } catch (error) {
      this.connection.close();
      throw error;
    }
  }

  /** Does the work in one transaction, all or nothing. The work is done again when the file was locked. */
  write<T>(work: () => T): Promise<T> {
    return this.#whenFree(() => transaction(this.connection, work));
  }

  read<T>(work: () => T): Promise<T> {
    return this.#whenFree(work);
  }

  close(): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.connection.close();
  }

  async #whenFree<T>(work: () => T): Promise<T> {
    const { lockRetries, lockBackoffMs } = this.#settings;
    for (let attempt = 0; ; attempt += 1) {
      if (this.#closed.signal.aborted) throw new StateUnavailable('the state file is closed');
      try {
        return work();
      } catch (error) {
        const fault = sqliteFault(error);
        if (fault === 'own') throw error;
        if (fault !== 'busy' || attempt >= lockRetries) throw unavailable(this.#settings.path, error);
      }
      const wait = Math.min(lockBackoffMs * 2 ** attempt, LONGEST_BACKOFF_MS);
      await delay(wait, undefined, { signal: this.#closed.signal }).catch(() => undefined);
    }
  }
}

function prepare(connection: DatabaseSync): void {
  // Losing the last transactions at a power cut is fine: their windows are open again and come twice.
  connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  connection.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  transaction(connection, () => {
    const version = Number(connection.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > VERSION) {
      throw new Error(`the state file has version ${version}, written by a newer release; this one knows ${VERSION}`);
    }
    if (version < VERSION) connection.exec(`${TABLES}; PRAGMA user_version = ${VERSION}`);
    connection.exec(MORE_TABLES);
  });
}

function transaction<T>(connection: DatabaseSync, work: () => T): T {
  connection.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    connection.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk and some other failures have ended the transaction already.
    if (connection.isTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}

const unavailable = (path: string, error: unknown): StateUnavailable =>
  new StateUnavailable(`the state file ${path}: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  });
