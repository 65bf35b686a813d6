/** What a timer can wait: longer ones would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Seconds of a configuration as timers take them: whole milliseconds, 0 only for 0, and no more than a timer can wait. */
export function timerMs(seconds: number): number {
  const ms = seconds > 0 ? Math.max(1, Math.round(seconds * 1000)) : 0;
  return Math.min(ms, LONGEST_TIMER_MS);
}
