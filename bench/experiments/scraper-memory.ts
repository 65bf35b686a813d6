import { setTimeout as sleep } from 'node:timers/promises';
import type { Source } from '../../crds/config/scraper-file/scraper.ts';
import { scheduleOf } from '../../scraper/times/next-run-time.ts';
import { collectGarbage, inspectorFlag, inspectorUrl } from '../harness/collect-garbage.ts';
import { freePort } from '../harness/bench.ts';
import { fleetConfig } from '../harness/scraper-config.ts';
import { startProgram, stateFolder, type ScraperTarget } from '../harness/scrapers.ts';
import type { Sink } from '../harness/sink.ts';
import type { Recorder, Trial } from './experiment.ts';
import { latestStart } from './late-starts.ts';
import { untilDelivered } from './scraper-delivery.ts';
import { heldKib, settledKib } from './settle.ts';

const SOURCES = 1000;
const PERIOD_MS = 30_000;
/** Time for the work of a tick to end. */
const AFTER_MS = 10_000;

/** Many sources with one period: what they hold in memory, and how long after its time the last one starts. */
export async function measureFleet(bench: Trial, record: Recorder, sink: Sink, target: ScraperTarget): Promise<void> {
  const ticks = bench.options.quick ? 1 : 4;
  await sink.reset(2);
  const folder = await stateFolder(bench);
  const config = fleetConfig(sink.origin, SOURCES, `${PERIOD_MS / 1000}s`, await freePort(), { folder });
  const { child } = await startProgram(bench, {
    name: target.name,
    program: target.built === true ? 'built' : 'source',
    config,
    folder,
  });
  try {
    await sleep((ticks + 1) * PERIOD_MS + AFTER_MS, undefined, { signal: bench.signal });
    if (child.ended) throw new Error(child.fate);
    const calls = Object.entries(await sink.calls());
    if (calls.length < SOURCES) throw new Error(`only ${calls.length} of ${SOURCES} sources were scraped`);
    const sources = calls.map(([name, times]) => ({ phaseMs: phaseOf(name), times }));
    const lateSeconds = latestStart(sources, PERIOD_MS, ticks) / 1000;
    const settledMb = ((await settledKib(bench, [child.pid])) * 1024) / 1e6;
    const values = { settledMb, lateSeconds };
    bench.progress(
      `${target.name}  ${SOURCES} sources: ${settledMb.toFixed(0)} MB, all start within ${lateSeconds.toFixed(2)} s`,
    );
    record.sample({ case: '1,000 sources', target: target.name, round: 0, values });
  } finally {
    await child.stop();
  }
}

/** When its ticks come: the schedule spreads sources of one period by their names. */
function phaseOf(name: string): number {
  const schedule = scheduleOf({ name, cron: null, frequency: PERIOD_MS, jitter: 0 } as Source, new Date(0));
  return schedule.next(new Date(-1))?.getTime() ?? Number.NaN;
}

const WINDOWS = 1000;
const EARLY = 100;

/** Many windows must leave no more behind than some do. The API keeps the hundredth waiting while memory is read. */
export async function measureManyWindows(
  bench: Trial,
  record: Recorder,
  sink: Sink,
  target: ScraperTarget,
): Promise<void> {
  const job = { records: 500, windows: WINDOWS, wait: 0, logs: true, fingerprints: false };
  await sink.reset(job.records);
  await sink.hold(EARLY);
  const folder = await stateFolder(bench);
  const running = await target.start(bench, { ...job, sink: sink.origin, folder }, [inspectorFlag]);
  const { child } = running;
  const held = (): Promise<number> =>
    heldKib(bench, {
      pids: [child.pid],
      async collectGarbage() {
        const url = inspectorUrl(child.log);
        if (url === undefined) throw new Error(`${target.name}: its inspector does not listen`);
        await collectGarbage(url, bench.signal);
      },
    });
  try {
    const deadline = performance.now() + 60_000;
    while ((await sink.report()).answered < EARLY) {
      if (child.ended) throw new Error(child.fate);
      if (performance.now() > deadline) throw new Error(`less than ${EARLY} windows within a minute`);
      await sleep(50, undefined, { signal: bench.signal });
    }
    const earlyKib = await held();
    await sink.release();
    const { complete, count } = await untilDelivered(bench, sink, child, job);
    if (!complete) throw new Error(`not everything was exported: ${JSON.stringify(count)}`);
    const lateKib = await held();
    const values = { windowsGrowth: lateKib / earlyKib, residentMib: lateKib / 1024 };
    bench.progress(
      `${target.name}  ${EARLY} windows: ${(earlyKib / 1024).toFixed(0)} MiB, ${WINDOWS}: ${(lateKib / 1024).toFixed(0)} MiB`,
    );
    record.sample({ case: '1,000 windows', target: target.name, round: 0, values, details: { earlyKib, lateKib } });
  } finally {
    await running.stop();
  }
}
