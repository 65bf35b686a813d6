import { Semaphore } from '../limits/semaphore.ts';
import { InFlightSet } from '../window/in-flight-set.ts';
import type { PreparedSource } from '../window/prepared-source.ts';
import type { SourceState, WindowKind } from '../state/ledger.ts';

/** What the runs of a source have in common. */
export class SourceMemory {
  prepared: PreparedSource;
  fetching: Semaphore;
  /** Fingerprints of records that are on their way. */
  readonly inFlightRecords = new InFlightSet();
  /** Windows that are begun and not committed. */
  readonly inFlight = new Map<string, WindowKind>();
  /** Windows, or `MOMENT`, of which the ledger knows from this process that their answers are read. */
  readonly begun = new Set<string>();
  /** Attempts at each window that failed because of the collector. */
  readonly collectorFailures = new Map<string, number>();
  /** Time has passed that no run has planned yet. */
  isPlanDue = false;
  /** From the last look at the ledger. */
  state: SourceState | undefined;
  stateReadAt = Number.NEGATIVE_INFINITY;
  /** That time counts as scraped which has not come yet. */
  aheadError: string | undefined;

  constructor(prepared: PreparedSource) {
    this.prepared = prepared;
    this.fetching = new Semaphore(prepared.maxFetching);
  }

  /** Only windows of a backfill run, which may go on for hours; what has just passed need not wait for them. */
  get isBackfilling(): boolean {
    return this.inFlight.size > 0 && [...this.inFlight.values()].every((kind) => kind === 'backfill');
  }

  reconfigure(prepared: PreparedSource): void {
    this.prepared = prepared;
    this.fetching = new Semaphore(prepared.maxFetching);
  }
}
