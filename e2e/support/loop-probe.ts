import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before a program (`node --import`): on SIGUSR2 it writes how long the event loop of its main thread was kept from
 * going on, at most, since the last time; see `loopGaps`.
 */
const STEP_MS = 2;

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

if (isMainThread) {
  let seen = performance.now();
  let used = cpuMs();
  let gap = 0;
  let busy = 0;
  const look = (): void => {
    const now = performance.now();
    const cpu = cpuMs();
    gap = Math.max(gap, now - seen);
    // Of a gap, what this thread has worked: the rest is other programs on a busy machine.
    busy = Math.max(busy, Math.min(now - seen, cpu - used));
    seen = now;
    used = cpu;
  };
  setInterval(look, STEP_MS).unref();
  process.on('SIGUSR2', () => {
    look();
    process.stdout.write(`${JSON.stringify({ probe: 'loop', gap_ms: gap, busy_ms: busy })}\n`);
    gap = 0;
    busy = 0;
  });
}
