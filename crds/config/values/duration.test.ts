import { describe, expect, test } from 'vitest';
import { duration, formatDuration, parseDuration } from './duration.ts';

describe('a duration', () => {
  test.each<[string, number]>([
    ['30s', 30_000],
    ['5min', 300_000],
    ['2m', 120_000],
    [' 5m ', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1w', 604_800_000],
    ['2mon', 5_184_000_000],
    ['007m', 420_000],
    ['0s', 0],
  ])('%j is %i ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  test.each(['', '5', 's', '1 h', '1.5h', '-1m', '+1m', '1M', '1H', '1h30m', '1ms', '1y', 'bad', '9007199254740993s'])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
      expect(duration({ orZero: true }).safeParse(text).success).toBe(false);
    },
  );

  test('of zero is allowed only where it means something', () => {
    expect(duration().safeParse('0s').success).toBe(false);
    expect(duration({ orZero: true }).parse('0s')).toBe(0);
  });

  test.each(['0s', '1s', '90s', '2min', '1h', '36h', '1d', '1w', '1mon'])('%s is shown as it was written', (text) => {
    expect(formatDuration(parseDuration(text) ?? Number.NaN)).toBe(text);
  });
});
