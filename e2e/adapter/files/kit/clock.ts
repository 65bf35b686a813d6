import { Redis } from 'ioredis';

/**
 * `node --import …/clock.ts`: a program whose clock is ahead by `CLOCK_AHEAD_MS` milliseconds, and for which that of
 * Redis is too: a replica that differs from it cleans nothing up. For leases that end by themselves only.
 */
const ahead = Number(process.env['CLOCK_AHEAD_MS'] ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + ahead;

Redis.prototype.time = async function timeAhead(this: Redis): Promise<number[]> {
  const [seconds, microseconds] = (await this.call('TIME')) as [string, string];
  return [Number(seconds) + ahead / 1000, Number(microseconds)];
};
