import { tidyMemory } from './tidy-memory.ts';

/** Looks so often. */
const EVERY_MS = 15_000;
/** A program that takes more of a core than this has better things to do. */
const BUSY = 0.5;
/** What has come since the last time is worth a pause of some tens of milliseconds where it is so much. */
const RISEN = 1.1;
const RISEN_BYTES = 16 << 20;

/**
 * Whether to give memory back now.
 * @param resident in bytes; `settled`: what it was after the last time, undefined before the first
 * @param load of one core, since the last look
 */
export function isWorthIt(resident: number, settled: number | undefined, load: number): boolean {
  return load < BUSY && (settled === undefined || resident > settled * RISEN + RISEN_BYTES);
}

/**
 * Gives memory back to the system after a start, or a storm: V8 keeps what it had as long as a program does a little all the
 * time.
 */
export function releaseMemory(everyMs = EVERY_MS): Disposable {
  let settled: number | undefined;
  let used = process.cpuUsage();
  let at = performance.now();
  const look = (): void => {
    const { user, system } = process.cpuUsage(used);
    const load = (user + system) / 1000 / (performance.now() - at);
    if (isWorthIt(process.memoryUsage.rss(), settled, load)) {
      tidyMemory();
      settled = process.memoryUsage.rss();
    }
    used = process.cpuUsage();
    at = performance.now();
  };
  const timer = setInterval(look, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
