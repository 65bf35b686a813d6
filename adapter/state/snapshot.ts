import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { MemoryStore } from './memory-store.ts';
import { openDatabase } from './sqlite-database.ts';
import type { SqliteFile } from './sqlite-database.ts';
import { SqliteSessionTable } from './sqlite-session-table.ts';
import type { StoredSession } from './stored-session.ts';

/** How the last snapshots went. Times are milliseconds since the epoch. */
export interface SnapshotStatus {
  readonly intervalMs: number;
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  /** Null when the last attempt succeeded. */
  readonly lastError: string | null;
  readonly lastSessionsCount: number | null;
  readonly lastTombstonesCount: number | null;
}

/** Rows that are written at once, before other work has its turn. */
const ROWS_PER_TURN = 500;

/**
 * Keeps the sessions of a MemoryStore over a restart (specification 2.3, type `memory` with `disk.local_path`): in a
 * file like that of SqliteStore, replaced as a whole in one transaction. A file that cannot be read or written never
 * stops the adapter; one that could not be read is not overwritten. The status tells.
 */
export class Snapshot {
  readonly #store: MemoryStore;
  readonly #file: SqliteFile;
  readonly #stopping = new AbortController();
  readonly #log: (message: string) => void;
  #running: Promise<void> | undefined;
  #readable = true;
  #status: SnapshotStatus;

  constructor(store: MemoryStore, options: { file: SqliteFile; intervalMs: number; log: (message: string) => void }) {
    this.#store = store;
    this.#file = options.file;
    this.#log = options.log;
    this.#status = {
      intervalMs: options.intervalMs,
      lastSuccessAt: null,
      lastFailureAt: null,
      lastError: null,
      lastSessionsCount: null,
      lastTombstonesCount: null,
    };
  }

  get status(): SnapshotStatus {
    return this.#status;
  }

  /** Fills the store with the last snapshot, if there is one. */
  load(): void {
    if (!existsSync(this.#file.path)) return;
    try {
      this.#store.import(this.#withFile((database) => new SqliteSessionTable(database, new Map()).all()));
    } catch (error) {
      this.#readable = false;
      this.#failed('read', error);
    }
  }

  /** Saves at once and then every interval. */
  start(): void {
    this.#running = this.#run();
  }

  /** Saves for the last time. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.save();
  }

  /** Replaces what the file holds with what the store holds now. */
  async save(): Promise<void> {
    if (!this.#readable) return;
    const sessions = this.#store.export();
    let database: DatabaseSync | undefined;
    try {
      database = openDatabase(this.#file);
      await replaceSessions(database, sessions);
      const tombstones = sessions.filter(({ ending }) => ending !== null).length;
      this.#status = {
        ...this.#status,
        lastSuccessAt: Date.now(),
        lastError: null,
        lastSessionsCount: sessions.length - tombstones,
        lastTombstonesCount: tombstones,
      };
    } catch (error) {
      this.#failed('write', error);
    } finally {
      // An open transaction ends with the connection, undone.
      database?.close();
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.save();
      await delay(this.#status.intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  #withFile<T>(work: (database: DatabaseSync) => T): T {
    const database = openDatabase(this.#file);
    try {
      return work(database);
    } finally {
      database.close();
    }
  }

  #failed(verb: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    // Once is enough while nothing changes.
    if (message !== this.#status.lastError) this.#log(`cannot ${verb} the snapshot ${this.#file.path}: ${message}`);
    this.#status = { ...this.#status, lastFailureAt: Date.now(), lastError: message };
  }
}

async function replaceSessions(database: DatabaseSync, sessions: readonly StoredSession[]): Promise<void> {
  database.exec('BEGIN IMMEDIATE');
  const table = new SqliteSessionTable(database, new Map());
  table.clear();
  for (const [index, session] of sessions.entries()) {
    table.add(session);
    if (index % ROWS_PER_TURN === ROWS_PER_TURN - 1) await nextTurn();
  }
  database.exec('COMMIT');
}
