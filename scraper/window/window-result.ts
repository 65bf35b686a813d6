import type { MemoryShare } from '../limits/memory-budget.ts';
import { Contribution, type TimeSpan } from '../output/contribution.ts';

/** A hash, in a list, a set and a transaction. */
export const BYTES_OF_A_FINGERPRINT = 256;

/** What the pages of one window come to. */
export class WindowResult {
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
