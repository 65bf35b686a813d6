/**
 * `node --import …/clock.ts`: a program whose clock is ahead by `CLOCK_AHEAD_MS` milliseconds. For leases that end by
 * themselves only.
 */
const ahead = Number(process.env['CLOCK_AHEAD_MS'] ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + ahead;
