import { residentKib } from '../harness/proc.ts';
import { adapter, floor } from '../harness/targets.ts';
import { inTurn, withTarget, withUpstream } from './experiment.ts';
import type { Experiment } from './experiment.ts';

const targets = [
  floor('fastify-dispatch'),
  adapter({ name: 'adapter-memory', state: 'memory' }),
  adapter({ name: 'adapter-memory-built', state: 'memory', program: 'built' }),
  adapter({ name: 'adapter-disk', state: 'disk' }),
  adapter({ name: 'adapter-redis', state: 'redis' }),
];

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
          await withTarget(bench, record, upstream, target, async ({ startSeconds, pids }) => {
            bench.progress(`${round + 1}  ${target.name}  ${startSeconds.toFixed(3)} s`);
            record.sample({
              case: 'start',
              target: target.name,
              round,
              values: { startSeconds, residentMib: residentKib(pids).now / 1024 },
              calm: true,
            });
          });
        }
      }
    }),
};
