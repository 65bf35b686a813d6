import type { DatabaseSync } from 'node:sqlite';
import { fileFailed } from './commit-queue.ts';
import type { Transactions } from './commit-queue.ts';
import { sqliteFault } from '../../../lib/sqlite/sqlite-fault.ts';
import { fileIdentity, openDatabase } from './sqlite-database.ts';
import type { SqliteFile } from './sqlite-database.ts';
import { SqliteFileTable } from './sqlite-file-table.ts';
import { SqliteFirstTexts } from './sqlite-first-texts.ts';
import { SqliteLimitTable } from './sqlite-limit-table.ts';
import { SqliteNonceTable } from './sqlite-nonce-table.ts';
import { SqliteSecrets } from './sqlite-secrets.ts';
import { SqliteSessionTable } from './sqlite-session-table.ts';
import { StoreUnavailable } from '../state-store.ts';

interface Open extends SqliteTables {
  readonly database: DatabaseSync;
  readonly begin: () => void;
  readonly commit: () => void;
  readonly identity: string | undefined;
}

/** Everything that the state file holds. */
export interface SqliteTables {
  readonly sessions: SqliteSessionTable;
  readonly files: SqliteFileTable;
  readonly nonces: SqliteNonceTable;
  readonly secrets: SqliteSecrets;
  readonly firstTexts: SqliteFirstTexts;
  readonly limits: SqliteLimitTable;
}

/** The state file, opened when it is first needed and again after it was damaged, removed or out of reach. */
export class SqliteConnection implements Transactions {
  readonly #file: SqliteFile;
  /** Session row id → activity that is still to be written; outlives a reopened file. */
  readonly #activity = new Map<number, number>();
  #open: Open | undefined;
  #closed = false;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** The tables, as of now. Raises what SQLite raises, or StoreUnavailable when the file cannot be opened. */
  get tables(): SqliteTables {
    return this.#opened();
  }

  get hasUnsavedActivity(): boolean {
    return this.#activity.size > 0;
  }

  begin(): void {
    const { begin, sessions } = this.#opened();
    begin();
    sessions.refresh();
  }

  commit(): void {
    const { commit, sessions } = this.#opened();
    commit();
    sessions.committed();
  }

  abort(error: unknown): 'busy' | 'unavailable' | 'own' {
    const fault = error instanceof StoreUnavailable ? 'unavailable' : sqliteFault(error);
    this.#open?.sessions.forget();
    try {
      // A full disk and some other failures have ended the transaction already.
      if (this.#open?.database.isTransaction) this.#open.database.exec('ROLLBACK');
    } catch {
      this.#forget();
    }
    if (fault === 'broken') this.#forget();
    return fault === 'busy' || fault === 'own' ? fault : 'unavailable';
  }

  /** Fails when the path leads to another file than the open one: what is written now would be lost. */
  checkIdentity(): void {
    const { identity } = this.#opened();
    if (fileIdentity(this.#file.path) === identity) return;
    this.#forget();
    throw new StoreUnavailable(`the state file ${this.#file.path} was removed or replaced`);
  }

  /** For good. */
  close(): void {
    this.#closed = true;
    this.#forget();
  }

  /** Closes the file; the next use opens it again. */
  #forget(): void {
    const database = this.#open?.database;
    this.#open = undefined;
    database?.close();
  }

  #opened(): Open {
    if (this.#closed) throw new StoreUnavailable('the state store is closed');
    this.#open ??= this.#openFile();
    return this.#open;
  }

  #openFile(): Open {
    let database: DatabaseSync;
    try {
      database = openDatabase(this.#file);
    } catch (error) {
      if (sqliteFault(error) === 'busy') throw error;
      throw fileFailed(error);
    }
    const begin = database.prepare('BEGIN IMMEDIATE');
    const commit = database.prepare('COMMIT');
    const files = new SqliteFileTable(database);
    return {
      database,
      sessions: new SqliteSessionTable(database, this.#activity, (session) => files.sessionEnded(session)),
      files,
      nonces: new SqliteNonceTable(database),
      secrets: new SqliteSecrets(database),
      firstTexts: new SqliteFirstTexts(database),
      limits: new SqliteLimitTable(database),
      begin: () => begin.run(),
      commit: () => commit.run(),
      identity: fileIdentity(this.#file.path),
    };
  }
}
