import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { number, text, textOrNull } from './sqlite-columns.ts';
import type { Columns } from './sqlite-columns.ts';
import { CHANGING_NAMES, FIELD_NAMES, recordOf } from '../session-fields.ts';
import { WORKSPACE_PROTOCOL } from '../stored-session.ts';
import type { StoredSession } from '../stored-session.ts';

/** A row of the table `sessions`. */
export function storedSession(columns: Columns): StoredSession {
  const key = { serverId: text(columns['server_id']), sessionId: text(columns['session_id']) };
  const expiresAt = columns['expires_at'];
  return {
    record: recordOf(key, (name) => columns[columnOf(name)]),
    ending: expiresAt === null ? null : { expiresAt: number(expiresAt), reason: textOrNull(columns['reason']) },
  };
}

const COLUMNS = new Map(
  FIELD_NAMES.map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
);
const columnOf = (name: (typeof FIELD_NAMES)[number]): string => COLUMNS.get(name) ?? name;

/** What SqliteSessionTable asks and tells SQLite. */
export function sessionStatements(database: DatabaseSync) {
  const sql = (text: string): StatementSync => database.prepare(text);
  return {
    dataVersion: sql('PRAGMA data_version'),
    select: sql('SELECT * FROM sessions WHERE server_id = ? AND session_id = ?'),
    selectId: sql('SELECT * FROM sessions WHERE session_id = ?'),
    selectAll: sql('SELECT * FROM sessions ORDER BY id'),
    selectIdle: sql(
      `SELECT * FROM sessions WHERE expires_at IS NULL AND last_active_at < ?
         AND NOT EXISTS (SELECT 1 FROM leases WHERE session = sessions.id AND until > ?)
       ORDER BY last_active_at LIMIT ?`,
    ),
    selectIdleWorkspaces: sql(
      `SELECT * FROM sessions WHERE expires_at IS NULL AND protocol_version = '${WORKSPACE_PROTOCOL}'
         AND last_active_at < ? AND NOT EXISTS (SELECT 1 FROM leases WHERE session = sessions.id AND until > ?)
       ORDER BY last_active_at`,
    ),
    selectExpired: sql(
      'SELECT * FROM sessions WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?',
    ),
    insert: sql(
      `INSERT INTO sessions (server_id, session_id, ${FIELD_NAMES.map(columnOf).join(', ')}, expires_at, reason)
       VALUES (?, ?, ${FIELD_NAMES.map(() => '?').join(', ')}, ?, ?)`,
    ),
    update: sql(`UPDATE sessions SET ${CHANGING_NAMES.map((name) => `${columnOf(name)} = ?`).join(', ')} WHERE id = ?`),
    touch: sql('UPDATE sessions SET last_active_at = max(last_active_at, ?) WHERE id = ?'),
    end: sql('UPDATE sessions SET expires_at = ?, reason = ? WHERE id = ?'),
    delete: sql('DELETE FROM sessions WHERE id = ?'),
    selectActive: sql(
      'SELECT * FROM sessions WHERE expires_at IS NULL ORDER BY last_active_at DESC, id LIMIT ? OFFSET ?',
    ),
    countActive: sql('SELECT count(*) AS n FROM sessions WHERE expires_at IS NULL'),
    countTombstones: sql('SELECT count(*) AS n FROM sessions WHERE expires_at IS NOT NULL AND expires_at > ?'),
    clearSessions: sql('DELETE FROM sessions'),

    setBaseline: sql('UPDATE sessions SET baseline = ? WHERE id = ?'),
    addBaseline: sql('INSERT OR IGNORE INTO baselines (fingerprint, text) VALUES (?, ?)'),
    selectBaseline: sql('SELECT text FROM baselines WHERE fingerprint = ?'),
    selectBaselines: sql('SELECT fingerprint, text FROM baselines'),
    dropUnusedBaseline: sql(
      'DELETE FROM baselines WHERE fingerprint = ?1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE baseline = ?1)',
    ),
    clearBaselines: sql('DELETE FROM baselines'),

    selectLeases: sql('SELECT id, until FROM leases WHERE session = ?'),
    setLease: sql('INSERT OR REPLACE INTO leases (session, id, until) VALUES (?, ?, ?)'),
    dropLease: sql('DELETE FROM leases WHERE session = ? AND id = ?'),
    dropLeases: sql('DELETE FROM leases WHERE session = ?'),
    countLeases: sql('SELECT count(*) AS n FROM leases WHERE until > ?'),
    clearLeases: sql('DELETE FROM leases'),

    setReservation: sql('INSERT OR REPLACE INTO reservations (server_id, session_id, expires_at) VALUES (?, ?, ?)'),
    dropReservation: sql('DELETE FROM reservations WHERE server_id = ? AND session_id = ?'),
    dropExpiredReservations: sql('DELETE FROM reservations WHERE expires_at <= ?'),
    countReservations: sql('SELECT count(*) AS n FROM reservations'),
    clearReservations: sql('DELETE FROM reservations'),

    selectLock: sql('SELECT owner, until FROM locks WHERE name = ?'),
    setLock: sql('INSERT OR REPLACE INTO locks (name, owner, until) VALUES (?, ?, ?)'),
    dropLock: sql('DELETE FROM locks WHERE name = ?'),
    dropExpiredLocks: sql('DELETE FROM locks WHERE until <= ?'),

    probe: sql('INSERT OR REPLACE INTO probes (id, written_at) VALUES (1, ?)'),
  };
}
