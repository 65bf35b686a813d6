import { readFileSync } from 'node:fs';
import { processSeconds, residentKib } from '../harness/proc.ts';
import type { ScrapeJob } from '../harness/scrape-job.ts';
import { scraper as scraperTarget, scraperFloor, stateFolder } from '../harness/scrapers.ts';
import type { ScraperTarget } from '../harness/scrapers.ts';
import { startSink, type Sink } from '../harness/sink.ts';
import type { Measurable } from '../harness/targets.ts';
import { isCalm, machineBusySeconds, takeCalmly } from './calm.ts';
import type { Taken } from './calm.ts';
import { inTurn } from './experiment.ts';
import type { Experiment, Recorder, Trial } from './experiment.ts';
import { recordsOf, untilDelivered } from './scraper-delivery.ts';
import { measureFleet, measureManyWindows } from './scraper-memory.ts';

const sqlite = scraperTarget({ name: 'scraper-sqlite', state: 'sqlite' });
const built = scraperTarget({ name: 'scraper-built', state: 'sqlite', program: 'built' });
const redis = scraperTarget({ name: 'scraper-redis', state: 'redis' });
const all = [scraperFloor, sqlite, built, redis];

type PageCase = Omit<ScrapeJob, 'sink' | 'folder'> & {
  readonly name: string;
  readonly targets: readonly ScraperTarget[];
};

const plain = { windows: 0, wait: 0, logs: false, fingerprints: false };

const METRICS: PageCase = { ...plain, name: '10,000 records, metrics', records: 10_000, targets: all };
const LOGS: PageCase = { ...METRICS, name: '10,000 records, logs too', logs: true };
const UNSEEN: PageCase = { ...METRICS, name: '10,000 records, delta detection', fingerprints: true };
const LARGE: PageCase = {
  ...METRICS,
  name: '100,000 records, metrics',
  records: 100_000,
  targets: [scraperFloor, sqlite],
};
const BACKFILL: PageCase = {
  ...plain,
  name: '100 windows of 500, metrics',
  records: 500,
  windows: 100,
  wait: 50,
  targets: [scraperFloor, sqlite, redis],
};
const BACKFILL_LOGS: PageCase = { ...BACKFILL, name: '100 windows of 500, logs too', logs: true };

const cases: readonly PageCase[] = [METRICS, LOGS, UNSEEN, LARGE, BACKFILL, BACKFILL_LOGS];

const seconds = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + processSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8')), 0);

/** One fresh process each time, and everything that the configured scrape brings: first request to last export. */
async function measurePage(
  bench: Trial,
  sink: Sink,
  target: ScraperTarget,
  one: PageCase,
  round: number,
): Promise<Taken> {
  const { name, targets: _, ...rest } = one;
  const expected = recordsOf(one);
  await sink.reset(one.records);
  const own = [process.pid, sink.pid];
  const before = { machine: machineBusySeconds(), own: seconds(own), at: performance.now() };
  const running = await target.start(bench, { ...rest, sink: sink.origin, folder: await stateFolder(bench) });
  try {
    const { report, count, complete } = await untilDelivered(bench, sink, running.child, one);
    const { firstRequest = Number.NaN, lastExport = Number.NaN } = report;
    if (one.windows > 0 && report.windows < one.windows)
      throw new Error(`only ${report.windows} windows were asked for`);
    if (!complete && !one.logs) throw new Error(`not everything was exported: ${JSON.stringify(count)}`);
    const committed = (await running.committedAt(lastExport)) ?? lastExport;
    // Fingerprints are written with the commit; the floor has written them before it exports.
    const done = one.fingerprints ? committed : lastExport;
    const busy = seconds([running.child.pid, ...running.helperPids]);
    const wall = (performance.now() - before.at) / 1000;
    const foreignCores = Math.max(0, machineBusySeconds() - before.machine - (seconds(own) - before.own) - busy) / wall;
    const delivered = one.logs ? count.logs : expected;
    const recordsPerSecond = delivered / ((Math.max(done, lastExport) - firstRequest) / 1000);
    const values = {
      recordsPerSecond,
      firstRequestSeconds: (firstRequest - running.startedAt) / 1000,
      busySeconds: seconds([running.child.pid]),
      peakMb: (residentKib([running.child.pid]).peak * 1024) / 1e6,
      ...(one.logs ? { logsDelivered: count.logs / expected } : {}),
    };
    const details = {
      ...report,
      ...count,
      exportedAfterMs: lastExport - firstRequest,
      committedAfterMs: committed - firstRequest,
    };
    const taken = { sample: { case: name, target: target.name, round, values, details }, foreignCores };
    const disturbed = isCalm(taken) ? '' : `  disturbed (${foreignCores.toFixed(2)} cores)`;
    bench.progress(
      `${round + 1}  ${name.padEnd(31)} ${target.name.padEnd(14)} ${recordsPerSecond.toFixed(0).padStart(7)} records/s` +
        `  start ${values.firstRequestSeconds.toFixed(2)} s${disturbed}`,
    );
    return taken;
  } finally {
    await running.stop();
  }
}

