import type { Mount } from '../floors/mounts.ts';
import { generateLoad } from '../harness/loadgen.ts';
import type { Load, LoadResult, Upstream } from '../harness/loadgen.ts';
import type { RunningTarget, Target } from '../harness/targets.ts';
import type { Sample } from '../samples.ts';
import { isCalm, takeCalmly } from './calm.ts';
import type { Taken } from './calm.ts';
import { inTurn, withUpstream } from './experiment.ts';
import type { Recorder, Trial } from './experiment.ts';

/** One kind of load, measured on every target of an experiment. */
export interface LoadCase {
  /** Short name, such as `echo c16`. */
  readonly name: string;
  readonly mount: Mount;
  readonly scenario: Load['scenario'];
  readonly connections: number;
  readonly flags?: readonly string[];
}

/**
 * Measures all cases on all targets: everything is started once, then every case is measured on one target after the
 * other, round after round.
 */
export async function runLoad(
  bench: Trial,
  record: Recorder,
  targets: readonly Target[],
  cases: readonly LoadCase[],
): Promise<void> {
  await withUpstream(bench, async (upstream) => {
    const running: RunningTarget[] = [];
    try {
      for (const target of targets) {
        try {
          running.push(await target.start(bench, upstream));
        } catch (error) {
          bench.signal.throwIfAborted();
          bench.progress(error instanceof Error ? error.message : String(error));
          record.failure(target.name, error);
        }
      }
      const broken = new Set<RunningTarget>();
      for (let round = 0; round < bench.options.rounds; round++) {
        for (const one of cases) {
          for (const target of inTurn(running, round)) {
            if (broken.has(target)) continue;
            try {
              record.sample(await takeSample(bench, upstream, target, one, round));
            } catch (error) {
              bench.signal.throwIfAborted();
              bench.progress(`${one.name} ${target.name}: ${error instanceof Error ? error.message : String(error)}`);
              record.failure(`${target.name}, ${one.name}`, error);
              broken.add(target);
            }
          }
        }
      }
    } finally {
      await Promise.all(running.map((target) => target.stop()));
    }
  });
}

export async function takeSample(
  bench: Trial,
  upstream: Upstream,
  target: RunningTarget,
  one: LoadCase,
  round: number,
): Promise<Sample> {
  return await takeCalmly(bench, async (attempt) => {
    const result = await generateLoad(bench, {
      urls: target.urls(one.mount),
      scenario: one.scenario,
      connections: one.connections,
      seconds: bench.options.seconds,
      // The first round also has to warm the target's code up.
      warmUp: round === 0 && attempt === 0 ? 2 * bench.options.warmUp : bench.options.warmUp,
      flags: one.flags,
      watch: [process.pid, upstream.pid, ...target.pids, ...target.helperPids],
    });
    if (result.errors > 0) throw new Error(`${result.errors} wrong answers, the first: ${result.firstError}`);
    if (result.calls === 0) throw new Error('no call ended in the measured time');
    const taken = { sample: toSample(target, one, round, result), foreignCores: foreignCores(result) };
    bench.progress(progressLine(taken, bench.options.rounds));
    return taken;
  });
}

/** Cores taken by work that is not ours; niced work gives way and is left out, stolen time is not. */
export function foreignCores(result: Pick<LoadResult, 'machine' | 'cpu' | 'ownCpu' | 'seconds'>): number {
  const { machine, cpu, ownCpu, seconds } = result;
  const ours = Object.values(cpu).reduce((sum, one) => sum + one, ownCpu);
  return Math.max(0, machine.busy + machine.steal - ours) / seconds;
}

function toSample(target: RunningTarget, one: LoadCase, round: number, result: LoadResult): Taken['sample'] {
  const spent = target.pids.reduce((sum, pid) => sum + (result.cpu[pid] ?? 0), 0);
  const helpers = target.helperPids.reduce((sum, pid) => sum + (result.cpu[pid] ?? 0), 0);
  return {
    case: one.name,
    target: target.name,
    round,
    values: {
      perSecond: result.perSecond,
      p50: result.p50,
      p99: result.p99,
      cpuPer10k: (spent / result.calls) * 10_000,
      ...(target.helperPids.length > 0 ? { helperCpuPer10k: (helpers / result.calls) * 10_000 } : {}),
    },
    details: {
      calls: result.calls,
      max: result.max,
      targetCores: spent / result.seconds,
      helperCores: helpers / result.seconds,
      generatorCores: result.ownCpu / result.seconds,
      nicedCores: result.machine.niced / result.seconds,
    },
  };
}

function progressLine(taken: Taken, rounds: number): string {
  const { case: name, target, values, round } = taken.sample;
  const { perSecond = 0, p50 = 0, p99 = 0, cpuPer10k = 0 } = values;
  const disturbed = isCalm(taken) ? '' : `  disturbed (${taken.foreignCores.toFixed(2)} cores)`;
  return (
    `${round + 1}/${rounds}  ${name.padEnd(12)} ${target.padEnd(20)} ${perSecond.toFixed(0).padStart(7)}/s` +
    `  p50 ${p50.toFixed(2)}  p99 ${p99.toFixed(2)} ms  cpu ${cpuPer10k.toFixed(2)} s/10k${disturbed}`
  );
}
