import type { PreparedSource } from '../window/prepared-source.ts';
import type { RunRecord } from '../status.ts';
import type { FailureReport } from '../window/window-failure.ts';

/** Told what becomes of runs and windows, for metrics about the scraper itself. */
export interface RunObserver {
  ran(prepared: PreparedSource, run: RunRecord): void;
  /** An attempt has failed; `isDead`: it was the last. */
  failed(source: string, report: FailureReport, isDead: boolean): void;
  /** What had perhaps been delivered before has been delivered. */
  repeated(source: string, records: number): void;
  /** Records beyond `maxRecordsPerScrape`. */
  leftOut(source: string, records: number): void;
  /** Time beyond `maxCatchUp` or a fixed `rangeKeys.value`, in milliseconds. */
  notCaughtUp(source: string, milliseconds: number): void;
  /** A tick while the last run still went on. */
  skipped(source: string): void;
  /** The state cannot be used now. */
  stateFailed(): void;
}

/** For whoever wants to know nothing. */
export const unobserved: RunObserver = {
  ran: () => undefined,
  failed: () => undefined,
  repeated: () => undefined,
  leftOut: () => undefined,
  notCaughtUp: () => undefined,
  skipped: () => undefined,
  stateFailed: () => undefined,
};
