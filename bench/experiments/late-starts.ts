/** Pure: how far scrapes begin after their time, from when the API was asked. Times are in milliseconds. */
export interface LateStarts {
  /** Of the last source in the worst tick, after the time of that tick. */
  readonly afterTimeMs: number;
  /** Of the first source in the worst tick, by how much it differs from its time. */
  readonly firstMs: number;
}

/**
 * All sources have one period, and begin together at the start; that first round is left out, because it begins whenever
 * the program is ready. The first request of the first tick tells the time of all ticks.
 *
 * @param calls of each source, in order; the first is that of the start
 * @throws when a source has not been called at each tick
 */
export function latestStart(calls: readonly (readonly number[])[], periodMs: number, ticks: number): LateStarts {
  const rounds = Array.from({ length: ticks }, (_, tick) =>
    calls.map((times) => times[tick + 1] ?? Number.POSITIVE_INFINITY),
  );
  const missing = rounds.at(-1)?.filter((time) => time === Number.POSITIVE_INFINITY).length ?? 0;
  if (missing > 0) throw new Error(`${missing} sources were not called ${ticks + 1} times`);
  const origin = Math.min(...(rounds[0] ?? []));
  const after = rounds.map((times, tick) => times.map((time) => time - origin - tick * periodMs));
  return {
    afterTimeMs: Math.max(...after.map((times) => Math.max(...times))),
    firstMs: Math.max(...after.map((times) => Math.abs(Math.min(...times)))),
  };
}
