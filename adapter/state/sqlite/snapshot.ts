import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { FileRecord } from '../file-records.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { Lock } from '../tables/session-table.ts';
import { openDatabase } from './sqlite-database.ts';
import type { SqliteFile } from './sqlite-database.ts';
import { SqliteFileTable } from './sqlite-file-table.ts';
import { SqliteSecrets } from './sqlite-secrets.ts';
import { SqliteSessionTable } from './sqlite-session-table.ts';
import type { StoredSession } from '../stored-session.ts';
import { NOT_RECONCILED } from '../not-reconciled.ts';

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
 * Keeps the sessions with their pins, committed files and secrets of a MemoryStore over a restart (specification 2.3, type `memory` with
 * `disk.local_path`): in a file like that of SqliteStore, replaced as a whole in one transaction. A file that cannot be read or written never
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

  /** Fills the store with the last snapshot, if there is one, or with nothing but the secrets in it. */
  load(what: 'all' | 'secrets' = 'all'): void {
    if (!existsSync(this.#file.path)) return;
    try {
      const content = this.#withFile(contentOf);
      this.#store.importSecrets(content.secrets);
      if (what === 'secrets') return;
      this.#store.import(content.sessions);
      this.#store.importBaselines(content.baselines);
      this.#store.importFiles(content.files);
      this.#store.importMark(content.mark);
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
    const content = {
      sessions: this.#store.export(),
      baselines: this.#store.exportBaselines(),
      files: this.#store.exportFiles(),
      secrets: this.#store.exportSecrets(),
      mark: this.#store.exportMark(),
    };
    const { sessions } = content;
    let database: DatabaseSync | undefined;
    try {
      database = openDatabase(this.#file);
      await replaceContent(database, content);
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

/** What outlives a restart. */
interface Content {
  readonly sessions: readonly StoredSession[];
  /** The texts of what is pinned for them, by fingerprint. */
  readonly baselines: ReadonlyMap<string, string>;
  /** Committed ones. */
  readonly files: readonly FileRecord[];
  readonly secrets: Iterable<readonly [name: string, secret: string]>;
  /** Sessions that reconciliation made before it could finish must not look like all that there were. */
  readonly mark: Lock | undefined;
}

function contentOf(database: DatabaseSync): Content {
  const files = new SqliteFileTable(database).all().map(({ record }) => record);
  const sessionTable = new SqliteSessionTable(database, new Map());
  return {
    sessions: sessionTable.all(),
    baselines: sessionTable.baselines(),
    mark: sessionTable.lock(NOT_RECONCILED),
    // A file that type `disk` wrote holds pending ones and leases too: whoever had them is gone.
    files: files.filter(({ state }) => state === 'committed').map((record) => ({ ...record, leaseUntil: 0 })),
    secrets: new SqliteSecrets(database).all(),
  };
}

async function replaceContent(database: DatabaseSync, content: Content): Promise<void> {
  const { sessions, baselines, files, secrets, mark } = content;
  database.exec('BEGIN IMMEDIATE');
  const sessionTable = new SqliteSessionTable(database, new Map());
  const fileTable = new SqliteFileTable(database);
  const secretTable = new SqliteSecrets(database);
  sessionTable.clear();
  fileTable.clear();
  sessionTable.setLock(NOT_RECONCILED, mark);
  await yieldToEventLoop(sessions, (session) => sessionTable.add(session));
  await yieldToEventLoop([...baselines], ([fingerprint, text]) => sessionTable.addBaseline({ fingerprint, text }));
  await yieldToEventLoop(files, (record) => fileTable.put({ record, uses: 0 }));
  for (const [name, secret] of secrets) secretTable.add(name, secret);
  database.exec('COMMIT');
}

async function yieldToEventLoop<T>(items: readonly T[], add: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    add(item);
    if (index % ROWS_PER_TURN === ROWS_PER_TURN - 1) await nextTurn();
  }
}
