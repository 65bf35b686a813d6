import { describe, expect, test } from 'vitest';
import { loadScraper, scraperSampleWith } from '../../crds/config/testing/scraper-sample.ts';
import { firstStart, nextRange, split, timeMode, timePattern, windowSize } from './windows.ts';

const at = (time: string): Date => new Date(`2025-11-28T${time}:00Z`);
const MINUTE = 60_000;

function scrapeWith(values: Record<string, unknown>) {
  const source = loadScraper(scraperSampleWith(values)).sources[0];
  if (source === undefined) throw new Error('the sample has no source');
  return source.scrape;
}

const spans = (windows: readonly { start: Date; end: Date }[]): string[] =>
  windows.map(({ start, end }) => [start, end].map((time) => time.toISOString().slice(11, 16)).join('-'));

describe('a range', () => {
  test('is cut into contiguous windows, the last one shortened', () => {
    const windows = split({ from: at('00:00'), to: at('00:05'), size: 2 * MINUTE });
    expect(spans(windows)).toEqual(['00:00-00:02', '00:02-00:04', '00:04-00:05']);
  });

  test('stays whole without a size', () => {
    expect(spans(split({ from: at('00:00'), to: at('12:00'), size: null }))).toEqual(['00:00-12:00']);
  });

  test('that is empty, or runs backwards, has no windows', () => {
    for (const size of [null, MINUTE]) {
      expect(split({ from: at('01:00'), to: at('01:00'), size })).toEqual([]);
      expect(split({ from: at('01:00'), to: at('00:00'), size })).toEqual([]);
    }
  });

  test('of a year in minutes gives no more windows than asked for', () => {
    const to = new Date(at('00:00').getTime() + 365 * 1440 * MINUTE);
    const windows = split({ from: at('00:00'), to, size: MINUTE, limit: 3 });
    expect(spans(windows)).toEqual(['00:00-00:01', '00:01-00:02', '00:02-00:03']);
  });
});

test('windows are cut only where their times are sent', () => {
  const parallelWindow = { unit: 'hours', value: 6 };
  expect(windowSize(scrapeWith({ 'source.scrape.parallelWindow': parallelWindow }))).toBe(360 * MINUTE);
  expect(windowSize(scrapeWith({}))).toBeNull();
  const rangeKeys = { unit: 'days' };
  expect(
    windowSize(scrapeWith({ 'source.scrape.parallelWindow': parallelWindow, 'source.scrape.rangeKeys': rangeKeys })),
  ).toBeNull();
});

test.each([
  [{ startKey: 'a', endKey: 'b' }, 'explicit'],
  [{ startKey: 'a', endKey: 'b', unit: 'days' }, 'explicit'],
  [{ startKey: 'a', unit: 'days' }, 'relative'],
  [{ startKey: 'a' }, 'none'],
  [{ startKey: 'a', endKey: '' }, 'none'],
  [{}, 'none'],
])('rangeKeys %j: times are %s', (rangeKeys, mode) => {
  expect(timeMode(scrapeWith({ 'source.scrape.rangeKeys': rangeKeys }))).toBe(mode);
});

test('an instant source sends no times', () => {
  expect(timeMode({ ...scrapeWith({}), type: 'instant' })).toBe('none');
});

describe('what is planned next', () => {
  const NONE = { lag: 0, maxCatchUp: null };

  test('reaches from the end of the last plan to now', () => {
    expect(nextRange(at('01:00'), at('02:00'), NONE)).toEqual({ from: at('01:00'), to: at('02:00') });
  });

  test('stays behind now by the lag', () => {
    expect(nextRange(at('01:00'), at('02:00'), { ...NONE, lag: 10 * MINUTE })?.to).toEqual(at('01:50'));
    expect(nextRange(at('01:55'), at('02:00'), { ...NONE, lag: 10 * MINUTE })).toBeUndefined();
  });

  test('leaves out what is too old, and says so', () => {
    expect(nextRange(at('01:00'), at('09:00'), { lag: 0, maxCatchUp: 120 * MINUTE })).toEqual({
      from: at('07:00'),
      to: at('09:00'),
      skipped: { start: at('01:00'), end: at('07:00') },
    });
  });

  test('is nothing when the clock went backwards', () => {
    expect(nextRange(at('02:00'), at('01:00'), NONE)).toBeUndefined();
    expect(nextRange(at('02:00'), at('02:00'), NONE)).toBeUndefined();
  });
});

describe('the first scrape', () => {
  test.each([
    ['2025-01-01T02:00:00+02:00', '%Y-%m-%dT%H:%M:%S%z', '2025-01-01T00:00:00.000Z'],
    ['01.02.2025', '%d.%m.%Y', '2025-02-01T00:00:00.000Z'],
    ['1764324900', '%s', '2025-11-28T10:15:00.000Z'],
    ['2025-01-01', '%Y-%m-%dT%H:%M:%S%z', '2025-01-01T00:00:00.000Z'],
    ['2025-02-01', '%Y-%d-%m', '2025-01-02T00:00:00.000Z'],
    ['2025-01-01T00:00:00.5Z', '%Q', '2025-01-01T00:00:00.500Z'],
  ])('starts at %s, written as %s or in ISO 8601', (text, pattern, time) => {
    expect(firstStart(text, pattern, at('12:00'), MINUTE).toISOString()).toBe(time);
  });

  test('starts one period ago otherwise', () => {
    expect(firstStart(null, '%s', at('12:00'), 5 * MINUTE)).toEqual(at('11:55'));
    expect(firstStart('', '%s', at('12:00'), 5 * MINUTE)).toEqual(at('11:55'));
  });

  test('cannot start at what is no time', () => {
    expect(() => firstStart('yesterday', '%s', at('12:00'), MINUTE)).toThrow('is no time: write ISO 8601');
  });
});

test('of the formats, the one that is nearest to the times counts', () => {
  const keys = { 'source.scrape.rangeKeys.dateFormat': '%s' };
  expect(timePattern(scrapeWith({ ...keys, 'source.scrape.timeFormat': '%F' }), '%c')).toBe('%s');
  expect(timePattern(scrapeWith({ 'source.scrape.timeFormat': '%F' }), '%c')).toBe('%F');
  expect(timePattern(scrapeWith({ 'source.scrape.timeFormat': '' }), '%c')).toBe('%c');
});
