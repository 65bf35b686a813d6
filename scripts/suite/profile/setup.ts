import { afterAll } from 'vitest';
import { cpuSeconds } from './cpu-time.ts';

// Where files share a process, each begins where the one before it ended.
const shared = globalThis as { countedCpuSeconds?: number };

// oxlint-disable-next-line no-empty-pattern -- vitest reads from the pattern what a hook wants, which is nothing.
afterAll(({}, file) => {
  const before = shared.countedCpuSeconds ?? 0;
  shared.countedCpuSeconds = cpuSeconds();
  file.meta.cpuSeconds = shared.countedCpuSeconds - before;
});
