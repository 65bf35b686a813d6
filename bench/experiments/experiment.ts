import type { Goal } from '../goals.ts';
import type { Bench } from '../harness/bench.ts';
import { startUpstream } from '../harness/loadgen.ts';
import type { Upstream } from '../harness/loadgen.ts';
import type { Measurable, RunningTarget, Target } from '../harness/targets.ts';
import type { Options } from '../options.ts';
import type { Sample } from '../samples.ts';

/** What an experiment works with. */
export interface Trial extends Bench {
  readonly options: Options;
}

/** One question to the machine: what is run, and what must come out. */
export interface Experiment<T extends Measurable = Target> {
  readonly name: string;
  readonly summary: string;
  readonly long?: boolean;
  readonly targets: readonly T[];
  readonly goals: readonly Goal[];
  run(bench: Trial, record: Recorder, targets: readonly T[]): Promise<void>;
}

/** Collects what an experiment finds. */
export class Recorder {
  readonly samples: Sample[] = [];
  readonly failures: string[] = [];

  sample(sample: Sample): void {
    this.samples.push(sample);
  }

  /** Something broke; the experiment goes on without it. */
  failure(target: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.failures.push(message.startsWith(`${target}: `) ? message : `${target}: ${message}`);
  }
}

/** Every other round goes backwards, so that no target always follows the same neighbour. */
export function inTurn<T>(items: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...items] : items.toReversed();
}

/** Runs the work with an upstream that is stopped afterwards. */
export async function withUpstream(bench: Bench, work: (upstream: Upstream) => Promise<void>): Promise<void> {
  const upstream = await startUpstream(bench, bench.cores.load);
  try {
    await work(upstream);
  } finally {
    await upstream.stop();
  }
}

/** Runs the work with a freshly started target that is stopped afterwards; a failure is recorded. */
export async function withTarget(
  bench: Bench,
  record: Recorder,
  upstream: Upstream,
  target: Target,
  work: (running: RunningTarget) => Promise<void>,
  nodeFlags: readonly string[] = [],
): Promise<void> {
  try {
    const running = await target.start(bench, upstream, nodeFlags);
    try {
      await work(running);
    } finally {
      await running.stop();
    }
  } catch (error) {
    bench.signal.throwIfAborted();
    bench.progress(`${target.name}: ${error instanceof Error ? error.message : String(error)}`);
    record.failure(target.name, error);
  }
}
