import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { FileKey, FileKind } from '../../state/file-records.ts';
import type { StateStore } from '../../state/state-store.ts';
import { whileLocked } from '../../sessions/store-lock.ts';
import type { StagingArea, StagedItem } from '../disk/staging-area.ts';
import { type FoundFile, readItem, type ReaderOptions } from './reconcile-found.ts';
import { isUnreconciled, markReconciled, markUnreconciled } from './reconcile-marker.ts';
import { adoptFiles, type OwnerOptions } from './reconcile-sessions.ts';
import { unknownItems } from './unknown-items.ts';

export interface ReconcileOptions extends OwnerOptions, Omit<ReaderOptions, 'stage'> {
  /** `state_persistence.reconciliation.mode`. */
  readonly mode: 'disabled' | 'if_empty' | 'always';
  /** `state_persistence.refresh_on_startup`. */
  readonly refreshed: boolean;
  readonly uploadTtlMs: number | null;
  readonly artifactTtlMs: number | null;
}

export interface ReconcileDeps {
  readonly store: StateStore;
  readonly stage: Pick<StagingArea, 'filesIn' | 'items' | 'open'>;
  /** False while the store is unavailable or replaced by memory: files are not adopted into that. */
  readonly usable: () => boolean;
  /** Told when sessions that clients open do not matter any more: what is to be done is noted in the store. */
  readonly onDecided?: () => void;
}

/** Member `startup_reconciliation` of the health object, with the original's names. */
export type ReconcileResult =
  | { status: 'disabled'; mode: string; reason: 'reconciliation_disabled' }
  | { status: 'skipped'; mode: string; reason: SkipReason; repository_empty?: boolean }
  | ({ status: 'applied'; mode: string; repository_empty: boolean; legacy_migration: boolean } & ReconcileCounts)
  | { status: 'error'; mode: string; reason: 'startup_reconciliation_failed'; detail: string };

type SkipReason = 'refresh_on_startup_enabled' | 'repository_not_empty' | 'no_files_found';

export interface ReconcileCounts {
  uploads_discovered: number;
  artifacts_discovered: number;
  uploads_backfilled: number;
  artifacts_backfilled: number;
  sessions_created: number;
  sessions_updated: number;
  /** The beginnings of their ids, of the first twenty: enough to find the folder, too little to claim the session. */
  unresolved_sessions: string[];
  unresolved_sessions_count: number;
  /** What is neither a file of ours nor its folder, or a second file in it. */
  skipped_entries: number;
  /** Files whose time was over: the cleanup removes them. */
  expired_entries: number;
}

const LOCK = 'reconcile';
const LOCK_MS = 60_000;
const POLL_MS = 250;
const BATCH = 100;
const NAMED_SESSIONS = 20;

/**
 * Finds files that have no record and gives them one (specification 2.3): after the state was lost, or for the folder
 * of an earlier installation. One replica at a time; those that come later find the work done, or go on with it where
 * it failed halfway or its replica was killed. Nothing is deleted and no record is changed.
 */
export async function reconcileStorage(
  deps: ReconcileDeps,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { mode, refreshed } = options;
  if (mode === 'disabled' || (refreshed && mode !== 'always')) {
    // What an earlier configuration left to be done is not wanted any more.
    await markReconciled(deps.store);
    if (mode === 'disabled') return { status: 'disabled', mode, reason: 'reconciliation_disabled' };
    return { status: 'skipped', mode, reason: 'refresh_on_startup_enabled' };
  }
  const lock = { name: LOCK, owner: randomUUID(), ttlMs: LOCK_MS, signal };
  for (;;) {
    const result = await whileLocked(deps.store, lock, (held) => underLock(deps, options, held));
    if (result !== undefined) return result;
    if (await isUnreconciled(deps.store)) deps.onDecided?.();
    await delay(POLL_MS, undefined, { signal, ref: false });
  }
}

async function underLock(
  deps: ReconcileDeps,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { mode } = options;
  const { store } = deps;
  const interrupted = await isUnreconciled(store);
  const { sessions, tombstones } = await store.counts(store.now());
  // Memory that replaces the store knows neither the mark nor all sessions.
  checkStore(deps);
  const repository_empty = sessions + tombstones === 0;
  if (mode === 'if_empty' && !repository_empty && !interrupted) {
    return { status: 'skipped', mode, reason: 'repository_not_empty', repository_empty };
  }
  await markUnreconciled(store);
  checkStore(deps);
  deps.onDecided?.();
  const scan = new Scan(deps, options, signal);
  for (const kind of ['upload', 'artifact'] as const) await scan.all(kind);
  await scan.forgetWhatIsGone();
  signal.throwIfAborted();
  checkStore(deps);
  // What nobody could be given stays noted: it is no orphan, and its owner may be configured for the next start.
  if (scan.isComplete) await markReconciled(store);
  const { counts } = scan;
  if (counts.uploads_discovered + counts.artifacts_discovered === 0) {
    return { status: 'skipped', mode, reason: 'no_files_found', repository_empty };
  }
  return { status: 'applied', mode, repository_empty, legacy_migration: repository_empty, ...counts };
}

