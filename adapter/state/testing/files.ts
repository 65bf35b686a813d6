import { randomBytes } from 'node:crypto';
import type { FileRecord, ReserveRequest } from '../file-records.ts';
import type { SessionKey } from '../session-key.ts';
import type { SessionRecord, StateStore } from '../state-store.ts';

/** Redis expires keys by its own clock, so the tests' times stay near the real ones. */
export const T = Math.floor(Date.now() / 1000) * 1000;
export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;

/** 32 hexadecimal digits. */
export const newId = (): string => randomBytes(16).toString('hex');

export const newSession = (changes: Partial<SessionRecord> = {}): SessionRecord => ({
  serverId: 'files',
  sessionId: newId(),
  principal: 'alice',
  upstreamSessionId: 'upstream-1',
  generation: 0,
  protocolVersion: '2025-06-18',
  initializeParams: '{}',
  logLevel: null,
  subscriptions: [],
  listsGeneration: 0,
  baseline: null,
  createdAt: T - DAY,
  lastActiveAt: T - DAY,
  ...changes,
});

export const newFile = ({ serverId, sessionId }: SessionKey, changes: Partial<FileRecord> = {}): FileRecord => ({
  serverId,
  sessionId,
  kind: 'upload',
  fileId: newId(),
  state: 'pending',
  filename: 'größe "1" \\ 🐘.png',
  mimeType: 'image/png',
  sizeBytes: 0,
  sha256: null,
  toolName: null,
  exposed: false,
  createdAt: T,
  lastUsedAt: T,
  leaseUntil: T + MINUTE,
  ...changes,
});

/** Puts a committed file into an active session. Nobody uses it unless `leaseUntil` says so. */
export async function addFile(
  store: StateStore,
  session: SessionKey,
  changes: Partial<FileRecord> = {},
): Promise<FileRecord> {
  const pending = newFile(session, { ...changes, state: 'pending' });
  const begun = await store.files.begin([pending], { now: T, maxArtifacts: null });
  if (begun !== 'begun') throw new Error(begun);
  const committed: FileRecord = { ...pending, leaseUntil: 0, ...changes, state: 'committed' };
  if (!(await store.files.commit([committed], { now: T }))) throw new Error('not committed');
  return committed;
}

/** Puts a pending file into an active session. */
export async function beginFile(
  store: StateStore,
  session: SessionKey,
  changes: Partial<FileRecord> = {},
): Promise<FileRecord> {
  const pending = newFile(session, changes);
  const begun = await store.files.begin([pending], { now: T, maxArtifacts: null });
  if (begun !== 'begun') throw new Error(begun);
  return pending;
}

export const request = (bytes: number, changes: Partial<ReserveRequest> = {}): ReserveRequest => ({
  bytes,
  now: T,
  leaseUntil: T + MINUTE,
  maxTotal: null,
  maxSession: null,
  evictFirst: 'upload',
  ...changes,
});

/** Ends a session as idle, with a tombstone. */
export const tombstone = (store: StateStore, until = T + DAY): Promise<SessionRecord[]> =>
  store.expireIdle({ now: T, idleBefore: T + 1, tombstoneUntil: until, limit: 100 });
