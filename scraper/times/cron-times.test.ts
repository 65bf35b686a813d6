import { describe, expect, test } from 'vitest';
import { cronTimes } from './cron-times.ts';

/** The next times after one, shortened to what differs. */
const times = (cron: string, after: string, count = 1): string[] => {
  const found: string[] = [];
  let time: Date | undefined = new Date(after);
  for (let index = 0; index < count; index += 1) {
    time = time && cronTimes(cron).next(time);
    found.push(time?.toISOString().replace(/:00\.000Z$/, '') ?? 'never');
  }
  return found;
};

describe('the next time', () => {
  test.each([
    ['* * * * *', '2026-01-01T00:00:00Z', ['2026-01-01T00:01', '2026-01-01T00:02']],
    ['* * * * *', '2026-01-01T00:00:59.999Z', ['2026-01-01T00:01', '2026-01-01T00:02']],
    ['*/15 * * * *', '2026-01-01T00:01:00Z', ['2026-01-01T00:15', '2026-01-01T00:30']],
    ['5/20 9 * * *', '2026-01-01T09:06:00Z', ['2026-01-01T09:25', '2026-01-01T09:45', '2026-01-02T09:05']],
    ['0 0 1 * *', '2026-01-31T12:00:00Z', ['2026-02-01T00:00', '2026-03-01T00:00']],
    ['59 23 31 12 *', '2026-12-31T23:59:00Z', ['2027-12-31T23:59']],
    ['0 12 * * mon-fri', '2026-01-02T12:00:00Z', ['2026-01-05T12:00']],
    ['0 0 * * 7', '2026-01-01T00:00:00Z', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['0 0 * * sun', '2026-01-01T00:00:00Z', ['2026-01-04T00:00']],
    ['0 0 * FEB,Apr *', '2026-02-28T00:00:00Z', ['2026-04-01T00:00']],
    ['30,10 1-3/2 * * *', '2026-01-01T01:10:00Z', ['2026-01-01T01:30', '2026-01-01T03:10']],
    ['0 0 29 2 *', '2096-03-01T00:00:00Z', ['2104-02-29T00:00']],
  ])('%s after %s', (cron, after, expected) => {
    expect(times(cron, after, expected.length)).toEqual(expected);
  });

  test('day of month and day of week: either is enough when both are given', () => {
    expect(times('0 0 13 * fri', '2026-02-01T00:00:00Z', 3)).toEqual([
      '2026-02-06T00:00',
      '2026-02-13T00:00',
      '2026-02-20T00:00',
    ]);
    expect(times('0 0 */13 * fri', '2026-02-01T00:00:00Z')).toEqual(['2026-02-27T00:00']);
  });

  test('of a day that never comes: none', () => {
    expect(times('0 0 30 2 *', '2026-01-01T00:00:00Z')).toEqual(['never']);
  });
});