async function measurePages(
  bench: Trial,
  record: Recorder,
  sink: Sink,
  present: ReadonlySet<Measurable>,
): Promise<void> {
  for (let round = 0; round < bench.options.rounds; round++) {
    for (const one of cases) {
      const targets = one.targets.filter((target) => present.has(target));
      for (const target of inTurn(targets, round)) {
        try {
          record.sample(await takeCalmly(bench, () => measurePage(bench, sink, target, one, round)));
        } catch (error) {
          bench.signal.throwIfAborted();
          record.failure(target.name, error);
        }
      }
    }
  }
}

const ofFloor = (one: PageCase, target: ScraperTarget, bound?: number) => ({
  case: one.name,
  target: target.name,
  metric: 'recordsPerSecond' as const,
  to: { target: scraperFloor.name, how: 'ratio' as const },
  ...(bound === undefined ? {} : { bound: { atLeast: bound } }),
});

/** Records in, metrics and logs out, against the least that it takes; memory of many sources and of many windows. */
export const scraper: Experiment<Measurable> = {
  name: 'scraper',
  summary: 'JSON pages to OTLP: records/s, start, 1,000 sources, 1,000 windows',
  targets: all,
  goals: [
    ...[sqlite, built].flatMap((target) => [
      ofFloor(METRICS, target, 0.5),
      ofFloor(LOGS, target, 0.6),
      { case: LOGS.name, target: target.name, metric: 'logsDelivered' as const, bound: { atLeast: 1 } },
      ofFloor(UNSEEN, target, 0.4),
    ]),
    ofFloor(UNSEEN, redis, 0.3),
    ofFloor(LARGE, sqlite),
    ...[BACKFILL, BACKFILL_LOGS].flatMap((one) => [ofFloor(one, sqlite), ofFloor(one, redis)]),
    ...[sqlite, built].map(({ name }) => ({
      case: METRICS.name,
      target: name,
      metric: 'firstRequestSeconds' as const,
      bound: { atMost: 0.7 },
    })),
    { case: '1,000 sources', target: built.name, metric: 'settledMb', bound: { atMost: 150 } },
    { case: '1,000 sources', target: built.name, metric: 'lateSeconds', bound: { atMost: 1 } },
    { case: '1,000 windows', target: built.name, metric: 'windowsGrowth', bound: { atMost: 1.1 } },
  ],
  async run(bench, record, present) {
    const sink = await startSink(bench);
    try {
      await measurePages(bench, record, sink, new Set(present));
      for (const measure of [measureFleet, measureManyWindows]) {
        if (!present.includes(built)) break;
        try {
          await measure(bench, record, sink, built);
        } catch (error) {
          bench.signal.throwIfAborted();
          record.failure(built.name, error);
        }
      }
    } finally {
      await sink.stop();
    }
  },
};