type ProperItem = StagedItem & { readonly fileId: string };

class Scan {
  readonly counts: ReconcileCounts = {
    uploads_discovered: 0,
    artifacts_discovered: 0,
    uploads_backfilled: 0,
    artifacts_backfilled: 0,
    sessions_created: 0,
    sessions_updated: 0,
    unresolved_sessions: [],
    unresolved_sessions_count: 0,
    skipped_entries: 0,
    expired_entries: 0,
  };
  readonly #deps: ReconcileDeps;
  readonly #options: ReconcileOptions;
  readonly #signal: AbortSignal;
  /** Session ids, each counted once. */
  readonly #created = new Set<string>();
  readonly #updated = new Set<string>();
  readonly #unresolved = new Set<string>();
  #isComplete = true;
  readonly #adopted: (FileKey & { readonly filename: string })[] = [];

  constructor(deps: ReconcileDeps, options: ReconcileOptions, signal: AbortSignal) {
    this.#deps = deps;
    this.#options = options;
    this.#signal = signal;
  }

  /** Whether there is no file left that another configuration would give a record. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  async all(kind: FileKind): Promise<void> {
    let batch: ProperItem[] = [];
    for await (const item of this.#deps.stage.items(kind, this.#signal)) {
      this.#signal.throwIfAborted();
      if (!isProper(item) || item.unreadable !== undefined) {
        this.counts.skipped_entries += 1;
        continue;
      }
      this.counts[`${kind}s_discovered`] += 1;
      batch.push(item);
      if (batch.length < BATCH) continue;
      await this.#adopt(batch);
      batch = [];
      await nextTurn();
    }
    await this.#adopt(batch);
  }

  /** A file may have been about to be deleted, its record before it, when the folder was looked through. */
  async forgetWhatIsGone(): Promise<void> {
    for (const file of this.#adopted) {
      this.#signal.throwIfAborted();
      const names = await this.#deps.stage.filesIn(file);
      if (!names.includes(file.filename)) await this.#deps.store.files.remove(file);
    }
  }

  async #adopt(items: readonly ProperItem[]): Promise<void> {
    checkStore(this.#deps);
    const unknown = await unknownItems(this.#deps.store.files, items);
    checkStore(this.#deps);
    const inFolder = ({ serverId, sessionId }: StagedItem): string => `${sessionId} ${serverId ?? ''}`;
    for (const ofSession of Map.groupBy(unknown, inFolder).values()) {
      const sessionId = ofSession[0]?.sessionId ?? '';
      const files = await this.#read(ofSession);
      if (files.length === 0) continue;
      checkStore(this.#deps);
      const adopted = await adoptFiles(this.#deps.store, files, this.#options, this.#deps.store.now());
      if (adopted.state === 'adopted') {
        this.#countAdopted(sessionId, adopted, files);
        continue;
      }
      this.#countUnresolved(sessionId);
      if (adopted.state === 'unresolved') this.#isComplete = false;
    }
  }

  async #read(items: readonly ProperItem[]): Promise<FoundFile[]> {
    const found: FoundFile[] = [];
    for (const item of items) {
      this.#signal.throwIfAborted();
      const now = this.#deps.store.now();
      const { file, others } = await readItem(item, { ...this.#options, stage: this.#deps.stage }, now, this.#signal);
      this.counts.skipped_entries += others;
      if (file === undefined) continue;
      if (this.#hasExpired(file, now)) this.counts.expired_entries += 1;
      else found.push(file);
    }
    return found;
  }

  #hasExpired({ kind, lastUsedAt }: FoundFile, now: number): boolean {
    const { uploadTtlMs, artifactTtlMs } = this.#options;
    const ttlMs = kind === 'upload' ? uploadTtlMs : artifactTtlMs;
    return ttlMs !== null && lastUsedAt + ttlMs <= now;
  }

  #countAdopted(
    sessionId: string,
    { serverId, opened, count }: { serverId: string; opened: boolean; count: number },
    files: readonly FoundFile[],
  ): void {
    const [first] = files;
    if (first === undefined || count === 0) return;
    this.counts[`${first.kind}s_backfilled`] += count;
    if (opened) this.#created.add(sessionId);
    else if (!this.#created.has(sessionId)) this.#updated.add(sessionId);
    this.counts.sessions_created = this.#created.size;
    this.counts.sessions_updated = this.#updated.size;
    for (const { kind, fileId, filename } of files) this.#adopted.push({ serverId, sessionId, kind, fileId, filename });
  }

  #countUnresolved(sessionId: string): void {
    if (this.#unresolved.has(sessionId)) return;
    this.#unresolved.add(sessionId);
    this.counts.unresolved_sessions_count = this.#unresolved.size;
    const { unresolved_sessions: named } = this.counts;
    if (named.length < NAMED_SESSIONS) named.push(`${sessionId.slice(0, 8)}…`);
  }
}

function checkStore({ usable }: ReconcileDeps): void {
  if (!usable()) throw new Error('the state store is not available');
}

const isProper = (item: StagedItem): item is ProperItem => item.fileId !== null;
