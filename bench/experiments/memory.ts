import { generateLoad } from '../harness/loadgen.ts';
import type { Load } from '../harness/loadgen.ts';
import { inspectorFlag } from '../harness/collect-garbage.ts';
import { forgetPeak, residentKib } from '../harness/proc.ts';
import { adapter, floor } from '../harness/targets.ts';
import type { RunningTarget } from '../harness/targets.ts';
import { withTarget, withUpstream } from './experiment.ts';
import type { Experiment, Recorder, Trial } from './experiment.ts';
import { heldKib, settledKib } from './settle.ts';

const node = floor('node-dispatch');
const memory = adapter({ name: 'adapter-memory', state: 'memory' });
const disk = adapter({ name: 'adapter-disk', state: 'disk' });
const redis = adapter({ name: 'adapter-redis', state: 'redis' });

/** Runs one load to its end; a wrong answer or a missing call is an error. */
async function complete(
  bench: Trial,
  target: RunningTarget,
  load: Pick<Load, 'scenario' | 'connections' | 'count' | 'seconds' | 'flags'> & { readonly mount?: 'main' | 'huge' },
): Promise<void> {
  const { mount = 'main', ...rest } = load;
  const result = await generateLoad(bench, { ...rest, urls: target.urls(mount), warmUp: 0, watch: [] });
  if (result.errors > 0) throw new Error(`${result.errors} wrong answers, the first: ${result.firstError}`);
  if (load.count !== undefined && result.calls < load.count) {
    throw new Error(`only ${result.calls} of ${load.count} calls within ${load.seconds} s`);
  }
}

const idleSessions = 10_000;

/**
 * What 10,000 sessions add to resident memory. As many before them, unmeasured, make the target's code and tables as
 * large as they get anyway.
 */
async function measureIdle(bench: Trial, record: Recorder, target: RunningTarget): Promise<void> {
  const open = async (listFirst: boolean): Promise<number> => {
    const flags = [`-list=${listFirst}`];
    await complete(bench, target, { scenario: 'idle', connections: 8, count: idleSessions, seconds: 180, flags });
    const kib = await heldKib(bench, target);
    bench.progress(`${target.name}  ${idleSessions} more sessions: ${(kib / 1024).toFixed(1)} MiB held`);
    return kib;
  };
  for (const listFirst of [false, true]) {
    let before = await open(listFirst);
    for (let round = 0; round < (bench.options.quick ? 1 : 2); round++) {
      const after = await open(listFirst);
      record.sample({
        case: listFirst ? 'idle, after tools/list' : 'idle',
        target: target.name,
        round,
        values: { sessionKib: (after - before) / idleSessions, residentMib: after / 1024 },
      });
      before = after;
    }
  }
}

export const idle: Experiment = {
  name: 'idle',
  summary: 'resident memory of 10,000 idle sessions',
  targets: [node, memory, disk, redis],
  goals: [memory, disk, redis].map(({ name: target }) => ({
    case: 'idle',
    target,
    metric: 'sessionKib',
    bound: { atMost: 4 },
  })),
  run: (bench, record, targets) =>
    withUpstream(bench, async (upstream) => {
      for (const target of targets) {
        await withTarget(bench, record, upstream, target, (one) => measureIdle(bench, record, one), [inspectorFlag]);
      }
    }),
};

/** A fresh process each time, warmed up by small calls, then one long result for a client that reads slowly. */
async function measureHuge(bench: Trial, record: Recorder, target: RunningTarget, round: number): Promise<void> {
  await complete(bench, target, { scenario: 'echo', connections: 16, seconds: 2 });
  const before = await settledKib(bench, target.pids);
  forgetPeak(target.pids);
  await complete(bench, target, { mount: 'huge', scenario: 'huge', connections: 1, count: 1, seconds: 60 });
  const { peak } = residentKib(target.pids);
  const peakGrowthMb = ((peak - before) * 1024) / 1e6;
  bench.progress(`${target.name}  grew by ${peakGrowthMb.toFixed(1)} MB at most`);
  record.sample({
    case: '100 MB',
    target: target.name,
    round,
    values: { peakGrowthMb, residentMib: before / 1024 },
  });
}

export const huge: Experiment = {
  name: 'huge',
  summary: 'peak memory while a 100 MB result passes to a slow client',
  targets: [node, memory],
  goals: [{ case: '100 MB', target: memory.name, metric: 'peakGrowthMb', bound: { atMost: 32 } }],
  run: (bench, record, targets) =>
    withUpstream(bench, async (upstream) => {
      for (let round = 0; round < Math.min(3, bench.options.rounds); round++) {
        for (const target of targets) {
          await withTarget(bench, record, upstream, target, (running) => measureHuge(bench, record, running, round));
        }
      }
    }),
};

/** Many calls must leave no more behind than some calls do. */
async function measureEndurance(bench: Trial, record: Recorder, target: RunningTarget): Promise<void> {
  const call = async (count: number): Promise<number> => {
    await complete(bench, target, { scenario: 'echo', connections: 16, count, seconds: 1800 });
    const kib = await heldKib(bench, target);
    bench.progress(`${target.name}  ${count} calls made: ${(kib / 1024).toFixed(0)} MiB held`);
    return kib;
  };
  const early = await call(100_000);
  const late = await call(900_000);
  record.sample({
    case: '1,000,000 calls',
    target: target.name,
    round: 0,
    values: { residentGrowth: late / early, residentMib: late / 1024 },
    details: { earlyKib: early, lateKib: late },
  });
}

export const endurance: Experiment = {
  name: 'endurance',
  summary: 'resident memory after 1,000,000 calls against that after 100,000',
  long: true,
  targets: [node, memory, disk, redis],
  goals: [memory, disk, redis].map(({ name: target }) => ({
    case: '1,000,000 calls',
    target,
    metric: 'residentGrowth',
    bound: { atMost: 1.1 },
  })),
  run: (bench, record, targets) =>
    withUpstream(bench, async (upstream) => {
      for (const target of targets) {
        const work = (running: RunningTarget): Promise<void> => measureEndurance(bench, record, running);
        await withTarget(bench, record, upstream, target, work, [inspectorFlag]);
      }
    }),
};
