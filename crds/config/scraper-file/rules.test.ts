import { describe, expect, test } from 'vitest';
import { toYaml } from '../testing/adapter-config.ts';
import { loadScraper, scraperProblems, scraperSampleWith } from '../testing/scraper-sample.ts';

const PART = { type: 'oauth', username: 'u', password: 'p', getTokenEndpoint: 'https://x/t' };
const found = (values: Record<string, unknown>, env = {}): string[] =>
  scraperProblems(toYaml(scraperSampleWith(values)), env).map(({ path, message }) => `${path} ${message}`);

describe('fields that depend on each other', () => {
  test.each<[name: string, values: Record<string, unknown>, problem: string]>([
    ['a schedule', { 'source.frequency': undefined }, 'sources[0].frequency is required (a duration'],
    [
      'one frequency',
      { 'source.scrape.frequency': '1m' },
      'sources[0].scrape.frequency contradicts frequency of the source',
    ],
    [
      'range keys',
      { 'source.scrape.rangeKeys': undefined },
      'sources[0].scrape.rangeKeys is required when scrape.type',
    ],
    [
      'windows of a range',
      { 'sources[1].scrape.parallelWindow': { unit: 'hours', value: 1 } },
      'sources[1].scrape.parallelWindow can be set only when scrape.type is range',
    ],
    [
      'catching up with a range',
      { 'sources[1].scrape.maxCatchUp': '1d' },
      'sources[1].scrape.maxCatchUp can be set only when scrape.type is range',
    ],
    ['an OAuth token', { 'source.auth': { type: 'oauth' } }, 'sources[0].auth needs token, or all of username'],
    ['all that a token request needs', { 'source.auth': PART }, 'sources[0].auth.tokenKey is required without token'],
    [
      'the place of a link',
      { 'source.scrape.pagination': { type: 'nextLink', from: 'body' } },
      'sources[0].scrape.pagination.linkKey is required when from is body',
    ],
    [
      'delays in order',
      { 'source.scrape.retry': { initialDelay: '10m' } },
      'sources[0].scrape.retry.maxDelay must not be shorter than initialDelay',
    ],
    [
      'one authority',
      { 'source.tls': { ca: 'x', caFile: 'y' } },
      'sources[0].tls.caFile cannot be set together with ca',
    ],
    ['a key', { 'source.tls': { certFile: 'x' } }, 'sources[0].tls.key is required with a certificate'],
    ['a certificate', { 'scraper.otelTls': { key: 'x' } }, 'scraper.otelTls.cert is required with a private key'],
    [
      'the name of a metric',
      { 'source.attributes': [{ name: 'my attribute', dataKey: 'a', asMetric: {} }] },
      'sources[0].attributes[0].asMetric.metricName is required, because',
    ],
    [
      'a URL for http',
      { 'scraper.otelTransport': 'http', 'scraper.otelCollectorEndpoint': 'collector:4318' },
      'scraper.otelCollectorEndpoint must start with http:// or https:// when scraper.otelTransport is http',
    ],
    ['a secret', { 'scraper.enableAdminApi': true }, 'scraper.adminSecretEnv is required when scraper.enableAdminApi'],
    ['names', { 'sources[1].name': 'events' }, 'sources[1].name is also the name of sources[0]; names must be unique'],
    [
      'one path of a value',
      { 'source.gaugeReadings[0].valueKey': 'other' },
      'sources[0].gaugeReadings[0].valueKey contradicts dataKey',
    ],
  ])('%s', (_name, values, problem) => {
    expect(found(values)).toEqual([expect.stringContaining(problem)]);
  });

  test.each<[name: string, values: Record<string, unknown>]>([
    ['cron instead of frequency', { 'source.frequency': undefined, 'source.cron': '0 * * * *' }],
    ['frequency in scrape', { 'source.frequency': undefined, 'source.scrape.frequency': '5m' }],
    ['the same frequency twice', { 'source.scrape.frequency': '300s' }],
    ['range keys of an instant source', { 'sources[1].scrape.rangeKeys': { startKey: 'from' } }],
    ['a static token beside half a token request', { 'source.auth': { ...PART, token: 't' } }],
    ['a certificate with its key', { 'source.tls': { cert: 'x', keyFile: 'y' } }],
    [
      'an attribute with a name of its own for the metric',
      {
        'source.attributes': [{ name: 'my attribute', dataKey: 'a', asMetric: { metricName: 'm' } }],
      },
    ],
    ['host:port for grpc', { 'scraper.otelCollectorEndpoint': 'collector:4317' }],
  ])('%s is fine', (_name, values) => {
    expect(found(values)).toEqual([]);
  });

  test('problems of fields and rules are reported together', () => {
    const all = found({
      'source.frequency': 'soon',
      'source.scrape.rangeKeys': undefined,
      'sources[1].name': 'events',
      'scraper.servicePort': 0,
    });
    const paths = new Set(all.map((text) => text.split(' ')[0]));
    expect(paths).toEqual(
      new Set(['scraper.servicePort', 'sources[0].frequency', 'sources[0].scrape.rangeKeys', 'sources[1].name']),
    );
  });
});

describe('the secret of the admin API', () => {
  const values = { 'scraper.enableAdminApi': true, 'scraper.adminSecretEnv': 'ADMIN_SECRET' };

  test.each([{}, { ADMIN_SECRET: '' }, { ADMIN_SECRET: ' ' }])('%j is not enough', (env) => {
    expect(found(values, env)).toEqual([
      'scraper.adminSecretEnv must name an environment variable that is set; this one is unset or blank',
    ]);
  });

  test('stays out of the configuration', () => {
    const config = loadScraper(scraperSampleWith(values), { ADMIN_SECRET: 'admin-secret-value' });
    expect(config.scraper.adminSecretEnv).toBe('ADMIN_SECRET');
    expect(JSON.stringify(config)).not.toContain('admin-secret-value');
  });

  test('is not needed without the admin API', () => {
    expect(found({ 'scraper.adminSecretEnv': 'ADMIN_SECRET' })).toEqual([]);
  });
});
