import type { Row } from './layout.ts';
import { graph } from './panels.ts';
import type { PromQl } from './promql.ts';

const POD = ['job', 'instance'];
const NAME = '{{job}} {{instance}}';

/** Of the processes themselves, one line for each. */
export const processRow = (of: PromQl): Row => ({
  title: 'Processes',
  panels: [
    graph(
      'Delay of the event loop, p99',
      's',
      [{ expr: of.series('nodejs.eventloop.delay.p99'), legend: NAME }],
      'How late the process does what is due. Above a tenth of a second it has more work than one core can do.',
    ),
    graph(
      'Utilization of the event loop',
      'percentunit',
      [{ expr: of.series('nodejs.eventloop.utilization'), legend: NAME }],
      'Share of the time in which the process was busy. Near 100 % it needs more replicas.',
    ),
    graph(
      'Memory',
      'bytes',
      [
        { expr: of.series('process.memory.usage'), legend: `${NAME} resident` },
        {
          expr: `sum by (${POD.join(', ')}) (${of.series('v8js.memory.heap.used')})`,
          legend: `${NAME} heap`,
        },
      ],
      'What the process takes of its limit, and what of it is JavaScript.',
    ),
    graph(
      'Processor',
      'short',
      [{ expr: of.rate('process.cpu.time', POD), legend: NAME }],
      'Cores that the process keeps busy.',
    ),
  ],
});
