/** The first rounds warm up, and a collection of garbage may fall into any. */
const ROUNDS = 10;

/**
 * The time of the processor that something takes, in milliseconds; others on the machine do not matter. The least of
 * some rounds, or the first that is below `limit`.
 */
export function cpuMillis(limit: number, run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= limit; round++) {
    const before = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
