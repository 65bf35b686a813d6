import { randomUUID } from 'node:crypto';

import { DanglingRecords } from '../files/reconcile/dangling-records.ts';
import { count, expireFiles, type FileTimes } from '../files/store/expire-files.ts';
import type { StagingArea } from '../files/disk/staging-area.ts';
import type { BlobStore } from '../files/s3/blob-store.ts';
import { sweepOrphans } from '../files/reconcile/sweep-orphans.ts';
import { sweepBlobStore } from '../files/reconcile/sweep-blob-store.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type CleanupSettings, cleanUp, endExpired, type TakenSessions } from './sweep-loop.ts';
import type { FileDiscard, SessionFiles } from '../sessions/session-files.ts';
import { sessionEnd } from '../sessions/session-end.ts';
import { whileLocked } from '../sessions/store-lock.ts';

/** What a pass has done, under the names that dashboards of the original know. */
export interface CleanupCounts {
  expired_sessions: number;
  tombstoned_sessions: number;
  removed_tombstones: number;
  removed_uploads: number;
  removed_artifacts: number;
  removed_dangling_upload_records: number;
  removed_dangling_artifact_records: number;
  removed_orphan_files: number;
}

/** The last pass of this replica, for the health object. */
export interface CleanupReport extends CleanupCounts {
  /** `skipped`: files were left to another replica, or the store was not itself, or nothing was done. */
  readonly files: 'done' | 'skipped';
  readonly status: 'ok' | 'error';
  /** Why nothing was done: the clock of this replica differs from that of the store. */
  readonly skipped?: 'clock_differs';
  /** Seconds since the epoch. */
  readonly finished_at: number;
  readonly duration_ms: number;
}

export interface SweepSettings extends CleanupSettings, FileTimes {
  /** Null: orphans are left alone. */
  readonly orphanGraceMs: number | null;
}

export interface SweepDeps {
  readonly store: StateStore;
  readonly sessionFiles: SessionFiles;
  readonly bytes: FileDiscard;
  readonly stage: Pick<StagingArea, 'items' | 'pathsOf' | 'removeStray' | 'removeEntries'>;
  readonly blobStore: Pick<BlobStore, 'has' | 'items' | 'remove'> | undefined;
  /** False while the store is unavailable or replaced by memory: bytes are not deleted on its word. */
  readonly usable: () => boolean;
  /** Whether the replica's own clock, which files on the disk are compared with, differs from that of the store. */
  readonly clockDiffers: () => boolean;
  /** Whether files without a record have had their chance to be adopted (reconciliation at start). */
  readonly mayRemoveOrphans: () => boolean | Promise<boolean>;
  /** Ends the upstream's session of one that has expired. */
  readonly endUpstream: (record: SessionRecord) => Promise<void>;
  readonly telemetry: Pick<Telemetry, 'cleanup' | 'session' | 'filesRemoved'>;
  readonly log: {
    info(counts: object, message: string): void;
    warn(attributes: object, message: string): void;
  };
}

const LOCK = 'cleanup';
const LOCK_MS = 60_000;
/** Network file systems show new files to other machines that late; younger records are not held to be dangling. */
const VISIBILITY_DELAY_MS = 60_000;
/** At most a tenth of the time is spent on looking through folders, however many there are. */
const REST_FACTOR = 9;
const MAX_REST_MS = 600_000;

/**
 * One pass of the cleanup (specification, sections 2.1, 2.4 and 3.1). Sessions first, on every replica, for each of
 * them is given to one only; then files, on one replica at a time. A part that fails does not keep the others from
 * their turn. Files of tombstones stay: all that is known has a record, whatever state its session is in.
 */
export class Sweep {
  readonly #deps: SweepDeps;
  readonly #settings: SweepSettings;
  readonly #dangling: DanglingRecords;
  readonly #owner = randomUUID();
  /** Not before this time (of `performance.now`) orphans are looked for again. */
  #sweepAt = 0;
  /** Whether the log knows that there is what cannot be read. */
  #loggedUnreadable = false;
  #last: CleanupReport | undefined;

