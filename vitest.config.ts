import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const node = { environment: 'node' as const, pool: 'forks' as const };

/** These tests start programs of their own, which need the other half of the cores. */
const startingPrograms = { maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)) };

/** The suites run one after the other (`groupOrder`), so that nothing competes with tests that watch the clock. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...node,
          name: 'unit',
          include: ['{crds,adapter,operator,scraper,scripts,bench}/**/*.test.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...node,
          name: 'contract',
          include: ['{adapter,operator,scraper}/**/*.contract.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
          sequence: { groupOrder: 1 },
          ...startingPrograms,
        },
      },
      {
        test: {
          ...node,
          name: 'e2e',
          include: ['e2e/**/*.e2e.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
          ...startingPrograms,
        },
      },
    ],
  },
});
