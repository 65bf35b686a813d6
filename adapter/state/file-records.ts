import type { SessionKey } from './session-key.ts';

/**
 * The most files of one session, uploads and artifacts, pending ones too. Some steps look at all files of a session
 * while nobody else is served, and quotas of bytes do not bound how many empty files there are.
 */
export const MAX_SESSION_FILES = 10_000;

/**
 * What is known of the files of sessions, shared by all replicas; their bytes are elsewhere. Every method is one atomic
 * step. Times are milliseconds since the epoch of the store's clock, `now`, and come in as arguments. A file belongs to the session that it was made
 * in: none is added to a session that is not active, and where the session is gone, `find` and `use` find nothing.
 * Nothing here asks who the caller is: whoever calls has found the session first, or holds a signed URL.
 */
export interface FileRecords {
  /** See `StateStore.now`. */
  now(): number;
  /**
   * Adds pending files of one session, whose bytes are about to come; all of them or none. `no_session`: it is unknown
   * or has ended. `limit`: an artifact more than `maxArtifacts` of the session (`artifacts.max_per_session`; pending
   * ones count until their lease ends). `full`: a file of any kind more than MAX_SESSION_FILES. `taken`: one of them is committed
   * already; a pending one of the same id is replaced, because whoever began it may be dead.
   */
  begin(files: readonly FileRecord[], options: { now: number; maxArtifacts: number | null }): Promise<Begun>;
  /**
   * Sets how many bytes a pending file takes up in the quotas and extends its lease. Must come before the bytes are
   * written, so that what lies on the disk never exceeds a quota. Less than before is always granted. When the session's quota is short, committed files of
   * this session that nobody uses are removed: spilled ones first, then uploads or artifacts as `evict` says, least recently used first;
   * they are returned and their bytes are the caller's to delete. When removing all of them would not do, none is.
   */
  reserve(key: FileKey, request: ReserveRequest): Promise<Reserved>;
  /**
   * Makes pending files of one session committed, all of them or none, with the final values given here. False: one of
   * them is gone (its lease had ended, its session was ended), or `guard` names a lock that its owner has lost since.
   */
  commit(files: readonly FileRecord[], options: { now: number; guard?: LockGuard }): Promise<boolean>;
  /**
   * Replaces what is known of a committed file by its next version, whose bytes are there already; who uses it goes on
   * doing so. The quotas count the kept versions too. False: it is gone, or is not of the version `from` any more.
   */
  revise(file: FileRecord, options: { now: number; from: number }): Promise<boolean>;
  /**
   * Extends the leases of pending and used files, so that they neither expire nor are evicted until then. A committed
   * file whose use has ended stays so.
   */
  lease(keys: readonly FileKey[], leaseUntil: number): Promise<void>;
  /**
   * Ends one use of committed files: the time until they expire begins anew, and the lease ends if nobody else uses
   * them. Once for each `use` with a lease.
   */
  release(keys: readonly FileKey[], now: number): Promise<void>;

  /** A committed file that has not expired: `ttlMs` after its last use, null for never. Does not count as a use. */
  find(key: FileKey, options: { now: number; ttlMs: number | null }): Promise<FileRecord | undefined>;
  /** As `find`, and begins the time until it expires anew. With `leaseUntil` it is kept until then or `release`. */
  use(
    key: FileKey,
    options: { now: number; ttlMs: number | null; leaseUntil?: number },
  ): Promise<FileRecord | undefined>;
  /** Committed files of one kind of a session that have not expired, oldest first. */
  list(session: SessionKey, kind: FileKind, options: { now: number; ttlMs: number | null }): Promise<FileRecord[]>;

  /** Removes a file, pending or committed. Returns it to one caller only. */
  remove(key: FileKey): Promise<FileRecord | undefined>;
  /** Removes all files of a session and returns them; of many, some in each step. */
  purge(session: SessionKey): Promise<FileRecord[]>;
  /**
   * Removes up to `limit` files that have expired and whose lease is over: committed ones by the time to live of their
   * kind (null: never), pending ones by their lease alone. Those of tombstoned sessions too.
   */
  expire(options: {
    now: number;
    uploadTtlMs: number | null;
    artifactTtlMs: number | null;
    limit: number;
  }): Promise<FileRecord[]>;
  /** Removes the files of up to `limit` sessions that were removed or invalidated, and returns them. */
  purgeAbandoned(options: { now: number; limit: number }): Promise<FileRecord[]>;

