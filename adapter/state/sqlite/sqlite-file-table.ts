import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type FileKey,
  type FileKind,
  type FilePage,
  type FileRecord,
  type FileTotals,
  heldBytes,
} from '../file-records.ts';
import type { FileTable, StoredFile } from '../tables/file-table.ts';
import type { SessionKey } from '../session-key.ts';
import { text, textOrNull } from './sqlite-columns.ts';
import type { Columns } from './sqlite-columns.ts';

/** The key of the totals over all sessions, which no session has. */
const ALL: SessionKey = { sessionId: '', serverId: '' };

/** Records of files in a SQLite file. Every method may throw what SQLite throws. */
export class SqliteFileTable implements FileTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: DatabaseSync) {
    this.#sql = statements(database);
  }

  get({ sessionId, fileId, kind, serverId }: FileKey): StoredFile | undefined {
    const columns = this.#sql.select.get(sessionId, fileId, kind, serverId);
    return columns === undefined ? undefined : storedFile(columns);
  }

  put({ record, uses }: StoredFile): void {
    const before = this.#sql.selectShare.get(record.sessionId, record.fileId, record.kind, record.serverId);
    this.#sql.put.run(
      record.sessionId,
      record.fileId,
      record.kind,
      record.serverId,
      record.state,
      record.filename,
      record.mimeType,
      heldBytes(record),
      record.sha256,
      record.toolName,
      Number(record.exposed),
      Number(record.spilled ?? false),
      versionsText(record),
      record.createdAt,
      record.lastUsedAt,
      record.leaseUntil,
      uses,
    );
    const after = {
      committed: Number(record.state === 'committed'),
      pending: Number(record.state === 'pending'),
      bytes: heldBytes(record),
    };
    const { committed, pending, bytes } = before === undefined ? NONE : shareOf(before);
    // Most changes are uses.
    if (committed === after.committed && pending === after.pending && bytes === after.bytes) return;
    this.#count(record, { committed, pending, bytes }, after);
  }

  delete({ sessionId, fileId, kind, serverId }: FileKey): void {
    const removed = this.#sql.delete.get(sessionId, fileId, kind, serverId);
    if (removed === undefined) return;
    if (this.#count({ sessionId, serverId, kind }, shareOf(removed), NONE) > 0) return;
    this.#sql.dropEmptyTotals.run(sessionId, serverId);
    this.#sql.dropAbandoned.run(sessionId, serverId);
  }

  ofSession({ sessionId, serverId }: SessionKey): StoredFile[] {
    return this.#sql.selectSession.all(sessionId, serverId).map(storedFile);
  }

  totals({ sessionId, serverId }: SessionKey = ALL): FileTotals {
    const rows = this.#sql.selectTotals.all(sessionId, serverId);
    const of = (kind: FileKind): { count: number; bytes: number } => {
      const row = rows.find((columns) => columns['kind'] === kind);
      return { count: Number(row?.['count'] ?? 0), bytes: Number(row?.['bytes'] ?? 0) };
    };
    return { uploads: of('upload'), artifacts: of('artifact') };
  }

  held({ sessionId, serverId }: SessionKey, kind: FileKind): number {
    return Number(this.#sql.countHeld.get(sessionId, serverId, kind)?.['n'] ?? 0);
  }

  page(cursor: string | undefined, limit: number): FilePage {
    const [sessionId = '', fileId = '', kind = '', serverId = ''] = cursor?.split('\n') ?? [];
    const files = this.#sql.selectPage
      .all(sessionId, fileId, kind, serverId, limit)
      .map((columns) => storedFile(columns).record);
    const last = files.length < limit ? undefined : files.at(-1);
    return { files, next: last && [last.sessionId, last.fileId, last.kind, last.serverId].join('\n') };
  }

  unused(kind: FileKind, { usedBefore, now, limit }: { usedBefore: number; now: number; limit: number }): StoredFile[] {
    return this.#sql.selectUnused.all(kind, usedBefore, now, limit).map(storedFile);
  }

  forsaken({ now, limit }: { now: number; limit: number }): StoredFile[] {
    return this.#sql.selectForsaken.all(now, limit).map(storedFile);
  }

  abandoned(limit: number): SessionKey[] {
    return this.#sql.selectAbandoned
      .all(limit)
      .map((columns) => ({ serverId: text(columns['server_id']), sessionId: text(columns['session_id']) }));
  }

  /** A session was removed or invalidated. */
  sessionEnded({ sessionId, serverId }: SessionKey): void {
    this.#sql.setAbandoned.run(sessionId, serverId);
  }

  known(sessionId: string, fileIds: readonly string[]): Set<string> {
    return new Set(fileIds.filter((fileId) => this.#sql.selectKnown.get(sessionId, fileId) !== undefined));
  }

  clear(): void {
    this.#sql.clearFiles.run();
    this.#sql.clearTotals.run();
    this.#sql.clearAbandoned.run();
  }

  /** Everything in the file, for reading a snapshot. */
  all(): StoredFile[] {
    return this.#sql.selectAll.all().map(storedFile);
  }

  /** Returns how many files of this kind the session has now. */
  #count({ sessionId, serverId, kind }: Omit<FileKey, 'fileId'>, before: Share, after: Share): number {
    const committed = after.committed - before.committed;
    const pending = after.pending - before.pending;
    const bytes = after.bytes - before.bytes;
    this.#sql.addTotals.get(ALL.sessionId, ALL.serverId, kind, committed, pending, bytes);
    return Number(this.#sql.addTotals.get(sessionId, serverId, kind, committed, pending, bytes)?.['files']);
  }
}

/** What one file adds to the totals. */
interface Share {
  readonly committed: number;
  readonly pending: number;
  readonly bytes: number;
}

const NONE: Share = { committed: 0, pending: 0, bytes: 0 };

const shareOf = (columns: Columns): Share => ({
  committed: Number(columns['state'] === 'committed'),
  pending: Number(columns['state'] === 'pending'),
  bytes: Number(columns['size_bytes']),
});

/** What only an edited file has; null for others. */
function versionsText({ version, contentId, older, sizeBytes }: FileRecord): string | null {
  return version === undefined ? null : JSON.stringify({ version, contentId, older, sizeBytes });
}

const storedFile = (columns: Columns): StoredFile => ({
  record: {
    serverId: text(columns['server_id']),
    sessionId: text(columns['session_id']),
    kind: columns['kind'] === 'upload' ? 'upload' : 'artifact',
    fileId: text(columns['file_id']),
    state: columns['state'] === 'pending' ? 'pending' : 'committed',
    filename: text(columns['filename']),
    mimeType: text(columns['mime_type']),
    sizeBytes: Number(columns['size_bytes']),
    sha256: textOrNull(columns['sha256']),
    toolName: textOrNull(columns['tool_name']),
    exposed: columns['exposed'] === 1,
    ...(columns['spilled'] === 1 && { spilled: true }),
    createdAt: Number(columns['created_at']),
    lastUsedAt: Number(columns['last_used_at']),
    leaseUntil: Number(columns['lease_until']),
    ...(columns['versions'] !== null && (JSON.parse(text(columns['versions'])) as Partial<FileRecord>)),
  },
  uses: Number(columns['uses']),
});

function statements(database: DatabaseSync) {
  const sql = (text: string): StatementSync => database.prepare(text);
  const FILE = 'session_id = ? AND file_id = ? AND kind = ? AND server_id = ?';
  const SESSION = 'session_id = ? AND server_id = ?';
  return {
    select: sql(`SELECT * FROM files WHERE ${FILE}`),
    selectShare: sql(`SELECT state, size_bytes FROM files WHERE ${FILE}`),
    selectSession: sql(`SELECT * FROM files WHERE ${SESSION}`),
    selectAll: sql('SELECT * FROM files'),
    selectPage: sql(
      `SELECT * FROM files WHERE (session_id, file_id, kind, server_id) > (?, ?, ?, ?) AND state = 'committed'
       ORDER BY session_id, file_id, kind, server_id LIMIT ?`,
    ),
    selectKnown: sql('SELECT 1 FROM files WHERE session_id = ? AND file_id = ?'),
    selectUnused: sql(
      `SELECT * FROM files WHERE state = 'committed' AND kind = ? AND last_used_at <= ? AND lease_until <= ?
       ORDER BY last_used_at LIMIT ?`,
    ),
    selectForsaken: sql(
      `SELECT * FROM files WHERE state = 'pending' AND lease_until <= ? ORDER BY lease_until LIMIT ?`,
    ),
    put: sql(
      `INSERT INTO files (session_id, file_id, kind, server_id, state, filename, mime_type, size_bytes, sha256,
         tool_name, exposed, spilled, versions, created_at, last_used_at, lease_until, uses)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET state = excluded.state, filename = excluded.filename, mime_type = excluded.mime_type,
         size_bytes = excluded.size_bytes, sha256 = excluded.sha256, tool_name = excluded.tool_name,
         exposed = excluded.exposed, spilled = excluded.spilled, versions = excluded.versions,
         created_at = excluded.created_at, last_used_at = excluded.last_used_at,
         lease_until = excluded.lease_until, uses = excluded.uses`,
    ),
    delete: sql(`DELETE FROM files WHERE ${FILE} RETURNING state, size_bytes`),
    clearFiles: sql('DELETE FROM files'),

    selectTotals: sql(`SELECT kind, count, bytes FROM file_totals WHERE ${SESSION}`),
    countHeld: sql(`SELECT count + pending AS n FROM file_totals WHERE ${SESSION} AND kind = ?`),
    addTotals: sql(
      `INSERT INTO file_totals (session_id, server_id, kind, count, pending, bytes) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count, pending = pending + excluded.pending,
         bytes = bytes + excluded.bytes
       RETURNING count + pending AS files`,
    ),
    dropEmptyTotals: sql(`DELETE FROM file_totals WHERE ${SESSION} AND count = 0 AND pending = 0`),
    clearTotals: sql('DELETE FROM file_totals'),

    selectAbandoned: sql(
      `SELECT session_id, server_id FROM abandoned_sessions AS abandoned
       WHERE NOT EXISTS (SELECT 1 FROM sessions
         WHERE server_id = abandoned.server_id AND session_id = abandoned.session_id AND reason IS NULL)
       LIMIT ?`,
    ),
    setAbandoned: sql(
      `INSERT OR IGNORE INTO abandoned_sessions (session_id, server_id)
       SELECT session_id, server_id FROM file_totals WHERE ${SESSION}`,
    ),
    dropAbandoned: sql(
      `DELETE FROM abandoned_sessions AS abandoned WHERE ${SESSION} AND NOT EXISTS (SELECT 1 FROM file_totals
         WHERE session_id = abandoned.session_id AND server_id = abandoned.server_id)`,
    ),
    clearAbandoned: sql('DELETE FROM abandoned_sessions'),
  };
}
