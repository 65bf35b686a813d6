/**
 * What has been scraped and what has not. A window goes through these states:
 *
 *     plan ─▶ open ─ exporting ─▶ exporting ─ exported ─▶ exported ─ commit ─▶ committed
 *               ▲ ◀── failed ───────┘                        (a crash leaves it where it is; it is due again)
 *               └─ retryDead ── dead ◀── failed, for good
 *
 * Only scheduled windows move the watermark: it is the start of the earliest one that is not committed.
 */
export interface Ledger {
  /** What is known of a source; undefined: it was never planned or paused. */
  source(name: string): Promise<SourceState | undefined>;
  /**
   * Adds windows and moves `plannedUntil`, in one step. False, and nothing is written, when `plannedUntil` is not
   * `from` (any more) or the fence is old. Windows must not start before `from`.
   */
  plan(
    name: string,
    from: Date | undefined,
    windows: readonly WindowRange[],
    plannedUntil: Date,
    fence: Fence,
  ): Promise<boolean>;
  /**
   * Windows that are neither committed nor dead and wait for nothing: scheduled ones first, then those of backfills,
   * oldest first in each. Windows that run right now are among them.
   */
  due(name: string, now: Date, limit: number): Promise<LedgerWindow[]>;
  /**
   * Notes that the answers of a window are about to be read, which may end the process. Ended by `failed`, `commit` and
   * `letGo`; what is noted without an end was left behind by a crash. Returns how often that was so before; undefined: the
   * fence is old. @param id of a window, or `MOMENT`
   */
  begin(name: string, id: string, fence: Fence): Promise<number | undefined>;
  /** The end of one `begin` without a result, as when the program stops or the source moves: nothing has crashed. */
  letGo(name: string, id: string): Promise<void>;
  /** To be called before records are sent, because afterwards a crash may leave them delivered. False: do not send. */
  exporting(name: string, id: string, fence: Fence): Promise<boolean>;
  /** The collector has acknowledged; only the commit is missing. False: the fence is old. */
  exported(name: string, id: string, fence: Fence): Promise<boolean>;
  /** Counts an attempt. False: the fence is old, or the window is committed, and nothing was written. */
  failed(name: string, id: string, failure: WindowFailure, fence: Fence): Promise<boolean>;
  /**
   * Window, watermark and fingerprints, all or nothing. Saying it twice is harmless. False: the fence is old or there is
   * no such window, and nothing was written.
   */
  commit(name: string, id: string, commit: WindowCommit, fence: Fence): Promise<boolean>;
  /** Adds windows beside the scheduled ones. Returns how many of them were not open already. */
  backfill(name: string, windows: readonly WindowRange[], now: Date): Promise<number>;
  /** Remembers that nothing is to be scraped. It is for the caller to heed it; windows can be committed all the same. */
  pause(name: string): Promise<void>;
  resume(name: string): Promise<void>;
  /**
   * Opens dead windows again, each cut into what `split` says; what this leaves out at the end stays dead. Returns the
   * number of windows that were dead and of which something was opened.
   */
  retryDead(name: string, now: Date, split?: (range: WindowRange) => readonly WindowRange[]): Promise<number>;
  /**
   * Windows of all states, latest first. Of committed ones only the last hundred are known. Dead ones that touch have
   * become one, and of dead moments only the last hundred are kept, since nobody can ask for them any more: what is
   * known of a source that fails for ever stays small.
   */
  windows(name: string, page: { readonly offset: number; readonly limit: number }): Promise<LedgerWindow[]>;
  /** Which of these fingerprints were emitted and have not expired. */
  seen(name: string, hashes: readonly string[], now: Date): Promise<ReadonlySet<string>>;
  /** Removes what has expired, and what is known of sources that nobody has used for more than a year. */
  cleanUp(now: Date, knownSources: readonly string[]): Promise<{ fingerprints: number; windows: number }>;
  close(): Promise<void>;
}

/** Proof of being the owner of a source: each change of owner raises the token. */
export interface Fence {
  readonly token: bigint;
}

/** A window of time; start and end may be equal (a source that has only a present). */
export interface WindowRange {
  readonly start: Date;
  readonly end: Date;
}

export type WindowKind = 'scheduled' | 'backfill';
export type WindowState = 'open' | 'exporting' | 'exported' | 'committed' | 'dead';

export interface LedgerWindow extends WindowRange {
  /** Made of kind, start and end, so that the same window has the same id. */
  readonly id: string;
  readonly kind: WindowKind;
  readonly state: WindowState;
  /** Attempts that have failed. */
  readonly attempts: number;
  /** When it is due; of committed and dead windows: when they became so. */
  readonly at: Date;
  /** Of the last attempt, when it failed. */
  readonly error: string | undefined;
  /** Its records may have been delivered already: an attempt went as far as that. */
  readonly mayRepeat: boolean;
}

export interface SourceState {
  /** The end of what was planned; undefined: nothing yet. */
  readonly plannedUntil: Date | undefined;
  /** Everything before it is committed. */
  readonly watermark: Date | undefined;
  /** When a window was last committed. */
  readonly lastSuccess: Date | undefined;
  readonly paused: boolean;
  readonly openWindows: number;
  readonly deadWindows: number;
}

export interface WindowFailure {
  readonly error: string;
  readonly nextAttemptAt: Date | 'dead';
  readonly now: Date;
  /** The records may have arrived all the same, such as after a timeout of the export. */
  readonly mayHaveArrived?: boolean;
  /** A later moment has taken its place: whether that ends the process too is to be seen, so `begin` has no end yet. */
  readonly isReplaced?: boolean;
}

export interface WindowCommit {
  readonly now: Date;
  /** Of the records that were emitted: lower-case hex. */
  readonly fingerprints: readonly string[];
  readonly ttlMs: number;
  /** Most fingerprints of the source that are kept; those that were emitted first go first. */
  readonly maxEntries: number;
}

/** The store cannot be reached, or cannot serve now. Trying again later is all that helps. */
export class StateUnavailable extends Error {
  override name = 'StateUnavailable';
}

/** Committed windows of a source that are kept for people to look at; also dead ones that are moments. */
export const WINDOWS_KEPT = 100;

/** How long a source that nobody plans any more is remembered: longer than the rarest schedule. */
export const SOURCE_KEPT_MS = 400 * 86_400_000;

/** Longest error text that is kept. */
export const ERROR_CHARS = 500;

/** Stands for whatever moment a source without ranges is scraped for: each start asks for another one. */
export const MOMENT = 'moment';

export const windowId = (kind: WindowKind, { start, end }: WindowRange): string =>
  `${kind}:${start.getTime()}-${end.getTime()}`;
