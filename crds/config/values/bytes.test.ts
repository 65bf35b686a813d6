import { describe, expect, it } from 'vitest';
import { bytes, parseBytes } from './bytes.ts';

describe('parseBytes', () => {
  it.each([
    ['0', 0],
    ['1000', 1000],
    ['1000B', 1000],
    ['10b', 10],
    ['10K', 10_000],
    ['10KB', 10_000],
    ['10Ki', 10_240],
    ['10KiB', 10_240],
    ['5M', 5_000_000],
    ['5MB', 5_000_000],
    ['50Mi', 52_428_800],
    ['50MiB', 52_428_800],
    ['1G', 1_000_000_000],
    ['1GB', 1_000_000_000],
    ['100Gi', 107_374_182_400],
    ['1GiB', 1_073_741_824],
    ['2T', 2_000_000_000_000],
    ['2TB', 2_000_000_000_000],
    ['1Ti', 1_099_511_627_776],
    ['1TiB', 1_099_511_627_776],
    ['10mi', 10_485_760],
    ['10MIB', 10_485_760],
    ['10kIb', 10_240],
    [' 10  Mi ', 10_485_760],
    ['007K', 7000],
  ])('%s is %d bytes', (text, size) => {
    expect(parseBytes(text)).toBe(size);
  });

  it.each([
    '',
    ' ',
    'Mi',
    '1.5Mi',
    '-1',
    '+1',
    '1_000',
    '10P',
    '10Pi',
    '10i',
    '10iB',
    '10 M i',
    '10MM',
    '10BB',
    '1e3',
    '٣',
    '10Mi!',
  ])('%j is not a size', (text) => {
    expect(parseBytes(text)).toBeUndefined();
  });
});

describe('bytes', () => {
  it('takes integers and texts', () => {
    expect(bytes({ min: 1 }).parse(4096)).toBe(4096);
    expect(bytes({ min: 1 }).parse('4Ki')).toBe(4096);
  });

  it('takes the same texts as parseBytes', () => {
    expect(bytes({ min: 0 }).safeParse('10i').success).toBe(false);
    expect(bytes({ min: 0 }).parse(' 10 kib ')).toBe(10_240);
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '9007199254740993', '10000T', true, null, {}])(
    'refuses %j',
    (value) => {
      expect(bytes({ min: 0 }).safeParse(value).success).toBe(false);
    },
  );

  it('refuses 0 where something is needed, however it is written', () => {
    for (const value of [0, '0', '0Gi']) {
      expect(bytes({ min: 0 }).parse(value)).toBe(0);
      expect(bytes({ min: 1 }).safeParse(value).error?.issues[0]?.message).toContain('more than 0');
    }
  });
});
