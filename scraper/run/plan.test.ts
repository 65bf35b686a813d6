import { describe, expect, test } from 'vitest';
import { planOf } from './plan.ts';
import type { PreparedSource } from '../window/prepared-source.ts';
import { prepareSource } from '../window/prepared-source.ts';
import { UndiciClient } from '../requests/undici-client.ts';
import { TokenCache } from '../requests/token-cache.ts';
import { loadScraper, scraperSampleWith } from '../../crds/config/testing/scraper-sample.ts';
import type { SourceState } from '../state/ledger.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const PERIOD_MS = 300_000;
const minutes = (count: number): Date => new Date(NOW.getTime() + count * 60_000);

function prepared(values: Record<string, unknown>, place = 0): PreparedSource {
  const { scraper: settings, sources } = loadScraper(scraperSampleWith(values));
  const source = sources[place];
  if (source === undefined) throw new Error('no source');
  const http = new UndiciClient({ proxies: {}, userAgent: 'test' });
  const tokens = new TokenCache(() => 0);
  return prepareSource(source, { settings, http, tokens, now: () => NOW, warn: () => undefined });
}

const state = (plannedUntil: Date | undefined, openWindows = 0): SourceState => ({
  plannedUntil,
  watermark: plannedUntil,
  lastSuccess: undefined,
  paused: false,
  openWindows,
  deadWindows: 0,
});

describe('a range', () => {
  test('from where the last plan ended to now, in one window', () => {
    expect(planOf(prepared({}), state(minutes(-7)), NOW, PERIOD_MS)).toEqual({
      from: minutes(-7),
      windows: [{ start: minutes(-7), end: NOW }],
      until: NOW,
      skipped: undefined,
      more: false,
      gated: false,
    });
  });

  test('stays behind by lag', () => {
    const { windows = [] } = planOf(prepared({ 'source.scrape.lag': '2m' }), state(minutes(-7)), NOW, PERIOD_MS) ?? {};
    expect(windows).toEqual([{ start: minutes(-7), end: minutes(-2) }]);
    expect(planOf(prepared({ 'source.scrape.lag': '2m' }), state(minutes(-1)), NOW, PERIOD_MS)).toBeUndefined();
  });

  test('nothing when the clock has gone backwards', () => {
    expect(planOf(prepared({}), state(minutes(1)), NOW, PERIOD_MS)).toBeUndefined();
  });

  test('a long one in parts', () => {
    const source = prepared({ 'source.scrape.parallelWindow': { unit: 'minutes', value: 1 } });
    const plan = planOf(source, state(minutes(-750)), NOW, PERIOD_MS);
    expect(plan?.windows).toHaveLength(500);
    expect(plan).toMatchObject({ until: minutes(-250), more: true });
    expect(planOf(source, state(minutes(-250)), NOW, PERIOD_MS)).toMatchObject({ until: NOW, more: false });
  });

  test('no further back than maxCatchUp', () => {
    const source = prepared({ 'source.scrape.maxCatchUp': '1h' });
    expect(planOf(source, state(minutes(-90)), NOW, PERIOD_MS)).toMatchObject({
      from: minutes(-90),
      windows: [{ start: minutes(-60), end: NOW }],
      skipped: { start: minutes(-90), end: minutes(-60) },
    });
  });

  test('nothing while a thousand windows are open', () => {
    expect(planOf(prepared({}), state(minutes(-5), 999), NOW, PERIOD_MS)).toBeDefined();
    expect(planOf(prepared({}), state(minutes(-5), 1000), NOW, PERIOD_MS)).toBeUndefined();
  });
});

