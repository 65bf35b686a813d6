import type { PreparedSource } from '../window/prepared-source.ts';
import { nextRange, split } from '../requests/windows.ts';
import type { SourceState, WindowRange } from '../state/ledger.ts';

/** What a run adds to the ledger. */
export interface Plan {
  /** Where the plan before it ended; undefined: there was none. */
  readonly from: Date | undefined;
  readonly windows: readonly WindowRange[];
  readonly until: Date;
  /** What is too old to be caught up. */
  readonly skipped?: WindowRange | undefined;
  /** There is more to plan when these are done. */
  readonly more: boolean;
  /** It is the first run of a source without `runFirstScrape`: only the time is remembered. */
  readonly gated: boolean;
}

/** Windows that are planned at a time: a year in windows of a minute is half a million. */
const WINDOWS_AT_ONCE = 500;
/** Nothing is added to this many open windows: what is not planned yet stays in `plannedUntil`. */
const MAX_OPEN = 1000;

/**
 * What is to be planned now; undefined: nothing. A range is planned as far as `lag` lets it, a source that has only a
 * present as one moment.
 *
 * @param periodMs time between two scrapes, for a first one
 */
export function planOf(
  prepared: PreparedSource,
  state: SourceState | undefined,
  now: Date,
  periodMs: number,
): Plan | undefined {
  const { source, isRange } = prepared;
  const planned = state?.plannedUntil;
  if (planned === undefined && !source.runFirstScrape) {
    const until = new Date(now.getTime() - source.scrape.lag);
    return { from: undefined, windows: [], until, more: false, gated: true };
  }
  if ((state?.openWindows ?? 0) >= MAX_OPEN) return undefined;
  if (!isRange) return momentAfter(planned, now);
  if (planned !== undefined) {
    const range = nextRange(planned, now, source.scrape);
    return range && rangePlan(prepared, planned, range);
  }
  const to = new Date(now.getTime() - source.scrape.lag);
  const from = prepared.firstStart(to, periodMs);
  return from < to ? rangePlan(prepared, undefined, { from, to, skipped: undefined }) : undefined;
}

/** Two moments are never the same, even if the clock stands still or goes backwards. */
function momentAfter(planned: Date | undefined, now: Date): Plan {
  const moment = new Date(Math.max(now.getTime(), (planned?.getTime() ?? 0) + 1));
  return { from: planned, windows: [{ start: moment, end: moment }], until: moment, more: false, gated: false };
}

function rangePlan(
  { windowSize: size }: PreparedSource,
  planned: Date | undefined,
  { from, to, skipped }: { from: Date; to: Date; skipped: WindowRange | undefined },
): Plan {
  const windows = split({ from, to, size, limit: WINDOWS_AT_ONCE });
  const until = windows.at(-1)?.end ?? to;
  return { from: planned, windows, until, skipped, more: until < to, gated: false };
}
