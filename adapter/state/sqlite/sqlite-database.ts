import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { privateDatabase, privateFolder } from '../../../lib/files/private-files.ts';

/** Where the state file lies, and whether it may use write-ahead logging (specification 2.3, `disk`). */
export interface SqliteFile {
  readonly path: string;
  /** False only for file systems that cannot do WAL; the journal mode is then DELETE. */
  readonly wal: boolean;
  /** Whether its folder is made for the state alone, so that nobody else has to look into it. */
  readonly hasOwnFolder?: boolean;
}

/**
 * What each version of the tables adds to the one before, for files of every age. A file of a newer version is refused:
 * older code would damage it.
 */
const SCHEMAS: readonly string[] = [
  `
    CREATE TABLE sessions (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      server_id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      principal TEXT NOT NULL,
      upstream_session_id TEXT,
      generation INTEGER NOT NULL,
      protocol_version TEXT NOT NULL,
      initialize_params TEXT NOT NULL,
      log_level TEXT,
      subscriptions TEXT NOT NULL,
      lists_generation INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      last_active_at INTEGER NOT NULL,
      expires_at INTEGER,
      reason TEXT,
      UNIQUE (server_id, session_id)
    );
    CREATE INDEX active_sessions ON sessions (last_active_at) WHERE expires_at IS NULL;
    CREATE INDEX tombstones ON sessions (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE leases (
      session INTEGER NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL,
      PRIMARY KEY (session, id)
    ) WITHOUT ROWID;
    CREATE TABLE reservations (
      server_id TEXT NOT NULL, session_id TEXT NOT NULL, expires_at INTEGER NOT NULL,
      PRIMARY KEY (server_id, session_id)
    ) WITHOUT ROWID;
    CREATE TABLE locks (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE probes (id INTEGER PRIMARY KEY, written_at INTEGER NOT NULL);
  `,
  `
    CREATE INDEX sessions_by_id ON sessions (session_id);
    CREATE INDEX workspaces ON sessions (last_active_at) WHERE expires_at IS NULL AND protocol_version = '2026-07-28';
    CREATE TABLE files (
      session_id TEXT NOT NULL,
      file_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      server_id TEXT NOT NULL,
      state TEXT NOT NULL,
      filename TEXT NOT NULL,
      mime_type TEXT NOT NULL,
      size_bytes INTEGER NOT NULL,
      sha256 TEXT,
      tool_name TEXT,
      exposed INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      last_used_at INTEGER NOT NULL,
      lease_until INTEGER NOT NULL,
      uses INTEGER NOT NULL,
      PRIMARY KEY (session_id, file_id, kind, server_id)
    ) WITHOUT ROWID;
    CREATE INDEX committed_files ON files (kind, last_used_at) WHERE state = 'committed';
    CREATE INDEX pending_files ON files (lease_until) WHERE state = 'pending';
    CREATE TABLE file_totals (
      session_id TEXT NOT NULL, server_id TEXT NOT NULL, kind TEXT NOT NULL,
      count INTEGER NOT NULL, pending INTEGER NOT NULL, bytes INTEGER NOT NULL,
      PRIMARY KEY (session_id, server_id, kind)
    ) WITHOUT ROWID;
    CREATE TABLE abandoned_sessions (
      session_id TEXT NOT NULL, server_id TEXT NOT NULL,
      PRIMARY KEY (session_id, server_id)
    ) WITHOUT ROWID;
    CREATE TABLE nonces (
      nonce TEXT PRIMARY KEY,
      server_id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      principal TEXT NOT NULL,
      tool_name TEXT,
      elicitation_id TEXT,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX nonces_by_end ON nonces (expires_at);
    CREATE TABLE secrets (name TEXT PRIMARY KEY, secret TEXT NOT NULL) WITHOUT ROWID;
  `,
  // Texts may be long, for which WITHOUT ROWID is not made.
  `
    ALTER TABLE sessions ADD COLUMN baseline TEXT;
    CREATE INDEX sessions_by_baseline ON sessions (baseline) WHERE baseline IS NOT NULL;
    CREATE TABLE baselines (fingerprint TEXT PRIMARY KEY, text TEXT NOT NULL);
  `,
  `
    CREATE TABLE first_texts (name TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at INTEGER NOT NULL);
    CREATE INDEX first_texts_by_end ON first_texts (expires_at);
  `,
  `
    CREATE TABLE call_rates (key TEXT PRIMARY KEY, free_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE call_places (
      key TEXT NOT NULL, id TEXT NOT NULL, until INTEGER NOT NULL,
      PRIMARY KEY (key, id)
    ) WITHOUT ROWID;
  `,
  'ALTER TABLE files ADD COLUMN spilled INTEGER NOT NULL DEFAULT 0',
  // JSON, of edited files only.
  'ALTER TABLE files ADD COLUMN versions TEXT',
];

/** How long SQLite itself waits for another process's lock: it blocks this process, so longer waits are not its job. */
const BUSY_TIMEOUT_MS = 10;
/** Pages of 4 KiB in the write-ahead log before they move into the file, which waits for the disk. */
const CHECKPOINT_PAGES = 4_000;

/** Makes the state file ours alone, creating it and its folder when missing. Throws NotPrivate where that cannot be. */
export function secureDatabase({ path, hasOwnFolder }: SqliteFile): void {
  if (hasOwnFolder === true) privateFolder(dirname(path));
  privateDatabase(path);
}

/** Opens the state file, creating it and its folder when missing. Throws NotPrivate where others could read or replace it. */
export function openDatabase(file: SqliteFile): DatabaseSync {
  secureDatabase(file);
  const database = new DatabaseSync(file.path, { timeout: BUSY_TIMEOUT_MS });
  try {
    prepareDatabase(database, file.wal);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function prepareDatabase(database: DatabaseSync, wal: boolean): void {
  database.exec(`PRAGMA journal_mode = ${wal ? 'WAL' : 'DELETE'}`);
  database.exec(`PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > SCHEMAS.length) {
      throw new Error(
        `${database.location()} has the state schema ${version}, written by a newer release; ` +
          `this release knows ${SCHEMAS.length}`,
      );
    }
    if (version === 0 && database.prepare('SELECT 1 FROM sqlite_schema').get() !== undefined) {
      throw new Error(`${database.location()} was written by another program; move it away`);
    }
    for (const schema of SCHEMAS.slice(version)) database.exec(schema);
    database.exec(`PRAGMA user_version = ${SCHEMAS.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Identifies the file behind a path; another or no file there means that the open one was removed. */
export function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}