  /** Which of these ids of files, of any kind, have a record in the session with this id, whatever its server. */
  known(sessionId: string, fileIds: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Committed files of all sessions, some at a time and in no special order: `next` leads on, undefined at the end. One
   * that is there all along comes at least once; `limit` is about how many.
   */
  page(cursor: string | undefined, limit: number): Promise<FilePage>;
  /** The server whose session has this id, active or tombstoned; undefined when there is none or more than one. */
  ownerOf(sessionId: string): Promise<string | undefined>;
  /**
   * Adds committed files that were found on the disk (reconciliation, specification 2.3), to a session that exists.
   * A file that has a record is left alone. Returns how many were added.
   */
  adopt(files: readonly FileRecord[]): Promise<number>;
  totals(): Promise<FileTotals>;
}

export type FileKind = 'upload' | 'artifact';

export interface FileKey extends SessionKey {
  readonly kind: FileKind;
  /** 32 hexadecimal digits, random. */
  readonly fileId: string;
}

export interface FileRecord extends FileKey {
  readonly state: 'pending' | 'committed';
  /** Safe as a name in a folder; the last part of the file's path. */
  readonly filename: string;
  /** Where in its folder the bytes of an edited file lie (see `FileKey` of files/keys). */
  readonly contentId?: string | undefined;
  /** Of an edited file: 2 and more. Undefined: there is one version only. */
  readonly version?: number | undefined;
  /** The versions before it that are kept, oldest first. */
  readonly older?: readonly OlderVersion[] | undefined;
  readonly mimeType: string;
  /** Of a pending file: what it takes up in the quotas. */
  readonly sizeBytes: number;
  /** Hexadecimal; null where it was not computed. */
  readonly sha256: string | null;
  /** Of an artifact: the tool that made it. Of an upload: the tool it was asked for, null when it was for any. */
  readonly toolName: string | null;
  /** Whether it is offered as an MCP resource. */
  readonly exposed: boolean;
  /** It is a text that was too long for a result; of what has to make room, these go first. */
  readonly spilled?: true | undefined;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** Until then it neither expires nor is it evicted, because somebody writes or reads it. 0: nobody does. */
  readonly leaseUntil: number;
}

export interface OlderVersion {
  readonly version: number;
  /** Undefined: it lies where the file did before its first edit. */
  readonly contentId?: string | undefined;
  readonly sizeBytes: number;
  readonly sha256: string | null;
  /** It is what a client uploaded, before any tool changed it. */
  readonly uploaded?: true | undefined;
}

/** Which of the versions before the next one are kept: the last `count`, and what was uploaded. None of `count` 0. */
export function lastVersions(versions: readonly OlderVersion[], count: number): readonly OlderVersion[] {
  if (count === 0) return [];
  const last = versions.slice(-count);
  return [...versions.slice(0, -count).filter(({ uploaded }) => uploaded), ...last];
}

/** What a file takes up in the quotas. */
export const heldBytes = ({ sizeBytes, older = [] }: Pick<FileRecord, 'sizeBytes' | 'older'>): number =>
  older.reduce((sum, version) => sum + version.sizeBytes, sizeBytes);

/** Which version a file is of. */
export const versionOf = ({ version = 1 }: Pick<FileRecord, 'version'>): number => version;

/** A file and the versions before it that are kept, each as the file that it is. The first is the newest. */
export function versionsOf(file: FileRecord): readonly [FileRecord, ...FileRecord[]] {
  const older = file.older ?? [];
  return [file, ...older.map((version) => ({ ...file, contentId: undefined, older: [], ...version })).toReversed()];
}

export type Begun = 'begun' | 'no_session' | 'limit' | 'full' | 'taken';

export interface ReserveRequest {
  readonly bytes: number;
  readonly now: number;
  readonly leaseUntil: number;
  /** `storage.max_size`: of all files of all sessions, pending ones included. */
  readonly maxTotal: number | null;
  /** `sessions.max_total_session_size`. */
  readonly maxSession: number | null;
  /** `sessions.eviction_policy`: the kind that goes first. */
  readonly evictFirst: FileKind;
}

export type Reserved =
  | { readonly state: 'reserved'; readonly evicted: readonly FileRecord[] }
  /** The file has no pending record any more, or its session has ended. */
  | { readonly state: 'gone' }
  | { readonly state: 'over'; readonly quota: 'session' | 'storage' };

/** A named lock of the store and who must still hold it. */
export interface LockGuard {
  readonly name: string;
  readonly owner: string;
}

export interface FilePage {
  readonly files: readonly FileRecord[];
  readonly next: string | undefined;
}

/** `count` is of committed files; `bytes` contain what pending ones take up in the quotas. */
export interface FileTotals {
  readonly uploads: { readonly count: number; readonly bytes: number };
  readonly artifacts: { readonly count: number; readonly bytes: number };
}
