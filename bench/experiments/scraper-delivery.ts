import { setTimeout as sleep } from 'node:timers/promises';
import type { ScrapeJob } from '../harness/scrape-job.ts';
import type { Child } from '../harness/processes.ts';
import type { Sink } from '../harness/sink.ts';
import type { SinkCount, SinkReport } from '../sink/report.ts';
import type { Trial } from './experiment.ts';

const LIMIT_MS = 90_000;
/** So long must the collector have been quiet for it to be worth a count. */
const QUIET_MS = 250;

export interface Delivered {
  readonly report: SinkReport;
  readonly count: SinkCount;
  /** Nothing is missing. */
  readonly complete: boolean;
}

/** How many records a job brings. */
export const recordsOf = ({ records, windows }: Pick<ScrapeJob, 'records' | 'windows'>): number =>
  records * Math.max(1, windows);

/** Waits until all that was asked for has arrived; what is missing after the limit is missing. */
export async function untilDelivered(
  bench: Trial,
  sink: Sink,
  child: Child,
  one: Pick<ScrapeJob, 'records' | 'windows' | 'logs'>,
): Promise<Delivered> {
  const expected = recordsOf(one);
  const deadline = performance.now() + LIMIT_MS;
  let counted = 0;
  for (;;) {
    await sleep(20, undefined, { signal: bench.signal });
    if (child.ended) throw new Error(child.fate);
    const report = await sink.report();
    const { lastExport = report.now, exports } = report;
    const isQuiet = report.answered >= Math.max(1, one.windows) && report.now - lastExport > QUIET_MS;
    const isLate = performance.now() > deadline;
    if (!isLate && (!isQuiet || exports === counted)) continue;
    counted = exports;
    const count = await sink.count();
    const { 'bench.events': events, 'bench.duration': duration, 'bench.usage': usage } = count.metrics;
    if (events !== undefined && events.total > expected)
      throw new Error(`${events.total} events of ${expected} records`);
    const hasMetrics = events?.total === expected && duration?.total === expected && usage !== undefined;
    const complete = hasMetrics && count.logs === (one.logs ? expected : 0);
    if (complete || isLate) return { report, count, complete };
  }
}
