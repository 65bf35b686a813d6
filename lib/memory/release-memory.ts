import { trimMemory } from './trim-memory.ts';

/** Looks so often: a burst of two seconds is still one when it is over. */
const EVERY_MS = 3_000;
/** A program that takes more of a core than this is not quiet; four clients that poll take a tenth of a slow one. */
const BUSY = 0.25;
/**
 * So many looks in a row must have found it quiet, a minute: what has been compiled goes with the memory, and a service that has a
 * burst of calls now and then would compile it again for each.
 */
const QUIET_LOOKS = 20;
/** What has come since the last time is worth a pause of up to half a second where it is so much. */
const RISEN = 1.1;
const RISEN_BYTES = 16 << 20;

/**
 * Whether to give memory back now.
 * @param resident in bytes; `settled`: what it was after the last time, 0 before the first
 * @param quiet how many looks in a row have found the program quiet
 */
export function isWorthIt(resident: number, settled: number, quiet: number): boolean {
  return quiet >= QUIET_LOOKS && resident > settled * RISEN + RISEN_BYTES;
}

/**
 * Gives memory back to the system after a start, or a storm: V8 keeps what it had as long as a program does a little all the
 * time.
 */
export function releaseMemory(): Disposable {
  let settled = 0;
  let used = process.cpuUsage();
  let at = performance.now();
  let quiet = 0;
  const look = (): void => {
    const { user, system } = process.cpuUsage(used);
    const load = (user + system) / 1000 / (performance.now() - at);
    quiet = load < BUSY ? quiet + 1 : 0;
    if (isWorthIt(process.memoryUsage.rss(), settled, quiet)) {
      trimMemory();
      settled = process.memoryUsage.rss();
    }
    used = process.cpuUsage();
    at = performance.now();
  };
  const timer = setInterval(look, EVERY_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
