import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadScraperConfig } from '../load/load.ts';
import { redactedScraperConfig, scraperSecrets } from './redact.ts';
import { get } from '../testing/adapter-config.ts';
import { loadScraper, scraperSample, scraperSampleWith } from '../testing/scraper-sample.ts';

const SECRET = 's3cret-value-1';
const BASIC = Buffer.from(`user:${SECRET}`).toString('base64');

describe('a secret is neither shown nor logged', () => {
  test.each<[path: string, value: unknown]>([
    ['scraper.otelCollectorEndpoint', `http://user:${SECRET}@collector:4317`],
    ['scraper.otelHeaders', { Authorization: `Bearer ${SECRET}` }],
    ['scraper.otelTls', { cert: 'c', key: SECRET }],
    ['scraper.fingerprintStore.valkey.password', SECRET],
    ['scraper.fingerprintStore.redis', { password: SECRET }],
    ['source.baseUrl', `https://user:${SECRET}@api.example.com`],
    ['source.endpoint', `/v1?api_key=${SECRET}`],
    ['source.scrape.extraHeaders', { 'X-Api-Key': SECRET }],
    ['source.scrape.extraArgs', { token: SECRET }],
    ['source.scrape.extraArgs', { api_key: { noEncodeValue: SECRET } }],
    ['source.tls', { cert: 'c', key: SECRET }],
    ['source.auth', { type: 'basic', username: 'user', password: SECRET }],
    ['source.auth', { type: 'apikey', keyName: 'X-Key', keyValue: SECRET }],
    ['source.auth', { type: 'oauth', token: SECRET }],
    [
      'source.auth',
      { type: 'oauth', username: 'user', password: SECRET, getTokenEndpoint: 'https://x/t', tokenKey: 'k' },
    ],
    ['source.auth', { type: 'oauth', token: 't', tokenHeaders: { 'X-A': SECRET } }],
    ['source.auth', { type: 'oauth', token: 't', bodyData: { type: 'raw', data: SECRET } }],
    ['source.auth', { type: 'oauth', token: 't', bodyData: { type: 'json', data: { client_secret: SECRET } } }],
    [
      'source.auth',
      { type: 'azuread', client_id: 'i', client_secret: SECRET, tokenEndpoint: 'https://x/t', resource: 'r' },
    ],
  ])('%s: %j', (path, value) => {
    // The same value in a field of no interest must not give it away.
    const config = loadScraper(scraperSampleWith({ [path]: value, 'sources[1].dataKey': `a.${SECRET}` }));
    const shown = stringify(redactedScraperConfig(config));
    expect(shown).not.toContain(SECRET);
    expect(shown).not.toContain(BASIC);
    expect(scraperSecrets(config)).toContain(SECRET);
  });
});

test('the header of basic authentication is a secret too', () => {
  const auth = { type: 'basic', username: 'user', password: SECRET };
  expect(scraperSecrets(loadScraper(scraperSampleWith({ 'source.auth': auth })))).toContain(BASIC);
});

test.each(['source.baseUrl', 'source.endpoint', 'scraper.otelCollectorEndpoint'])(
  '%s: so is the header that user and password of a URL become',
  (path) => {
    const config = loadScraper(scraperSampleWith({ [path]: `https://user:${encodeURIComponent(SECRET)}@x` }));
    expect(scraperSecrets(config)).toEqual(expect.arrayContaining([SECRET, BASIC]));
  },
);

test('a short secret is hidden where it belongs, and nowhere else', () => {
  const values = {
    'source.auth': { type: 'basic', username: 'v', password: 'v1' },
    'source.scrape.extraArgs': { token: 'v1', page: 'v1' },
    'source.endpoint': '/v1/events',
  };
  const shown = redactedScraperConfig(loadScraper(scraperSampleWith(values)));
  expect(get(shown, 'sources[0].auth')).toEqual({ type: 'basic', username: 'v', password: '<redacted>' });
  expect(get(shown, 'sources[0].scrape.extraArgs')).toEqual({ token: '<redacted>', page: 'v1' });
  expect(get(shown, 'sources[0].endpoint')).toBe('/v1/events');
});

test('the longest secret comes first', () => {
  const config = loadScraper(
    scraperSampleWith({
      'source.auth': { type: 'oauth', token: 'short-one' },
      'scraper.fingerprintStore.valkey.password': 'short-one-and-more',
    }),
  );
  expect(scraperSecrets(config)).toEqual(['short-one-and-more', 'short-one']);
});

test('a file without secrets is shown as it works, and can be used as a file', () => {
  const values = {
    'source.scrape.parallelWindow': { unit: 'hours', value: 1 },
    'source.scrape.pagination': { type: 'page' },
    'source.scrape.extraArgs': { limit: 100 },
    'source.scrape.rateLimit': { requests: 5 },
    'source.scrape.maxCatchUp': '1d',
    'source.logStatusField': { name: 'level', error: { value: 'bad' } },
    'scraper.shutdownGrace': '90s',
  };
  const config = loadScraper(scraperSampleWith(values));
  const shown = redactedScraperConfig(config);
  expect(get(shown, 'sources[0].frequency')).toBe('5min');
  expect(get(shown, 'scraper.shutdownGrace')).toBe('90s');
  expect(loadScraperConfig(stringify(shown), {})).toEqual(config);
  expect(loadScraperConfig(stringify(redactedScraperConfig(loadScraper(scraperSample()))), {})).toEqual(
    loadScraper(scraperSample()),
  );
});
