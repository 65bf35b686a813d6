import { describe, expect, test } from 'vitest';
import { loadScraperConfig } from '../load/load.ts';
import { scraperWarnings } from './warnings.ts';
import { toYaml } from '../testing/adapter-config.ts';
import { scraperSample, scraperSampleWith } from '../testing/scraper-sample.ts';

const warningsOf = (text: string): string[] =>
  scraperWarnings(loadScraperConfig(text, {}), text).map(({ path, message }) => `${path} ${message}`);

test('a usual file has none', () => {
  expect(warningsOf(toYaml(scraperSample()))).toEqual([]);
});

test.each<[values: Record<string, unknown>, warning: string]>([
  [{ 'source.scrape.runFirstScrape': true }, 'sources[0].scrape.runFirstScrape belongs in the source itself'],
  [{ 'source.scrape.frequency': '5m' }, 'sources[0].scrape.frequency belongs in the source itself'],
  [{ 'source.scrape.dateFormat': '%s' }, 'sources[0].scrape.dateFormat belongs in scrape.rangeKeys'],
  [
    { 'source.counterReadings[0].valueKey': 'a' },
    'sources[0].counterReadings[0].valueKey is another name of dataKey; use that',
  ],
  [{ 'scraper.fingerprintStore.redis': {} }, 'scraper.fingerprintStore.redis is another name of valkey; use that'],
  [
    { 'source.baseUrl': 'http://x' },
    'sources[0].baseUrl starts with http://, which is refused while scraper.enforceTls',
  ],
  [{ 'source.scrape.rangeKeys.endKey': '' }, 'sources[0].scrape.rangeKeys has only one of startKey and endKey'],
  [{ 'source.scrape.rangeKeys': {} }, 'sources[0].scrape.rangeKeys has neither startKey and endKey nor unit'],
  [
    { 'source.deltaDetection': { enabled: true, fingerprintMode: 'keys' } },
    'sources[0].deltaDetection.fingerprintKeys is empty, so that the whole record is compared',
  ],
  [
    { 'source.deltaDetection': { enabled: true, fingerprintKeys: ['id'] } },
    'sources[0].deltaDetection.fingerprintKeys has no effect unless fingerprintMode is keys',
  ],
  [{ 'source.dataKey': '$root.items' }, 'sources[0].dataKey finds nothing, because $root.'],
  [{ 'source.dataKey': '[].items' }, 'sources[0].dataKey finds nothing, because a name must come first'],
  [
    { 'source.scrape.rangeKeys.firstScrapeStart': '2025-01-01' },
    'sources[0].scrape.rangeKeys.firstScrapeStart has no effect without runFirstScrape: true',
  ],
  [{ 'sources[1].scrape.lag': '1m' }, 'sources[1].scrape.lag has no effect unless scrape.type is range'],
  [{ 'sources[1].scrape.overlap': '1m' }, 'sources[1].scrape.overlap has no effect unless scrape.type is range'],
  [
    { 'source.scrape.pagination': { type: 'page', sizeParam: 'n' } },
    'sources[0].scrape.pagination.sizeParam has no effect without pageSize',
  ],
  [{ 'source.gaugeReadings[0].dataKey': undefined }, 'sources[0].gaugeReadings[0] has neither dataKey nor fixedValue'],
  [
    { 'source.histogramReadings[0].dataKey': null },
    'sources[0].histogramReadings[0] has neither dataKey nor fixedValue',
  ],
  [{ 'source.tls.verify': false }, 'sources[0].tls.verify is false: certificates are not verified'],
  [{ 'scraper.otelTls.verify': false }, 'scraper.otelTls.verify is false: certificates are not verified'],
])('%j', (values, warning) => {
  expect(warningsOf(toYaml(scraperSampleWith(values)))).toEqual([expect.stringContaining(warning)]);
});

