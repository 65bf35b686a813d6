import { expect, test } from 'vitest';
import { loadScraperConfig } from '../crds/config/load/load.ts';
import { unusableSources } from './unusable-sources.ts';

const fileWith = (settings: string): string => `
scraper: { otelCollectorEndpoint: "http://collector:4317" }
sources:
  - name: fine
    baseUrl: https://api.example.com
    endpoint: /
    frequency: 1m
    scrape: { type: instant }
  - name: s
    baseUrl: https://api.example.com
    endpoint: /
    runFirstScrape: true
    scrape: { type: range, rangeKeys: { startKey: a, endKey: b } }
    cron: "0 * * * *"
${settings}
`;

const found = (settings: string): unknown[] => {
  const text = fileWith(settings);
  const problems = unusableSources(loadScraperConfig(text, {}), text, new Date('2026-03-01T00:00:00Z'));
  return problems.map(({ path, message, line }) => [path, message, line]);
};

test.each<[settings: string, path: string, message: string]>([
  [
    '    filters: { drop: [{ any: [{ field: f, matchType: regex, value: "(" }] }] }',
    'sources[1].filters.drop[0].any[0].value',
    'is no regular expression that RE2 can run',
  ],
  ['    dataKey: "a[x]"', 'sources[1].dataKey', 'must end in [], [n] or [a:b]'],
  ['    timestampFormat: "%Q"', 'sources[1].timestampFormat', 'cannot be read'],
])('%s', (settings, path, message) => {
  expect(found(settings)).toEqual([[path, expect.stringContaining(message), 15]]);
});

test('a first time that is none', () => {
  const text = fileWith('').replace('endKey: b', 'endKey: b, firstScrapeStart: yesterday');
  const problems = unusableSources(loadScraperConfig(text, {}), text, new Date());
  expect(problems).toMatchObject([{ path: 'sources[1].scrape.rangeKeys.firstScrapeStart', line: 13 }]);
});

test('a cron expression whose time never comes', () => {
  const text = fileWith('').replace('0 * * * *', '0 0 30 2 *');
  const problems = unusableSources(loadScraperConfig(text, {}), text, new Date());
  expect(problems).toMatchObject([{ path: 'sources[1].cron', message: 'names a time that never comes', line: 14 }]);
});

test('what is fine', () => {
  expect(found('    dataKey: "a[0]"')).toEqual([]);
});

test('a first time that is none is told with the forms that are accepted, also where nothing is scraped first', () => {
  const text = fileWith('')
    .replace('runFirstScrape: true', 'runFirstScrape: false')
    .replace('endKey: b', 'endKey: b, firstScrapeStart: yesterday');
  const problems = unusableSources(loadScraperConfig(text, {}), text, new Date('2026-03-01T00:00:00Z'));
  expect(problems).toEqual([
    expect.objectContaining({
      path: 'sources[1].scrape.rangeKeys.firstScrapeStart',
      message: expect.stringContaining('is no time: write ISO 8601, such as 2026-01-31T00:00:00Z, or the format of'),
    }),
  ]);
});
