/** Pure: how far scrapes begin after their time, from when the API was asked. Times are in milliseconds. */
export interface SourceCalls {
  /** When its ticks come, from the start of the schedule, from 0 to the period. */
  readonly phaseMs: number;
  readonly times: readonly number[];
}

/**
 * How much later than its time the latest of all scrapes began. When the schedule started is not known, so the earliest
 * scrape counts as punctual. What comes in the first 0.4 of a period is left out: sources are also scraped at the start,
 * whatever their time, and then after half a period at the earliest.
 *
 * @throws when a source was not called at each tick
 */
export function latestStart(sources: readonly SourceCalls[], periodMs: number, ticks: number): number {
  const from = Math.min(...sources.flatMap(({ times }) => times)) + 0.4 * periodMs;
  const ticked = sources.map(({ phaseMs, times }) => ({
    phaseMs,
    times: times.filter((time) => time >= from).slice(0, ticks),
  }));
  const missing = ticked.filter(({ times }) => times.length < ticks).length;
  if (missing > 0) throw new Error(`${missing} sources were not called ${ticks} times`);
  const offsets = ticked.flatMap(({ phaseMs, times }) => times.map((time) => time - phaseMs));
  const [one = 0] = offsets;
  // On the circle of the period, seen from one of them.
  const around = offsets.map((offset) => modulo(offset - one + periodMs / 2, periodMs));
  return Math.max(...around) - Math.min(...around);
}

const modulo = (value: number, by: number): number => ((value % by) + by) % by;