test.each<Record<string, unknown>>([
  { 'source.baseUrl': 'http://x', 'scraper.enforceTls': false },
  { 'source.scrape.rangeKeys': { unit: 'hours' } },
  { 'source.scrape.lag': '1m', 'source.scrape.overlap': '1m' },
  { 'source.scrape.rangeKeys.firstScrapeStart': '2025-01-01', 'source.runFirstScrape': true },
  { 'source.scrape.pagination': { type: 'offset', sizeParam: 'n', pageSize: 5 } },
  { 'source.gaugeReadings': [{ name: 'g', fixedValue: 0 }] },
  // Keys of a user's own that are named like those.
  { 'source.scrape.extraArgs': { frequency: 'x', runFirstScrape: 'x', valueKey: 'x', redis: 'x' } },
])('%j has none', (values) => {
  expect(warningsOf(toYaml(scraperSampleWith(values)))).toEqual([]);
});

test('they say where, in the order of the file', () => {
  const text = `
scraper: { otelCollectorEndpoint: "c:4317" }
sources:
  - name: a
    tls: { verify: false }
    baseUrl: http://x
    endpoint: /
    frequency: 1m
    scrape: { type: instant }
`;
  const warnings = scraperWarnings(loadScraperConfig(text, {}), text);
  expect(warnings.map(({ path, line }) => [path, line])).toEqual([
    ['sources[0].tls.verify', 5],
    ['sources[0].baseUrl', 6],
  ]);
});

describe('a text that is the name of a variable', () => {
  const env = { API_PASSWORD: 'p', EMPTY: '' };
  const warned = (values: Record<string, unknown>): string[] => {
    const text = toYaml(scraperSampleWith(values));
    return scraperWarnings(loadScraperConfig(text, env), text, env).map(({ path, message }) => `${path} ${message}`);
  };

  test.each<[values: Record<string, unknown>, path: string]>([
    [{ 'source.auth': { type: 'basic', username: 'u', password: 'API_PASSWORD' } }, 'sources[0].auth.password'],
    [{ 'scraper.fingerprintStore.valkey.password': 'API_PASSWORD' }, 'scraper.fingerprintStore.valkey.password'],
  ])('%j was its value in the original', (values, path) => {
    expect(warned(values)).toEqual([
      `${path} is the name of an environment variable, but is taken as it is; write \${NAME} for its value`,
    ]);
  });

  test.each<Record<string, unknown>>([
    { 'source.auth': { type: 'basic', username: 'u', password: 'OTHER' } },
    { 'source.auth': { type: 'basic', username: 'u', password: 'EMPTY' } },
    { 'source.auth': { type: 'basic', username: 'u', password: '${API_PASSWORD}' } },
    { 'source.dataKey': 'API_PASSWORD' },
  ])('%j is no such text', (values) => {
    expect(warned(values)).toEqual([]);
  });
});

test('values of any kind that the original would read as something else', () => {
  const text = `
scraper: { otelCollectorEndpoint: "c:4317", enforceTls: no }
sources:
  - name: on
    baseUrl: https://x
    endpoint: /
    frequency: 1m
    scrape: { type: instant, extraArgs: { all: yes, size: 1e3, text: "yes", n: 5 } }
    auth: { type: oauth, token: t, bodyData: { type: json, data: { offline: off } } }
    filters: { drop: [{ any: [{ field: no, matchType: in, value: [yes, "no", 010] }] }] }
`;
  const warnings = scraperWarnings(loadScraperConfig(text, {}), text);
  expect(warnings.map(({ path, line }) => [path, line])).toEqual([
    ['sources[0].scrape.extraArgs.all', 8],
    ['sources[0].scrape.extraArgs.size', 8],
    ['sources[0].auth.bodyData.data.offline', 9],
    ['sources[0].filters.drop[0].any[0].field', 10],
    ['sources[0].filters.drop[0].any[0].value[0]', 10],
    ['sources[0].filters.drop[0].any[0].value[2]', 10],
  ]);
  expect(new Set(warnings.map(({ message }) => message)).size).toBe(1);
});
