import { readFileSync } from 'node:fs';
import type { Upstream } from '../harness/loadgen.ts';
import { processSeconds, residentKib } from '../harness/proc.ts';
import { adapter, floor } from '../harness/targets.ts';
import type { Target } from '../harness/targets.ts';
import { isCalm, machineBusySeconds, takeCalmly } from './calm.ts';
import type { Taken } from './calm.ts';
import { inTurn, withUpstream } from './experiment.ts';
import type { Experiment, Trial } from './experiment.ts';

const targets = [
  floor('fastify-dispatch'),
  adapter({ name: 'adapter-memory', state: 'memory' }),
  adapter({ name: 'adapter-memory-built', state: 'memory', program: 'built' }),
  adapter({ name: 'adapter-disk', state: 'disk' }),
  adapter({ name: 'adapter-redis', state: 'redis' }),
];

/** CPU seconds of processes since each was started. */
function spentSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + processSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8')), 0);
}

async function measureStart(bench: Trial, upstream: Upstream, target: Target, round: number): Promise<Taken> {
  const own = [process.pid, upstream.pid];
  const before = { machine: machineBusySeconds(), own: spentSeconds(own), at: performance.now() };
  const running = await target.start(bench, upstream);
  try {
    const seconds = (performance.now() - before.at) / 1000;
    const ours = spentSeconds(own) - before.own + spentSeconds([...running.pids, ...running.helperPids]);
    const foreignCores = Math.max(0, machineBusySeconds() - before.machine - ours) / seconds;
    const { startSeconds, pids } = running;
    const values = { startSeconds, residentMib: residentKib(pids).now / 1024 };
    const taken = { sample: { case: 'start', target: target.name, round, values }, foreignCores };
    const disturbed = isCalm(taken) ? '' : `  disturbed (${foreignCores.toFixed(2)} cores)`;
    bench.progress(`${round + 1}  ${target.name.padEnd(20)} ${startSeconds.toFixed(3)} s${disturbed}`);
    return taken;
  } finally {
    await running.stop();
  }
}

/** The time from starting a process to its first good /livez, which opens before any upstream is reached. */
export const startup: Experiment = {
  name: 'startup',
  summary: 'start to first 200 of /livez',
  targets,
  goals: targets.slice(1).map(({ name: target }) => ({
    case: 'start',
    target,
    metric: 'startSeconds',
    bound: { atMost: 0.7 },
  })),
  run: (bench, record, present) =>
    withUpstream(bench, async (upstream) => {
      for (let round = 0; round < Math.max(bench.options.rounds, bench.options.quick ? 1 : 5); round++) {
        for (const target of inTurn(present, round)) {
          try {
            record.sample(await takeCalmly(bench, () => measureStart(bench, upstream, target, round)));
          } catch (error) {
            bench.signal.throwIfAborted();
            record.failure(target.name, error);
          }
        }
      }
    }),
};
