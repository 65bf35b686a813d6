import { adapter, direct, floor } from '../harness/targets.ts';
import type { Target } from '../harness/targets.ts';
import type { Goal } from '../goals.ts';
import type { Experiment } from './experiment.ts';
import { runLoad } from './load.ts';
import type { LoadCase } from './load.ts';

const fastify = floor('fastify-dispatch');
const node = floor('node-dispatch');
const memory = adapter({ name: 'adapter-memory', state: 'memory' });
const built = adapter({ name: 'adapter-memory-built', state: 'memory', program: 'built' });
const disk = adapter({ name: 'adapter-disk', state: 'disk' });
const redis = adapter({ name: 'adapter-redis', state: 'redis' });

const echoCase = (connections: number): LoadCase => ({
  name: `echo c${connections}`,
  mount: 'main',
  scenario: 'echo',
  connections,
});

function loadExperiment(
  name: string,
  summary: string,
  targets: readonly Target[],
  cases: readonly LoadCase[],
  goals: readonly Goal[],
): Experiment {
  return { name, summary, targets, goals, run: (bench, record, present) => runLoad(bench, record, present, cases) };
}

/** `metric ≥ bound × target`, and so on. */
const toFloor = { target: fastify.name, how: 'ratio' } as const;
const overDirect = { target: direct.name, how: 'difference' } as const;
const toMemory = { target: memory.name, how: 'ratio' } as const;

const echoGoals = (target: string): Goal[] => [
  { case: 'echo c16', target, metric: 'perSecond', to: toFloor, bound: { atLeast: 0.8 } },
  { case: 'echo c64', target, metric: 'perSecond', to: toFloor, bound: { atLeast: 0.8 } },
  { case: 'echo c1', target, metric: 'p50', to: overDirect, bound: { atMost: 0.28 } },
  { case: 'echo c1', target, metric: 'p99', to: overDirect, bound: { atMost: 1 } },
  { case: 'echo c16', target, metric: 'p99', to: toFloor, bound: { atMost: 1.5 } },
  { case: 'echo c16', target, metric: 'cpuPer10k', to: toFloor, bound: { atMost: 1.3 } },
  { case: 'echo c16', target, metric: 'perSecond', to: { target: node.name, how: 'ratio' } },
];

export const echo = loadExperiment(
  'echo',
  'small tool calls at 1, 16 and 64 connections',
  [direct, node, fastify, memory, built],
  [echoCase(1), echoCase(16), echoCase(64)],
  [...echoGoals(memory.name), ...echoGoals(built.name)],
);

export const state = loadExperiment(
  'state',
  'the same with state in SQLite and in Redis, against memory',
  [memory, disk, redis],
  [echoCase(1), echoCase(16)],
  [
    { case: 'echo c16', target: disk.name, metric: 'perSecond', to: toMemory, bound: { atLeast: 0.85 } },
    { case: 'echo c16', target: redis.name, metric: 'perSecond', to: toMemory, bound: { atLeast: 0.7 } },
    {
      case: 'echo c1',
      target: redis.name,
      metric: 'p50',
      to: { target: memory.name, how: 'difference' },
      bound: { atMost: 0.4 },
    },
  ],
);

const floorAndAdapter = [direct, node, fastify, memory];

export const sessions = loadExperiment(
  'sessions',
  'session set-up: initialize, initialized, tools/list',
  floorAndAdapter,
  [{ name: 'session c8', mount: 'main', scenario: 'session', connections: 8 }],
  [{ case: 'session c8', target: memory.name, metric: 'perSecond', to: toFloor, bound: { atLeast: 0.7 } }],
);

export const catalog = loadExperiment(
  'catalog',
  'tools/list of 204 tools',
  floorAndAdapter,
  [{ name: 'list c8', mount: 'catalog', scenario: 'list', connections: 8, flags: ['-tools', '204'] }],
  [{ case: 'list c8', target: memory.name, metric: 'perSecond', to: toFloor, bound: { atLeast: 0.7 } }],
);

export const large = loadExperiment(
  'large',
  'results of 100 KB',
  floorAndAdapter,
  [{ name: '100 KB c8', mount: 'main', scenario: 'large', connections: 8 }],
  [{ case: '100 KB c8', target: memory.name, metric: 'perSecond', to: toFloor, bound: { atLeast: 0.9 } }],
);

export const events = loadExperiment(
  'events',
  'small tool calls that the upstream answers by event stream',
  floorAndAdapter,
  [{ name: 'events c16', mount: 'events', scenario: 'echo', connections: 16 }],
  [
    { case: 'events c16', target: memory.name, metric: 'perSecond', to: toFloor },
    { case: 'events c16', target: memory.name, metric: 'cpuPer10k', to: toFloor },
  ],
);

const replicaTargets = [1, 2, 3].map((replicas) =>
  adapter({ name: `adapter-redis × ${replicas}`, state: 'redis', replicas }),
);

export const replicas = loadExperiment(
  'replicas',
  "1, 2 and 3 replicas with Redis, each session's calls spread over all of them",
  replicaTargets,
  [echoCase(16)],
  replicaTargets.slice(1).flatMap(({ name: target }) =>
    (['perSecond', 'cpuPer10k'] as const).map((metric): Goal => ({
      case: 'echo c16',
      target,
      metric,
      to: { target: 'adapter-redis × 1', how: 'ratio' },
    })),
  ),
);
