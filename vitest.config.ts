import { defineConfig } from 'vitest/config';

const node = { environment: 'node' as const, pool: 'forks' as const };

export default defineConfig({
  test: {
    projects: [
      { test: { ...node, name: 'unit', include: ['{crds,adapter,operator,scraper,scripts}/**/*.test.ts'] } },
      {
        test: {
          ...node,
          name: 'contract',
          include: ['{adapter,operator,scraper}/**/*.contract.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: { ...node, name: 'e2e', include: ['e2e/**/*.e2e.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
      },
    ],
  },
});