  constructor(deps: SweepDeps, settings: SweepSettings) {
    this.#deps = deps;
    this.#settings = settings;
    const { store, bytes, stage, blobStore, usable } = deps;
    this.#dangling = new DanglingRecords(
      { records: store.files, bytes, stage, blobStore, usable },
      VISIBILITY_DELAY_MS,
    );
  }

  get last(): CleanupReport | undefined {
    return this.#last;
  }

  /** Fails with the first failure after everything has had its turn. */
  async run(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const counts = noCounts();
    if (this.#deps.clockDiffers()) {
      const finished_at = Date.now() / 1000;
      this.#last = { ...counts, files: 'skipped', status: 'ok', skipped: 'clock_differs', finished_at, duration_ms: 0 };
      return;
    }
    const failures: unknown[] = [];
    const taken: TakenSessions = { expired: [], purged: [], workspaces: [] };
    let files: CleanupReport['files'] = 'skipped';
    await attempt(failures, () => cleanUp(this.#deps.store, this.#settings, this.#deps.store.now(), taken));
    await attempt(failures, () => this.#endSessions(taken, counts, signal));
    // Beside the files: an upstream that does not answer holds up only the end of the pass.
    const kept = taken.workspaces.filter(({ upstreamSessionId }) => upstreamSessionId !== null);
    const ending = endExpired([...taken.expired, ...kept], this.#deps.endUpstream, signal);
    await attempt(failures, async () => {
      if (!this.#deps.usable() || signal.aborted) return;
      const work = (held: AbortSignal): Promise<boolean> => this.#files(counts, failures, held);
      const lock = { name: LOCK, owner: this.#owner, ttlMs: LOCK_MS, signal };
      const done = await whileLocked(this.#deps.store, lock, work);
      if (done === true) files = 'done';
    });
    this.#last = {
      ...counts,
      files,
      status: failures.length === 0 ? 'ok' : 'error',
      finished_at: Date.now() / 1000,
      duration_ms: Math.round(performance.now() - startedAt),
    };
    this.#deps.telemetry.cleanup({ status: this.#last.status, removed: { ...counts } });
    if (Object.values(counts).some((one) => one > 0)) this.#deps.log.info({ ...counts }, 'cleaned up');
    await ending;
    if (failures.length > 0) throw failures[0];
  }

  async #endSessions(
    { expired, purged, workspaces }: TakenSessions,
    counts: CleanupCounts,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, sessionFiles, usable, telemetry } = this.#deps;
    const now = store.now();
    const { allowRevival } = this.#settings;
    const event = allowRevival ? 'idle_expired_tombstoned' : 'idle_expired_deleted';
    for (const record of expired) telemetry.session(sessionEnd(record, event, now));
    for (const record of workspaces) telemetry.session(sessionEnd(record, 'idle_expired_deleted', now));
    counts[allowRevival ? 'tombstoned_sessions' : 'expired_sessions'] += expired.length;
    counts.expired_sessions += workspaces.length;
    counts.removed_tombstones += purged.length;
    // What memory says while it replaces the store goes for this replica only; the store's sessions keep their files.
    if (!usable()) return;
    const removed = { uploads: 0, artifacts: 0 };
    for (const record of allowRevival ? purged : [...expired, ...purged]) {
      // `purgeAbandoned` finds the rest, here after a restart or on another replica.
      if (signal.aborted) break;
      count(removed, await sessionFiles.purge(record, signal));
    }
    counts.removed_uploads += removed.uploads;
    counts.removed_artifacts += removed.artifacts;
  }

  async #files(counts: CleanupCounts, failures: unknown[], signal: AbortSignal): Promise<boolean> {
    const { store, bytes, usable } = this.#deps;
    await attempt(failures, async () => {
      const clock = (): number => store.now();
      const removed = await expireFiles({ records: store.files, bytes, usable }, this.#settings, clock, signal);
      counts.removed_uploads += removed.uploads;
      counts.removed_artifacts += removed.artifacts;
    });
    await attempt(failures, async () => {
      const removed = await this.#dangling.check(store.now(), signal);
      counts.removed_dangling_upload_records += removed.uploads;
      counts.removed_dangling_artifact_records += removed.artifacts;
    });
    await attempt(failures, () => this.#orphans(counts, signal));
    return !signal.aborted;
  }

  async #orphans(counts: CleanupCounts, signal: AbortSignal): Promise<void> {
    const { store, stage, blobStore, telemetry, usable, mayRemoveOrphans, log } = this.#deps;
    const { orphanGraceMs: graceMs } = this.#settings;
    const startedAt = performance.now();
    if (graceMs === null || startedAt < this.#sweepAt || !(await mayRemoveOrphans()) || !usable()) return;
    // Compared with the times of files.
    const options = { graceMs, now: Date.now(), signal };
    const shared = { records: store.files, telemetry, usable };
    const swept = await sweepOrphans({ ...shared, stage }, options);
    counts.removed_orphan_files += swept.removed;
    const unreadable = swept.unreadable > 0;
    if (unreadable && !this.#loggedUnreadable) {
      log.warn({ entries: swept.unreadable, err: swept.unread }, 'folders that cannot be read are not cleaned up');
    }
    this.#loggedUnreadable = unreadable;
    if (swept.failed > 0) {
      log.warn({ files: swept.failed, err: swept.failure }, 'files without a record could not be removed');
    }
    if (blobStore !== undefined) {
      counts.removed_orphan_files += await sweepBlobStore({ ...shared, blobStore }, options);
    }
    // One that a failing store held up and ended says nothing about how long looking takes.
    const now = performance.now();
    if (usable() && !signal.aborted) this.#sweepAt = now + Math.min((now - startedAt) * REST_FACTOR, MAX_REST_MS);
  }
}

function noCounts(): CleanupCounts {
  return {
    expired_sessions: 0,
    tombstoned_sessions: 0,
    removed_tombstones: 0,
    removed_uploads: 0,
    removed_artifacts: 0,
    removed_dangling_upload_records: 0,
    removed_dangling_artifact_records: 0,
    removed_orphan_files: 0,
  };
}

async function attempt(failures: unknown[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    failures.push(error);
  }
}
