import { Slots } from './concurrency.ts';
import { Claims } from './gathered.ts';
import type { PreparedSource } from './prepared-source.ts';
import type { SourceState } from './state/ledger.ts';

/** What the runs of a source have in common. */
export class SourceMemory {
  prepared: PreparedSource;
  fetching: Slots;
  readonly claims = new Claims();
  /** Windows that are begun and not committed. */
  readonly inFlight = new Set<string>();
  /** Attempts at each window that failed because of the collector. */
  readonly collectorFailures = new Map<string, number>();
  /** Time has passed that no run has planned yet. */
  isPlanDue = false;
  /** From the last look at the ledger. */
  state: SourceState | undefined;
  stateReadAt = Number.NEGATIVE_INFINITY;

  constructor(prepared: PreparedSource) {
    this.prepared = prepared;
    this.fetching = new Slots(prepared.maxFetching);
  }

  reconfigure(prepared: PreparedSource): void {
    this.prepared = prepared;
    this.fetching = new Slots(prepared.maxFetching);
  }
}
