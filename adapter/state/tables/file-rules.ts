import { evictionFor } from './file-eviction.ts';
import { heldBytes, MAX_SESSION_FILES, versionOf } from '../file-records.ts';
import type {
  Begun,
  FileKey,
  FileKind,
  FileRecord,
  FileRecords,
  LockGuard,
  Reserved,
  ReserveRequest,
} from '../file-records.ts';
import { totalBytes } from './file-table.ts';
import type { FileTable, StoredFile } from './file-table.ts';
import type { SessionKey } from '../session-key.ts';
import { lockHolder } from './session-rules.ts';
import type { SessionRow, SessionTable } from './session-table.ts';
import type { SessionRecord } from '../state-store.ts';
import { isActive, isTerminal, keyText, mayComeBack } from '../stored-session.ts';

/*
 * The steps of FileRecords as decisions over tables. Each runs as a whole or, when a table throws, must be undone by
 * the caller.
 */

export interface FileTables {
  readonly sessions: SessionTable;
  readonly files: FileTable;
}

type Options<Method extends keyof FileRecords> = Parameters<FileRecords[Method]>[1];

export function begin(
  { sessions, files }: FileTables,
  begun: readonly FileRecord[],
  { now, maxArtifacts }: Options<'begin'>,
): Begun {
  const session = sessionOf(begun);
  if (session === undefined) return 'begun';
  if (!isActive(sessions.get(session))) return 'no_session';
  if (begun.some((record) => files.get(record)?.record.state === 'committed')) return 'taken';
  const artifacts = begun.filter(({ kind }) => kind === 'artifact').length;
  if (maxArtifacts !== null && artifacts > 0) {
    const full = files.held(session, 'artifact') + artifacts > maxArtifacts;
    // Whoever died with a pending artifact must not hold its place until the next cleanup.
    if (full && aliveArtifacts(files, session, now) + artifacts > maxArtifacts) return 'limit';
  }
  const held = files.held(session, 'upload') + files.held(session, 'artifact');
  if (held + begun.length > MAX_SESSION_FILES) return 'full';
  for (const record of begun) files.put({ record: { ...record, state: 'pending' }, uses: 0 });
  return 'begun';
}

export function reserve({ sessions, files }: FileTables, key: FileKey, request: ReserveRequest): Reserved {
  const file = files.get(key);
  if (file?.record.state !== 'pending' || !isActive(sessions.get(key))) return { state: 'gone' };
  const growth = request.bytes - file.record.sizeBytes;
  const evicted = growth > 0 ? makeRoom(files, key, growth, request) : [];
  if (typeof evicted === 'string') return { state: 'over', quota: evicted };
  for (const record of evicted) files.delete(record);
  const leaseUntil = Math.max(file.record.leaseUntil, request.leaseUntil);
  files.put({ ...file, record: { ...file.record, sizeBytes: request.bytes, leaseUntil } });
  return { state: 'reserved', evicted };
}

/** The files that must go for `growth` bytes more, or the quota that forbids it. */
function makeRoom(
  files: FileTable,
  session: SessionKey,
  growth: number,
  request: ReserveRequest,
): FileRecord[] | 'session' | 'storage' {
  const { maxSession, maxTotal } = request;
  const excess = maxSession === null ? 0 : totalBytes(files.totals(session)) + growth - maxSession;
  const evicted = excess > 0 ? evictionFor(excess, files.ofSession(session), request) : [];
  if (evicted === undefined) return 'session';
  const freed = evicted.reduce((sum, file) => sum + heldBytes(file), 0);
  if (maxTotal !== null && totalBytes(files.totals()) - freed + growth > maxTotal) return 'storage';
  return evicted;
}

export function commit(
  { sessions, files }: FileTables,
  committed: readonly FileRecord[],
  { now, guard, clock }: { now: number; guard?: LockGuard; clock: number },
): boolean {
  const session = sessionOf(committed);
  if (session === undefined) return true;
  if (!isActive(sessions.get(session))) return false;
  if (guard !== undefined && lockHolder(sessions, guard.name, clock) !== guard.owner) return false;
  if (committed.some((record) => files.get(record)?.record.state !== 'pending')) return false;
  for (const record of committed) {
    files.put({ record: { ...record, state: 'committed' }, uses: record.leaseUntil > now ? 1 : 0 });
  }
  return true;
}

export function revise({ sessions, files }: FileTables, record: FileRecord, { now, from }: Options<'revise'>): boolean {
  const file = files.get(record);
  if (file?.record.state !== 'committed' || versionOf(file.record) !== from || !isActive(sessions.get(record)))
    return false;
  const { leaseUntil, lastUsedAt } = file.record;
  files.put({ ...file, record: { ...record, state: 'committed', leaseUntil, lastUsedAt: Math.max(lastUsedAt, now) } });
  return true;
}

export function lease({ files }: FileTables, keys: readonly FileKey[], leaseUntil: number): void {
  for (const key of keys) {
    const file = files.get(key);
    // A file that nobody uses any more stays so: a renewal may come after the end of the use.
    if (file === undefined || file.record.leaseUntil >= leaseUntil) continue;
    if (file.record.state === 'committed' && file.record.leaseUntil === 0) continue;
    files.put({ ...file, record: { ...file.record, leaseUntil } });
  }
}

