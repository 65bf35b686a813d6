import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, type HeapSpaceInfo } from 'node:v8';
import type { MetricDefinition } from './metric-definition.ts';

const SPACE = 'v8js.heap.space.name';
const MODE = 'cpu.mode';
/** Of the sampling timer, which is not in JavaScript and so measures it. */
const RESOLUTION_MS = 10;
/** Values are of a time that is over, at least this long, so that two readers do not take them from each other. */
const WINDOW_MS = 10_000;
const NS = 1e9;

const delay = <Statistic extends string>(statistic: Statistic, what: string) =>
  ({
    name: `nodejs.eventloop.delay.${statistic}`,
    instrument: 'gauge',
    unit: 's',
    description: `${what} of how much later than planned the event loop came round, in the last 10 seconds or more.`,
    attributes: [],
  }) as const satisfies MetricDefinition;

/** What every program of ours tells about its process, named by OpenTelemetry's conventions. */
export const NODE_METRICS = [
  delay('min', 'The least'),
  delay('max', 'The most'),
  delay('mean', 'The mean'),
  delay('stddev', 'The standard deviation'),
  delay('p50', 'The median'),
  delay('p90', 'The 90th percentile'),
  delay('p99', 'The 99th percentile'),
  {
    name: 'nodejs.eventloop.utilization',
    instrument: 'gauge',
    unit: '1',
    description: 'Share of the time that the event loop was busy, in the last 10 seconds or more.',
    attributes: [],
  },
  {
    name: 'v8js.memory.heap.used',
    instrument: 'upDownCounter',
    unit: 'By',
    description: 'Memory in use by space of the heap.',
    attributes: [SPACE],
  },
  {
    name: 'v8js.memory.heap.limit',
    instrument: 'upDownCounter',
    unit: 'By',
    description: 'Memory that V8 has reserved by space of the heap.',
    attributes: [SPACE],
  },
  {
    name: 'process.memory.usage',
    instrument: 'upDownCounter',
    unit: 'By',
    description: 'Memory of the process that is resident.',
    attributes: [],
  },
  {
    name: 'process.cpu.time',
    instrument: 'counter',
    unit: 's',
    description: 'Processor time that the process has used, by mode: user, system.',
    attributes: [MODE],
  },
] as const satisfies readonly MetricDefinition[];

type Name = (typeof NODE_METRICS)[number]['name'];
type Attributes = Readonly<Record<string, string>>;
type Values = Iterable<readonly [value: number, attributes: Attributes]>;

/** What has metrics observed: `read` is asked whenever somebody collects. */
export interface ObservationTarget {
  observe(metric: MetricDefinition, read: () => Values): void;
}

/** Has the process observed, until what is returned is disposed of. */
export function observeNode(target: ObservationTarget): Disposable {
  const loop = new LoopWatch();
  const readers: Readonly<Record<Name, () => Values>> = {
    'nodejs.eventloop.delay.min': () => one(loop.read().min),
    'nodejs.eventloop.delay.max': () => one(loop.read().max),
    'nodejs.eventloop.delay.mean': () => one(loop.read().mean),
    'nodejs.eventloop.delay.stddev': () => one(loop.read().stddev),
    'nodejs.eventloop.delay.p50': () => one(loop.read().p50),
    'nodejs.eventloop.delay.p90': () => one(loop.read().p90),
    'nodejs.eventloop.delay.p99': () => one(loop.read().p99),
    'nodejs.eventloop.utilization': () => one(loop.read().utilization),
    'v8js.memory.heap.used': () => spaces(({ space_used_size }) => space_used_size),
    'v8js.memory.heap.limit': () => spaces(({ space_size }) => space_size),
    'process.memory.usage': () => one(process.memoryUsage.rss()),
    'process.cpu.time': () => {
      const { user, system } = process.cpuUsage();
      return [
        [user / 1e6, { [MODE]: 'user' }],
        [system / 1e6, { [MODE]: 'system' }],
      ];
    },
  };
  for (const metric of NODE_METRICS) target.observe(metric, readers[metric.name]);
  return loop;
}

const one = (value: number): Values => [[value, {}]];

const spaces = (size: (space: HeapSpaceInfo) => number): Values =>
  getHeapSpaceStatistics().map((space) => [size(space), { [SPACE]: space.space_name }] as const);

interface Loop {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stddev: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly utilization: number;
}

/** Delay, in seconds, and utilization of the event loop, window by window. */
class LoopWatch implements Disposable {
  readonly #delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #utilization = performance.eventLoopUtilization();
  #since = performance.now();
  #last: Loop | undefined;

  constructor() {
    this.#delays.enable();
  }

  /** Of the last window that is complete; before there is one, of what there is. */
  read(): Loop {
    const isComplete = performance.now() - this.#since >= WINDOW_MS;
    if (this.#last !== undefined && !isComplete) return this.#last;
    const now = this.#current();
    if (isComplete) {
      this.#last = now;
      this.#since = performance.now();
      this.#utilization = performance.eventLoopUtilization();
      this.#delays.reset();
    }
    return now;
  }

  [Symbol.dispose](): void {
    this.#delays.disable();
  }

  #current(): Loop {
    const delays = this.#delays;
    // The timer's own period is part of what it measures, and a histogram without values has absurd ones.
    const late = (ns: number): number => (delays.count === 0 ? 0 : Math.max(0, ns / NS - RESOLUTION_MS / 1000));
    return {
      min: late(delays.min),
      max: late(delays.max),
      mean: late(delays.mean),
      stddev: delays.count === 0 ? 0 : delays.stddev / NS,
      p50: late(delays.percentile(50)),
      p90: late(delays.percentile(90)),
      p99: late(delays.percentile(99)),
      utilization: performance.eventLoopUtilization(this.#utilization).utilization,
    };
  }
}
