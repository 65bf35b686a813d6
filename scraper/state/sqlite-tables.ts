/** The original's tables, in its units: text in UTC, and seconds. */
const ORIGINAL_TABLES: Readonly<Record<string, string>> = {
  last_success: '(source TEXT PRIMARY KEY, timestamp TEXT)',
  fingerprints: `(
    hash TEXT, source TEXT, first_seen INTEGER, last_seen INTEGER, ttl INTEGER, PRIMARY KEY (hash, source)
  )`,
};

/** Ours have milliseconds since the epoch. */
const LEDGER_TABLES: Readonly<Record<string, string>> = {
  ledger_sources: `(
    name TEXT PRIMARY KEY,
    planned_until INTEGER,
    last_commit_at INTEGER,
    paused INTEGER NOT NULL DEFAULT 0,
    used_at INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID`,
  ledger_windows: `(
    source TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    may_repeat INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (source, id)
  ) WITHOUT ROWID`,
};

/** Of any version: what does not know them does well without. */
const LATER_TABLES: Readonly<Record<string, string>> = {
  ledger_begun:
    '(source TEXT NOT NULL, id TEXT NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (source, id)) WITHOUT ROWID',
};

const INDEXES = `
  CREATE INDEX fingerprints_by_age ON fingerprints (source, last_seen, ttl);
  CREATE INDEX due_windows ON ledger_windows (source, kind DESC, at, start_at) WHERE state NOT IN ('committed', 'dead');
  CREATE INDEX uncommitted_windows ON ledger_windows (source, kind, start_at) WHERE state <> 'committed';
  CREATE INDEX settled_windows ON ledger_windows (source, state, at) WHERE state IN ('committed', 'dead');
`;

const created = (how: string, tables: Readonly<Record<string, string>>): string =>
  Object.entries(tables)
    .map(([name, columns]) => `${how} ${name} ${columns};`)
    .join('\n');

/** Makes a new file, or one of the original, into one of this version. */
export const TABLES = [
  created('CREATE TABLE IF NOT EXISTS', ORIGINAL_TABLES),
  created('CREATE TABLE', LEDGER_TABLES),
  INDEXES,
].join('\n');
export const VERSION = 1;
/** What is made in every file that lacks it. */
export const MORE_TABLES = created('CREATE TABLE IF NOT EXISTS', LATER_TABLES);

/** Empty tables, in memory, in the place of those that a file lacks. */
export const substitutes = (existing: ReadonlySet<string>): string =>
  created(
    'CREATE TEMP TABLE',
    Object.fromEntries(
      Object.entries({ ...ORIGINAL_TABLES, ...LEDGER_TABLES, ...LATER_TABLES }).filter(([name]) => !existing.has(name)),
    ),
  );
