import { afterAll } from 'vitest';
import { cpuSeconds } from './cpu-time.ts';

// Where files share a process, each begins where the one before it ended.
const shared = globalThis as { countedCpuSeconds?: number };

afterAll((_context, file) => {
  const before = shared.countedCpuSeconds ?? 0;
  shared.countedCpuSeconds = cpuSeconds();
  file.meta.cpuSeconds = shared.countedCpuSeconds - before;
});
