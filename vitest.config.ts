import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { QuietLast } from './e2e/cluster/quiet-last.ts';
import { PROFILED } from './scripts/suite/profile/cpu-time.ts';

/**
 * Processes and workers of the tests take from here what others have compiled: without it, half of what most programs
 * cost is to strip the types of their sources. Not in a folder that other users could write to.
 */
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node-compile');

const node = { environment: 'node' as const, pool: 'forks' as const };
const profile = process.env[PROFILED] === undefined ? [] : ['scripts/suite/profile/setup.ts'];
const searched = ['e2e/support/secrets/setup.ts', ...profile];

const cores = availableParallelism();
/** These tests start programs of their own, which need the other half of the cores. */
const startingPrograms = { maxWorkers: Math.max(2, Math.floor(cores / 2)) };
/** Half of their time and more they wait for something. */
const waiting = { maxWorkers: Math.max(4, Math.floor(cores / 2)) };

/**
 * The last word of a file's name says which suite it is of, and so who runs it:
 *
 * - `*.test.ts`, `*.contract.ts`, `*.e2e.ts`: `npm test`; they need Node and Redis
 * - `*.heavy.ts`, `*.cluster.ts`: only `npm run test:all`; they need a program that is compiled with Go, a browser,
 *   packages of another language, or more than 15 seconds of a processor (`npm test -- --profile` tells)
 *
 * The suites run one after the other, so that nothing competes with tests that watch the clock. (The order counts from
 * 1: vitest moves a project with order 0 and one worker to the end.)
 */
export default defineConfig({
  test: {
    sequence: { sequencer: QuietLast },
    projects: [
      {
        test: {
          ...node,
          name: 'unit',
          // Most files are shorter than the start of a process. None may leave anything behind: no module that is
          // mocked, no clock, no variable of the environment.
          isolate: false,
          include: ['{lib,crds,adapter,operator,scraper,scripts,bench}/**/*.test.ts'],
          setupFiles: profile,
          // Other suites run at the same time.
          testTimeout: 30_000,
          hookTimeout: 30_000,
          sequence: { groupOrder: 1 },
          // A third of their time they wait.
          maxWorkers: Math.max(4, cores - 1),
          // What a test makes is garbage soon: with more room for young objects, less of it is copied.
          execArgv: ['--max-semi-space-size=64', '--min-semi-space-size=32'],
        },
      },
      {
        test: {
          ...node,
          name: 'contract',
          include: ['{lib,crds,adapter,operator,scraper}/**/*.contract.ts'],
          setupFiles: profile,
          testTimeout: 30_000,
          hookTimeout: 30_000,
          sequence: { groupOrder: 2 },
          ...waiting,
        },
      },
      {
        test: {
          ...node,
          name: 'e2e',
          include: ['e2e/**/*.e2e.ts'],
          setupFiles: searched,
          globalSetup: ['e2e/support/programs/bundle.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
          ...waiting,
        },
      },
      {
        test: {
          ...node,
          name: 'heavy',
          include: ['{lib,crds,adapter,operator,scraper,e2e}/**/*.heavy.ts'],
          setupFiles: searched,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 4 },
          ...startingPrograms,
        },
      },
      {
        test: {
          ...node,
          name: 'cluster',
          include: ['e2e/**/*.cluster.ts'],
          setupFiles: searched,
          globalSetup: ['e2e/cluster/global-setup.ts'],
          // The first test starts the cluster.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 5 },
          // They share one cluster, and some of them stop parts of it.
          maxWorkers: 1,
        },
      },
    ],
  },
});