export function release({ files }: FileTables, keys: readonly FileKey[], now: number): void {
  for (const key of keys) {
    const file = files.get(key);
    if (file?.record.state !== 'committed') continue;
    const uses = Math.max(0, file.uses - 1);
    const lastUsedAt = Math.max(file.record.lastUsedAt, now);
    const leaseUntil = uses === 0 ? 0 : file.record.leaseUntil;
    files.put({ record: { ...file.record, lastUsedAt, leaseUntil }, uses });
  }
}

export function find(tables: FileTables, key: FileKey, options: Options<'find'>): FileRecord | undefined {
  return findFile(tables, key, options)?.record;
}

export function use(tables: FileTables, key: FileKey, options: Options<'use'>): FileRecord | undefined {
  const file = findFile(tables, key, options);
  if (file === undefined) return undefined;
  const { now, leaseUntil = 0 } = options;
  const others = file.record.leaseUntil > now ? file.uses : 0;
  const record = {
    ...file.record,
    lastUsedAt: Math.max(file.record.lastUsedAt, now),
    leaseUntil: Math.max(file.record.leaseUntil, leaseUntil),
  };
  tables.files.put({ record, uses: leaseUntil > now ? others + 1 : others });
  return record;
}

function findFile({ sessions, files }: FileTables, key: FileKey, options: Options<'find'>): StoredFile | undefined {
  const file = files.get(key);
  if (file === undefined || !isThere(file.record, options)) return undefined;
  return mayComeBack(sessions.get(key), options.now) ? file : undefined;
}

export function list(
  { sessions, files }: FileTables,
  session: SessionKey,
  kind: FileKind,
  options: Options<'find'>,
): FileRecord[] {
  if (!mayComeBack(sessions.get(session), options.now)) return [];
  const records = files.ofSession(session).map(({ record }) => record);
  return records.filter((record) => record.kind === kind && isThere(record, options)).sort(oldestFirst);
}

/** Committed and not expired. */
export const isThere = (record: FileRecord, { now, ttlMs }: Options<'find'>): boolean =>
  record.state === 'committed' && (ttlMs === null || record.lastUsedAt + ttlMs > now || record.leaseUntil > now);

/** The order of `list`. */
export const oldestFirst = (a: FileRecord, b: FileRecord): number =>
  a.createdAt - b.createdAt || (a.fileId < b.fileId ? -1 : 1);

export function remove({ files }: FileTables, key: FileKey): FileRecord | undefined {
  const file = files.get(key);
  if (file !== undefined) files.delete(key);
  return file?.record;
}

export function purge({ files }: FileTables, session: SessionKey): FileRecord[] {
  return removeAll(files, files.ofSession(session));
}

export function expire({ files }: FileTables, options: Parameters<FileRecords['expire']>[0]): FileRecord[] {
  const { now, limit } = options;
  const expired = removeAll(files, files.forsaken({ now, limit }));
  const ttls = [
    ['upload', options.uploadTtlMs],
    ['artifact', options.artifactTtlMs],
  ] as const;
  for (const [kind, ttlMs] of ttls) {
    if (ttlMs === null || expired.length >= limit) continue;
    const unused = files.unused(kind, { usedBefore: now - ttlMs, now, limit: limit - expired.length });
    expired.push(...removeAll(files, unused));
  }
  return expired;
}

/** See `StateStore.expireWorkspaces`. */
export function expireWorkspaces(
  { sessions, files }: FileTables,
  { now, idleBefore, limit }: { now: number; idleBefore: number; limit: number },
): SessionRecord[] {
  const empty: SessionRow[] = [];
  for (const row of sessions.idleWorkspaces(idleBefore, now)) {
    if (empty.length >= limit) break;
    if (files.held(row.record, 'upload') + files.held(row.record, 'artifact') === 0) empty.push(row);
  }
  for (const row of empty) sessions.delete(row);
  return empty.map(({ record }) => record);
}

export function purgeAbandoned(tables: FileTables, { limit }: { limit: number }): FileRecord[] {
  return tables.files.abandoned(limit).flatMap((session) => purge(tables, session));
}

export function adopt({ sessions, files }: FileTables, found: readonly FileRecord[]): number {
  let adopted = 0;
  for (const record of found) {
    const session = sessions.get(record);
    if (session === undefined || isTerminal(session) || files.get(record) !== undefined) continue;
    files.put({ record: { ...record, state: 'committed' }, uses: 0 });
    adopted += 1;
  }
  return adopted;
}

function removeAll(files: FileTable, removed: readonly StoredFile[]): FileRecord[] {
  for (const { record } of removed) files.delete(record);
  return removed.map(({ record }) => record);
}

const aliveArtifacts = (files: FileTable, session: SessionKey, now: number): number =>
  files
    .ofSession(session)
    .filter(({ record }) => record.kind === 'artifact' && (record.state === 'committed' || record.leaseUntil > now))
    .length;

/** The session that all these files belong to; undefined when there are none. */
export function sessionOf(files: readonly FileRecord[]): SessionKey | undefined {
  const [first] = files;
  if (first === undefined) return undefined;
  const text = keyText(first);
  if (files.some((file) => keyText(file) !== text)) throw new TypeError('files of several sessions in one step');
  return { serverId: first.serverId, sessionId: first.sessionId };
}