describe('the first time', () => {
  test.each([0, 1])('only the time is remembered (source %i)', (place) => {
    for (const known of [undefined, state(undefined)]) {
      expect(planOf(prepared({}, place), known, NOW, PERIOD_MS)).toMatchObject({
        windows: [],
        until: NOW,
        gated: true,
      });
    }
  });

  test('with lag, so that the next window begins as far behind as it ends', () => {
    expect(planOf(prepared({ 'source.scrape.lag': '1m' }), undefined, NOW, PERIOD_MS)?.until).toEqual(minutes(-1));
  });

  test('with runFirstScrape, one period', () => {
    const plan = planOf(prepared({ 'source.runFirstScrape': true }), undefined, NOW, PERIOD_MS);
    expect(plan).toMatchObject({ from: undefined, windows: [{ start: minutes(-5), end: NOW }], gated: false });
  });

  test('a start in the future is waited for', () => {
    const values = {
      'source.runFirstScrape': true,
      'source.scrape.rangeKeys.firstScrapeStart': '2026-01-01T00:10:00Z',
    };
    expect(planOf(prepared(values), undefined, NOW, PERIOD_MS)).toBeUndefined();
    expect(planOf(prepared(values), undefined, minutes(11), PERIOD_MS)?.windows).toEqual([
      { start: minutes(10), end: minutes(11) },
    ]);
  });
});

describe('a present', () => {
  test('is one moment', () => {
    expect(planOf(prepared({}, 1), state(minutes(-5)), NOW, PERIOD_MS)).toEqual({
      from: minutes(-5),
      windows: [{ start: NOW, end: NOW }],
      until: NOW,
      more: false,
      gated: false,
    });
  });

  test('never the same one twice, even when the clock goes backwards', () => {
    const [{ start } = { start: NOW }] = planOf(prepared({}, 1), state(minutes(1)), NOW, PERIOD_MS)?.windows ?? [];
    expect(start.getTime()).toBe(minutes(1).getTime() + 1);
  });
});

describe('a source of which nothing can be made says where and why', () => {
  test.each([
    ['dataKey', { 'source.dataKey': 'a[b]' }],
    [
      'filters.keep[0].all[0].value',
      { 'source.filters.keep': [{ all: [{ field: 'a', matchType: 'regex', value: '[' }] }] },
    ],
    ['timestampFormat', { 'source.timestampFormat': '%Q' }],
    [
      'scrape.rangeKeys.firstScrapeStart',
      { 'source.runFirstScrape': true, 'source.scrape.rangeKeys.firstScrapeStart': 'yesterday' },
    ],
  ])('%s', (path, values) => {
    expect(() => prepared(values)).toThrow(expect.objectContaining({ name: 'InvalidSetting', path }));
  });

  test('a firstScrapeStart is refused also where it is not used', () => {
    expect(() => prepared({ 'source.scrape.rangeKeys.firstScrapeStart': 'yesterday' })).toThrow('firstScrapeStart');
  });
});

test('how much of a source goes on at a time', () => {
  const bounds = (values: Record<string, unknown>): number[] => {
    const { maxFetching, maxBegun } = prepared(values);
    return [maxFetching, maxBegun];
  };
  expect(bounds({})).toEqual([4, 4]);
  expect(bounds({ 'scraper.defaultSourceConcurrency': 7 })).toEqual([7, 7]);
  expect(bounds({ 'scraper.defaultSourceConcurrency': 7, 'source.scrape.maxConcurrency': 2 })).toEqual([2, 2]);
  expect(bounds({ 'source.scrape.maxConcurrency': 2, 'source.scrape.maxConcurrentWindows': 9 })).toEqual([2, 9]);
});

test('how long fingerprints count, and how many are kept', () => {
  const kept = (values: Record<string, unknown>): number[] => {
    const { fingerprintTtlMs, maxFingerprints } = prepared(values);
    return [fingerprintTtlMs, maxFingerprints];
  };
  const store = {
    'scraper.fingerprintStore.defaultTtlSeconds': 60,
    'scraper.fingerprintStore.maxEntriesPerSource': 70,
  };
  expect(kept(store)).toEqual([60_000, 70]);
  const own = { 'source.deltaDetection.ttlSeconds': 5, 'source.deltaDetection.maxEntries': 6 };
  expect(kept({ ...store, ...own })).toEqual([5000, 6]);
});
