import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { MOMENT, WINDOWS_KEPT } from './ledger.ts';

export type Row = Record<string, SQLOutputValue>;

const IS_OPEN = `state NOT IN ('committed', 'dead')`;

const SQL = {
  source: 'SELECT * FROM ledger_sources WHERE name = ?',
  lastSuccess: 'SELECT timestamp FROM last_success WHERE source = ?',
  setLastSuccess: `INSERT INTO last_success (source, timestamp) VALUES (?, ?)
     ON CONFLICT (source) DO UPDATE SET timestamp = excluded.timestamp`,
  setPlanned: `INSERT INTO ledger_sources (name, planned_until, used_at) VALUES (?1, ?2, ?2)
     ON CONFLICT (name) DO UPDATE SET planned_until = ?2, used_at = ?2`,
  setLastCommit: `INSERT INTO ledger_sources (name, last_commit_at, used_at) VALUES (?1, ?2, ?2)
     ON CONFLICT (name) DO UPDATE SET last_commit_at = ?2, used_at = ?2`,
  setPaused: `INSERT INTO ledger_sources (name, paused) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET paused = ?2`,
  touch: `INSERT INTO ledger_sources (name, used_at) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET used_at = ?2`,
  counts: `SELECT count(*) FILTER (WHERE state <> 'dead') AS open, count(*) FILTER (WHERE state = 'dead') AS dead
     FROM ledger_windows WHERE source = ? AND state <> 'committed'`,
  firstUncommitted: `SELECT start_at FROM ledger_windows WHERE source = ? AND kind = 'scheduled' AND state <> 'committed'
     ORDER BY start_at LIMIT 1`,
  window: 'SELECT * FROM ledger_windows WHERE source = ? AND id = ?',
  open: `INSERT INTO ledger_windows (source, id, kind, state, start_at, end_at, attempts, at, may_repeat)
     VALUES (?, ?, ?, 'open', ?, ?, 0, ?, ?)
     ON CONFLICT (source, id) DO UPDATE SET state = 'open', attempts = 0, at = excluded.at, error = NULL,
       may_repeat = excluded.may_repeat WHERE state = 'committed'`,
  due: `SELECT * FROM ledger_windows WHERE source = ? AND ${IS_OPEN} AND at <= ?
     ORDER BY kind DESC, at, start_at LIMIT ?`,
  begin: `INSERT INTO ledger_begun (source, id, times) VALUES (?, ?, 1)
     ON CONFLICT (source, id) DO UPDATE SET times = times + 1 RETURNING times`,
  letGo: 'UPDATE ledger_begun SET times = max(0, times - 1) WHERE source = ? AND id = ?',
  ended: `DELETE FROM ledger_begun WHERE source = ? AND id IN (?, '${MOMENT}')`,
  // What is being exported already was left behind by a crash.
  exporting: `UPDATE ledger_windows SET state = 'exporting', may_repeat = may_repeat OR state <> 'open'
     WHERE source = ? AND id = ? AND ${IS_OPEN}`,
  exported: `UPDATE ledger_windows SET state = 'exported' WHERE source = ? AND id = ? AND ${IS_OPEN}`,
  fail: `UPDATE ledger_windows SET state = ?, attempts = attempts + 1, at = ?, error = ?,
       may_repeat = may_repeat OR ? OR state = 'exported'
     WHERE source = ? AND id = ? AND ${IS_OPEN}`,
  commit: `UPDATE ledger_windows SET state = 'committed', at = ?, error = NULL WHERE source = ? AND id = ?`,
  trimCommitted: `DELETE FROM ledger_windows WHERE source = ?1 AND id IN (
       SELECT id FROM ledger_windows WHERE source = ?1 AND state = 'committed' AND state IN ('committed', 'dead')
       ORDER BY at DESC LIMIT -1 OFFSET ${WINDOWS_KEPT})`,
  dead: `SELECT * FROM ledger_windows WHERE source = ? AND state = 'dead' AND state IN ('committed', 'dead')
     ORDER BY start_at`,
  deadNeighbours: `SELECT * FROM ledger_windows WHERE source = ? AND kind = ? AND state = 'dead' AND start_at < end_at
     AND (end_at = ? OR start_at = ?) AND state IN ('committed', 'dead')`,
  setDead: `UPDATE ledger_windows SET state = 'dead', attempts = ?, error = ? WHERE source = ? AND id = ?`,
  trimDeadMoments: `DELETE FROM ledger_windows WHERE source = ?1 AND id IN (
       SELECT id FROM ledger_windows WHERE source = ?1 AND state = 'dead' AND state IN ('committed', 'dead')
       AND start_at = end_at ORDER BY at DESC LIMIT -1 OFFSET ${WINDOWS_KEPT})`,
  remove: 'DELETE FROM ledger_windows WHERE source = ? AND id = ?',
  page: 'SELECT * FROM ledger_windows WHERE source = ? ORDER BY start_at DESC, end_at DESC, kind DESC LIMIT ? OFFSET ?',
  unused: `SELECT name FROM ledger_sources WHERE used_at < ? AND name NOT IN (SELECT value FROM json_each(?))`,
  forgetSource: 'DELETE FROM ledger_sources WHERE name = ?',
  forgetWindows: 'DELETE FROM ledger_windows WHERE source = ?',
  forgetBegun: 'DELETE FROM ledger_begun WHERE source = ?',
} as const;

/** The ledger's statements, prepared once. */
export type SqliteStatements = Readonly<Record<keyof typeof SQL, StatementSync>>;

export function prepareStatements(connection: DatabaseSync): SqliteStatements {
  const prepared = Object.entries(SQL).map(([name, text]) => [name, connection.prepare(text)]);
  return Object.fromEntries(prepared) as SqliteStatements;
}
