import type { RateTaking } from '../call-limits.ts';

/*
 * The generic cell rate algorithm: a bucket is one number, the time at which it would be as good as new. A call moves it on
 * by an interval, and is refused where it would come to lie further ahead than a burst. All times are whole microseconds, so
 * that nothing is lost by rounding. `redis-limits.ts` says the same in Lua.
 */

/** Where these calls move a bucket. `free` is where it stands; one that is not there stands at 0. */
export const moved = (free: number, nowUs: number, { intervalUs, calls }: RateTaking): number =>
  Math.max(free, nowUs) + calls * intervalUs;

/** How long calls have to wait that would move a bucket there, in microseconds; 0: they may begin. */
export const waitUs = (next: number, nowUs: number, { intervalUs, burst }: RateTaking): number =>
  Math.max(0, next - nowUs - burst * intervalUs);
