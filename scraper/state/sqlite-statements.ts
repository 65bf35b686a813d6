import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { MOMENT, WINDOWS_KEPT } from './ledger.ts';

export type Row = Record<string, SQLOutputValue>;

/** The ledger's statements, prepared once. */
export class SqliteStatements {
  readonly source: StatementSync;
  readonly lastSuccess: StatementSync;
  readonly setLastSuccess: StatementSync;
  readonly setPlanned: StatementSync;
  readonly setLastCommit: StatementSync;
  readonly setPaused: StatementSync;
  readonly touch: StatementSync;
  readonly counts: StatementSync;
  readonly firstUncommitted: StatementSync;
  readonly window: StatementSync;
  readonly open: StatementSync;
  readonly due: StatementSync;
  readonly begin: StatementSync;
  readonly letGo: StatementSync;
  readonly ended: StatementSync;
  readonly exporting: StatementSync;
  readonly exported: StatementSync;
  readonly fail: StatementSync;
  readonly commit: StatementSync;
  readonly trimCommitted: StatementSync;
  readonly dead: StatementSync;
  readonly deadNeighbours: StatementSync;
  readonly setDead: StatementSync;
  readonly trimDeadMoments: StatementSync;
  readonly remove: StatementSync;
  readonly page: StatementSync;
  readonly unused: StatementSync;
  readonly forgetSource: StatementSync;
  readonly forgetWindows: StatementSync;
  readonly forgetBegun: StatementSync;

  constructor(connection: DatabaseSync) {
    const sql = (text: string): StatementSync => connection.prepare(text);
    const isOpen = `state NOT IN ('committed', 'dead')`;

    this.source = sql('SELECT * FROM ledger_sources WHERE name = ?');
    this.lastSuccess = sql('SELECT timestamp FROM last_success WHERE source = ?');
    this.setLastSuccess = sql(
      `INSERT INTO last_success (source, timestamp) VALUES (?, ?)
       ON CONFLICT (source) DO UPDATE SET timestamp = excluded.timestamp`,
    );
    this.setPlanned = sql(
      `INSERT INTO ledger_sources (name, planned_until, used_at) VALUES (?1, ?2, ?2)
       ON CONFLICT (name) DO UPDATE SET planned_until = ?2, used_at = ?2`,
    );
    this.setLastCommit = sql(
      `INSERT INTO ledger_sources (name, last_commit_at, used_at) VALUES (?1, ?2, ?2)
       ON CONFLICT (name) DO UPDATE SET last_commit_at = ?2, used_at = ?2`,
    );
    this.setPaused = sql(
      `INSERT INTO ledger_sources (name, paused) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET paused = ?2`,
    );
    this.touch = sql(
      `INSERT INTO ledger_sources (name, used_at) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET used_at = ?2`,
    );
    this.counts = sql(
      `SELECT count(*) FILTER (WHERE state <> 'dead') AS open, count(*) FILTER (WHERE state = 'dead') AS dead
       FROM ledger_windows WHERE source = ? AND state <> 'committed'`,
    );
    this.firstUncommitted = sql(
      `SELECT start_at FROM ledger_windows WHERE source = ? AND kind = 'scheduled' AND state <> 'committed'
       ORDER BY start_at LIMIT 1`,
    );
    this.window = sql('SELECT * FROM ledger_windows WHERE source = ? AND id = ?');
    this.open = sql(
      `INSERT INTO ledger_windows (source, id, kind, state, start_at, end_at, attempts, at, may_repeat)
       VALUES (?, ?, ?, 'open', ?, ?, 0, ?, ?)
       ON CONFLICT (source, id) DO UPDATE SET state = 'open', attempts = 0, at = excluded.at, error = NULL,
         may_repeat = excluded.may_repeat WHERE state = 'committed'`,
    );
    this.due = sql(
      `SELECT * FROM ledger_windows WHERE source = ? AND ${isOpen} AND at <= ?
       ORDER BY kind DESC, at, start_at LIMIT ?`,
    );
    this.begin = sql(
      `INSERT INTO ledger_begun (source, id, times) VALUES (?, ?, 1)
       ON CONFLICT (source, id) DO UPDATE SET times = times + 1 RETURNING times`,
    );
    this.letGo = sql('UPDATE ledger_begun SET times = max(0, times - 1) WHERE source = ? AND id = ?');
    this.ended = sql(`DELETE FROM ledger_begun WHERE source = ? AND id IN (?, '${MOMENT}')`);
    // What is being exported already was left behind by a crash.
    this.exporting = sql(
      `UPDATE ledger_windows SET state = 'exporting', may_repeat = may_repeat OR state <> 'open'
       WHERE source = ? AND id = ? AND ${isOpen}`,
    );
    this.exported = sql(`UPDATE ledger_windows SET state = 'exported' WHERE source = ? AND id = ? AND ${isOpen}`);
    this.fail = sql(
      `UPDATE ledger_windows SET state = ?, attempts = attempts + 1, at = ?, error = ?,
         may_repeat = may_repeat OR ? OR state = 'exported'
       WHERE source = ? AND id = ? AND ${isOpen}`,
    );
    this.commit = sql(
      `UPDATE ledger_windows SET state = 'committed', at = ?, error = NULL WHERE source = ? AND id = ?`,
    );
    this.trimCommitted = sql(
      `DELETE FROM ledger_windows WHERE source = ?1 AND id IN (
         SELECT id FROM ledger_windows WHERE source = ?1 AND state = 'committed' AND state IN ('committed', 'dead')
         ORDER BY at DESC LIMIT -1 OFFSET ${WINDOWS_KEPT})`,
    );
    this.dead = sql(
      `SELECT * FROM ledger_windows WHERE source = ? AND state = 'dead' AND state IN ('committed', 'dead')
       ORDER BY start_at`,
    );
    this.deadNeighbours = sql(
      `SELECT * FROM ledger_windows WHERE source = ? AND kind = ? AND state = 'dead' AND start_at < end_at
       AND (end_at = ? OR start_at = ?) AND state IN ('committed', 'dead')`,
    );
    this.setDead = sql(`UPDATE ledger_windows SET state = 'dead', attempts = ?, error = ? WHERE source = ? AND id = ?`);
    this.trimDeadMoments = sql(
      `DELETE FROM ledger_windows WHERE source = ?1 AND id IN (
         SELECT id FROM ledger_windows WHERE source = ?1 AND state = 'dead' AND state IN ('committed', 'dead')
         AND start_at = end_at ORDER BY at DESC LIMIT -1 OFFSET ${WINDOWS_KEPT})`,
    );
    this.remove = sql('DELETE FROM ledger_windows WHERE source = ? AND id = ?');
    this.page = sql(
      'SELECT * FROM ledger_windows WHERE source = ? ORDER BY start_at DESC, end_at DESC, kind DESC LIMIT ? OFFSET ?',
    );
    this.unused = sql(
      `SELECT name FROM ledger_sources WHERE used_at < ? AND name NOT IN (SELECT value FROM json_each(?))`,
    );
    this.forgetSource = sql('DELETE FROM ledger_sources WHERE name = ?');
    this.forgetWindows = sql('DELETE FROM ledger_windows WHERE source = ?');
    this.forgetBegun = sql('DELETE FROM ledger_begun WHERE source = ?');
  }
}
