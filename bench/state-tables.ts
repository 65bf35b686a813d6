/**
 * CPU time of the steps of one tool call on the tables of type `memory`, and on those of SQLite with a database in
 * memory and one transaction a step. Rounds take turns. Usage: node bench/state-tables.ts
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { FileRecord } from '../adapter/state/file-records.ts';
import * as fileRules from '../adapter/state/tables/file-rules.ts';
import type { FileTables } from '../adapter/state/tables/file-rules.ts';
import { MemoryFileTable } from '../adapter/state/memory/memory-file-table.ts';
import { MemoryLimitTable } from '../adapter/state/memory/memory-limit-table.ts';
import { MemorySessionTable } from '../adapter/state/memory/memory-session-table.ts';
import type { LimitTable } from '../adapter/state/tables/limit-table.ts';
import * as rules from '../adapter/state/tables/session-rules.ts';
import { openDatabase } from '../adapter/state/sqlite/sqlite-database.ts';
import { SqliteFileTable } from '../adapter/state/sqlite/sqlite-file-table.ts';
import { SqliteLimitTable } from '../adapter/state/sqlite/sqlite-limit-table.ts';
import { SqliteSessionTable } from '../adapter/state/sqlite/sqlite-session-table.ts';

const CALLS = 100_000;
const SESSIONS = 1_000;
const ROUNDS = 5;

interface Tables extends FileTables {
  readonly limits: LimitTable;
  readonly step: (work: () => void) => void;
}

function memoryTables(): Tables {
  const files: MemoryFileTable = new MemoryFileTable(() => true);
  const sessions = new MemorySessionTable((key) => files.sessionEnded(key));
  return { sessions, files, limits: new MemoryLimitTable(), step: (work) => work() };
}

function sqliteTables(): Tables {
  const folder = mkdtempSync(join(tmpdir(), 'state-tables-'));
  const schema = openDatabase({ path: join(folder, 'state.sqlite3'), wal: true });
  const statements = schema.prepare("SELECT sql FROM sqlite_schema WHERE sql <> '' AND name NOT LIKE 'sqlite_%'").all();
  schema.close();
  rmSync(folder, { recursive: true });
  const database = new DatabaseSync(':memory:');
  for (const { sql } of statements) database.exec(String(sql));
  const sessions = new SqliteSessionTable(database, new Map());
  const [begin, commit] = [database.prepare('BEGIN'), database.prepare('COMMIT')];
  const step = (work: () => void): void => {
    begin.run();
    work();
    commit.run();
    sessions.committed();
  };
  return { sessions, files: new SqliteFileTable(database), limits: new SqliteLimitTable(database), step };
}

const sessionKey = (index: number) => ({ serverId: 'server', sessionId: `session-${index % SESSIONS}` });

function fill({ sessions, step }: Tables): void {
  for (let index = 0; index < SESSIONS; index += 1) {
    const session = {
      upstreamSessionId: 'upstream',
      generation: 1,
      protocolVersion: '2025-06-18',
      initializeParams: '{}',
      logLevel: null,
      subscriptions: [],
      listsGeneration: 0,
      baseline: null,
      createdAt: 0,
      lastActiveAt: 0,
    };
    step(() => rules.open(sessions, { ...sessionKey(index), principal: '', ...session }));
  }
}

/** A call's start, an upload's touch beside it and its end. */
function call({ sessions, limits, step }: Tables, index: number, now: number): void {
  const key = sessionKey(index);
  const caller = { principal: '', now };
  const lease = { id: `lease-${index}`, until: now + 60_000, maxInFlight: 8 };
  step(() => rules.enter(sessions, limits, key, caller, lease));
  step(() => rules.touch(sessions, key, caller));
  step(() => rules.leave(sessions, key, lease.id, now));
}

/** A file that is begun, committed, found and removed. */
function file(tables: Tables, index: number, now: number): void {
  const record: FileRecord = {
    ...sessionKey(index),
    kind: 'artifact',
    fileId: index.toString(16).padStart(32, '0'),
    state: 'pending',
    filename: 'result.txt',
    mimeType: 'text/plain',
    sizeBytes: 1_000,
    sha256: null,
    toolName: 'tool',
    exposed: true,
    createdAt: now,
    lastUsedAt: now,
    leaseUntil: 0,
  };
  tables.step(() => fileRules.begin(tables, [record], { now, maxArtifacts: 100 }));
  tables.step(() => fileRules.commit(tables, [record], { now, clock: now }));
  tables.step(() => fileRules.find(tables, record, { now, ttlMs: null }));
  tables.step(() => tables.files.delete(record));
}

let next = 0;
/** Nanoseconds of CPU time for each of CALLS; a millisecond passes with every tenth. */
function measure(tables: Tables, work: (tables: Tables, index: number, now: number) => void): number {
  const start = process.cpuUsage();
  for (let index = 0; index < CALLS; index += 1) work(tables, (next += 1), 1_000_000 + Math.floor(next / 10));
  const { user, system } = process.cpuUsage(start);
  return ((user + system) * 1_000) / CALLS;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const [memory, sqlite] = [memoryTables(), sqliteTables()];
for (const tables of [memory, sqlite]) fill(tables);
for (const work of [call, file]) {
  const [ofMemory, ofSqlite]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    ofMemory.push(measure(memory, work));
    ofSqlite.push(measure(sqlite, work));
  }
  const [a, b] = [median(ofMemory), median(ofSqlite)];
  const figures = `memory ${a.toFixed(0)} ns, SQLite ${b.toFixed(0)} ns, ${(b / a).toFixed(1)} times`;
  console.log(`${work.name}: ${figures}`);
}
