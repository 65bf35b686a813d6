import type { MemoryShare } from './memory-budget.ts';
import { Contribution, type TimeSpan } from './output/contribution.ts';

/** A hash, in a list, a set and a transaction. */
export const BYTES_OF_A_FINGERPRINT = 256;

/** What the pages of one window come to. */
export class Gathered {
  readonly contribution: Contribution;
  /** Where its memory is counted, until it is given up or delivered. */
  readonly memory: MemoryShare | undefined;
  /** Of the records that are emitted; they stay claimed until they are in the ledger. */
  readonly fingerprints: string[] = [];
  records = 0;
  /** Records that had been emitted before. */
  unchanged = 0;
  /** Records beyond `maxRecordsPerScrape`. */
  leftOut = 0;
  /** Of the answers. */
  bytes = 0;
  /** What its log records hold in memory, about. */
  logBytes = 0;
  /** The collector has it; only the ledger does not know yet. */
  isAcknowledged = false;
  /** Some of it may have been sent twice. */
  mayRepeat: boolean;
  /** When the API was asked. */
  readonly asked: Date;

  /**
   * @param sentBefore an attempt that is over may have sent it
   * @param window when its points are; undefined: when they are exported
   */
  constructor(
    asked: Date,
    {
      sentBefore = false,
      isCounted = false,
      window,
      memory,
    }: { sentBefore?: boolean; isCounted?: boolean; window?: TimeSpan | undefined; memory?: MemoryShare } = {},
  ) {
    this.contribution = new Contribution(window);
    this.asked = asked;
    this.mayRepeat = sentBefore;
    this.contribution.isCounted = isCounted;
    this.memory = memory;
  }

  /** What it holds in memory, about, once its answers are read. */
  get held(): number {
    return this.contribution.series.total + this.logBytes + this.fingerprints.length * BYTES_OF_A_FINGERPRINT;
  }
}

/** Fingerprints of one source that are on their way: two windows at a time must not both emit a record. */
export class Claims {
  readonly #claimed = new Set<string>();

  /** False when another window, or this one, has it already. */
  claim(fingerprint: string): boolean {
    if (this.#claimed.has(fingerprint)) return false;
    this.#claimed.add(fingerprint);
    return true;
  }

  release(fingerprints: Iterable<string>): void {
    for (const fingerprint of fingerprints) this.#claimed.delete(fingerprint);
  }
}

/** Nothing is left of a run's budget, and a window has records; it waits for the next one, where it comes first. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

/** How many records a run may still emit. */
export class Budget {
  #left: number;

  constructor(limit: number | null) {
    this.#left = limit ?? Number.POSITIVE_INFINITY;
  }

  get hasRoom(): boolean {
    return this.#left > 0;
  }

  /** As many of these as there is room for. */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }

  giveBack(records: number): void {
    this.#left += records;
  }
}

interface Kept {
  readonly source: string;
  readonly gathered: Gathered;
  readonly release: () => void;
}

const MAX_WINDOWS = 200;
const MAX_BYTES = 32 * 1024 * 1024;
/** Of which nothing is kept but that they are counted. */
const MAX_COUNTED = 10_000;

/**
 * Windows whose export has failed, so that they need not be fetched again, and log records that have arrived are not sent
 * twice. When there are too many, or others need their memory, the oldest go; then they are fetched again. What stays known of these is that their
 * metrics are part of the sums already.
 */
export class KeptWindows {
  readonly #kept = new Map<string, Kept>();
  /** The source of each window that is counted and not committed. */
  readonly #counted = new Map<string, string>();
  #bytes = 0;

  /** @param release called when it is let go without having been taken */
  keep(source: string, id: string, gathered: Gathered, release: () => void): void {
    this.#kept.set(key(source, id), { source, gathered, release });
    this.#bytes += gathered.held;
    gathered.memory?.rest(() => this.drop(source, id));
    while (this.#kept.size > MAX_WINDOWS || this.#bytes > MAX_BYTES) {
      const [oldest] = this.#kept.keys();
      if (oldest === undefined) return;
      this.#letGo(oldest);
    }
  }

  take(source: string, id: string): Gathered | undefined {
    const kept = this.#kept.get(key(source, id));
    if (kept === undefined) return undefined;
    this.#kept.delete(key(source, id));
    this.#bytes -= kept.gathered.held;
    kept.gathered.memory?.wake();
    return kept.gathered;
  }

  has(source: string, id: string): boolean {
    return this.#kept.has(key(source, id));
  }

  drop(source: string, id: string): void {
    this.#letGo(key(source, id));
  }

  /** Its metrics are part of the sums, and must not be added again however often it is fetched. */
  noteCounted(source: string, id: string): void {
    this.#counted.set(key(source, id), source);
    const [oldest] = this.#counted.keys();
    if (oldest !== undefined && this.#counted.size > MAX_COUNTED) this.#counted.delete(oldest);
  }

  isCounted(source: string, id: string): boolean {
    return this.#counted.has(key(source, id));
  }

  committed(source: string, id: string): void {
    this.#counted.delete(key(source, id));
  }

  /** What was made with a configuration that has changed. */
  forget(source: string): void {
    for (const [key, kept] of this.#kept) if (kept.source === source) this.#letGo(key);
  }

  /** The sums of the source begin anew, or go on in another pod. */
  forgetSums(source: string): void {
    for (const [key, of] of this.#counted) if (of === source) this.#counted.delete(key);
  }

  #letGo(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#bytes -= kept.gathered.held;
    kept.release();
  }
}

const key = (source: string, id: string): string => JSON.stringify([source, id]);
