import { describe, expect, test } from 'vitest';
import { type JsonSchema, inputSchema, isSchema } from '../../generate/json-schema.ts';
import { checkUnresolved, loadScraperConfig } from '../load/load.ts';
import { ScraperConfig, ScraperSettings, Source } from './scraper.ts';
import { get } from '../testing/adapter-config.ts';
import { loadScraper, scraperProblems, scraperSample, scraperSampleWith } from '../testing/scraper-sample.ts';

describe('what is not written', () => {
  const config = loadScraper(scraperSample());

  test('in the section scraper has the defaults of the original', () => {
    expect(config.scraper).toEqual({
      otelCollectorEndpoint: 'http://collector:4317',
      otelTransport: 'grpc',
      otelHeaders: {},
      otelCompression: 'none',
      otelTls: TLS,
      serviceName: 'otel-api-scrapper',
      enableSelfTelemetry: false,
      allowOverlapScans: false,
      logLevel: 'debug',
      enforceTls: true,
      dryRun: false,
      terminateGracefully: true,
      shutdownGrace: 30_000,
      servicePort: 80,
      enableAdminApi: false,
      adminSecretEnv: null,
      defaultTimeFormat: '%Y-%m-%dT%H:%M:%S%z',
      maxGlobalConcurrency: 10,
      defaultSourceConcurrency: 4,
      fingerprintStore: {
        backend: 'sqlite',
        maxEntriesPerSource: 50_000,
        defaultTtlSeconds: 86_400,
        cleanupIntervalSeconds: 3600,
        lockRetries: 5,
        lockBackoffSeconds: 0.1,
        sqlite: { path: './scraper_fingerprints.db' },
        valkey: { host: 'localhost', port: 6379, db: 0, username: null, password: null, ssl: false, keyPrefix: '' },
      },
    });
  });

  test('in a source has the defaults of the original', () => {
    expect(config.sources[1]).toEqual({
      name: 'status',
      frequency: 30_000,
      cron: null,
      jitter: 0,
      baseUrl: 'https://api.example.com',
      endpoint: '/v1/status',
      scrape: {
        type: 'instant',
        httpMethod: 'GET',
        timeFormat: null,
        maxConcurrency: null,
        parallelWindow: null,
        rangeKeys: null,
        urlEncodeTimeKeys: false,
        extraHeaders: {},
        extraArgs: {},
        pagination: null,
        timeout: 60_000,
        maxResponseBytes: 67_108_864,
        minBytesPerSecond: 1024,
        maxWindowBytes: 33_554_432,
        retry: { maxAttempts: 10, initialDelay: 1000, maxDelay: 300_000 },
        rateLimit: null,
        lag: 0,
        overlap: 0,
        maxCatchUp: null,
        maxConcurrentWindows: null,
      },
      auth: null,
      tls: TLS,
      dataKey: null,
      dataKeyRequired: false,
      timestampKey: null,
      timestampFormat: null,
      pointTime: 'scrape',
      allowOverlapScans: false,
      emitLogs: true,
      runFirstScrape: false,
      filters: { drop: [], keep: [], limits: { maxRecordsPerScrape: null } },
      deltaDetection: {
        enabled: false,
        fingerprintMode: 'full_record',
        fingerprintKeys: [],
        ttlSeconds: null,
        maxEntries: null,
      },
      gaugeReadings: [],
      counterReadings: [],
      histogramReadings: [],
      attributes: [],
      logStatusField: null,
      maxSeries: 10_000,
      maxSeriesBytes: 33_554_432,
    });
  });

  test('in readings and attributes has the defaults of the original', () => {
    const [source] = config.sources;
    const reading = { fixedValue: null, unit: '1', labels: [] };
    expect(source?.gaugeReadings).toEqual([{ name: 'g', dataKey: 'v', ...reading }]);
    expect(source?.counterReadings).toEqual([{ name: 'c', dataKey: null, cumulative: false, ...reading }]);
    expect(source?.histogramReadings).toEqual([{ name: 'h', dataKey: 'v', buckets: [1, 2], ...reading }]);
    expect(source?.attributes).toEqual([
      { name: 'a', dataKey: 'x', asMetric: { metricName: null, valueMapping: {}, unit: '1' } },
    ]);
    expect(source?.scrape.rangeKeys).toEqual({
      startKey: 'from',
      endKey: 'to',
      firstScrapeStart: null,
      unit: null,
      value: 'from-config',
      takeNegative: false,
      dateFormat: null,
    });
  });
});

const TLS = {
  verify: true,
  ca: null,
  caFile: null,
  cert: null,
  certFile: null,
  key: null,
  keyFile: null,
  serverName: null,
};

describe('shapes that only the documentation of the original has', () => {
  test.each<[path: string, value: unknown, where: string, result: unknown]>([
    ['source.scrape.runFirstScrape', true, 'sources[0].runFirstScrape', true],
    ['source.scrape.dateFormat', '%s', 'sources[0].scrape.rangeKeys.dateFormat', '%s'],
    ['source.counterReadings[0].valueKey', 'total', 'sources[0].counterReadings[0].dataKey', 'total'],
    [
      'source.histogramReadings[0].labels',
      [{ name: 'kind', dataKey: 'k' }],
      'sources[0].histogramReadings[0].labels',
      [{ name: 'kind', dataKey: 'k' }],
    ],
    ['source.deltaDetection.maxEntries', 7, 'sources[0].deltaDetection.maxEntries', 7],
    ['scraper.fingerprintStore.redis', { host: 'r' }, 'scraper.fingerprintStore.valkey.host', 'r'],
  ])('%s', (path, value, where, result) => {
    const config = loadScraper(scraperSampleWith({ [path]: value }));
    expect(get(config, where)).toEqual(result);
    expect(config.sources[0]?.scrape).not.toHaveProperty('runFirstScrape');
    expect(config.sources[0]?.scrape).not.toHaveProperty('frequency');
    expect(config.sources[0]?.counterReadings[0]).not.toHaveProperty('valueKey');
    expect(config.scraper.fingerprintStore).not.toHaveProperty('redis');
  });

  test('the frequency in scrape', () => {
    const config = loadScraper(scraperSampleWith({ 'source.frequency': undefined, 'source.scrape.frequency': '1h' }));
    expect(config.sources[0]?.frequency).toBe(3_600_000);
  });

  test('the date format of the range keys comes first', () => {
    const formats = { 'source.scrape.dateFormat': '%s', 'source.scrape.rangeKeys.dateFormat': '%Y' };
    expect(loadScraper(scraperSampleWith(formats)).sources[0]?.scrape.rangeKeys?.dateFormat).toBe('%Y');
  });

  test('redis takes precedence over valkey, whatever the backend', () => {
    const both = { valkey: { host: 'v' }, redis: { host: 'r', db: 2 } };
    const { fingerprintStore } = loadScraper(scraperSampleWith({ 'scraper.fingerprintStore': both })).scraper;
    expect(fingerprintStore).toMatchObject({ backend: 'sqlite', valkey: { host: 'r', db: 2, port: 6379 } });
  });
});

test('a whole file as people write it', () => {
  const text = `
scraper:
  otelCollectorEndpoint: \${COLLECTOR:-http://otel-collector:4318}
  otelTransport: http
  servicePort: "\${PORT}"
  enforceTls: no
  fingerprintStore:
    backend: valkey
    valkey: { host: valkey, password: "\${VALKEY_PASSWORD}" }
sources:
  - name: github
    baseUrl: https://api.example.com
    endpoint: /repos/o/r/events
    frequency: 15min
    runFirstScrape: true
    scrape: &scrape
      type: range
      rangeKeys: { startKey: since, endKey: until, firstScrapeStart: "2025-01-01T00:00:00+0000" }
      parallelWindow: { unit: days, value: 1 }
      extraArgs: { per_page: 100, sort: { noEncodeValue: "created:asc" } }
    auth:
      type: oauth
      username: u
      password: \${PASSWORD}
      getTokenEndpoint: https://login.example.com/token
      bodyData: { type: raw, data: { grant_type: client_credentials } }
      tokenKey: access_token
    dataKey: data.items
    filters:
      drop: [{ any: [{ field: state, matchType: in, value: [a, b] }] }]
      keep: [{ all: [{ field: code, matchType: not_equals, value: 404 }] }]
      limits: { maxRecordsPerScrape: 1000 }
    deltaDetection: { enabled: yes, fingerprintMode: keys, fingerprintKeys: [id] }
    gaugeReadings: [{ name: open, dataKey: $root.open_issues }]
    counterReadings: [{ name: events, unit: "{event}" }]
    histogramReadings: [{ name: size, dataKey: size, unit: By, buckets: [10, 100] }]
    attributes:
      - { name: kind, dataKey: type, asMetric: { metricName: kinds, valueMapping: { Push: 1 } } }
    logStatusField: { name: type, error: { value: Fail }, warning: { value: [Warn], matchType: in } }
  - name: copy
    baseUrl: https://api.example.com
    endpoint: /x
    frequency: 1h
    scrape: { <<: *scrape, httpMethod: POST }
`;
  const env = { PORT: '8080', VALKEY_PASSWORD: 'v', PASSWORD: 'p' };
  const config = loadScraperConfig(text, env);
  expect(config.scraper).toMatchObject({
    otelCollectorEndpoint: 'http://otel-collector:4318',
    servicePort: 8080,
    enforceTls: false,
    fingerprintStore: { backend: 'valkey', valkey: { password: 'v' } },
  });
  expect(config.sources[0]?.auth).toMatchObject({
    password: 'p',
    bodyData: { data: { grant_type: 'client_credentials' } },
  });
  expect(config.sources[1]?.scrape).toMatchObject({ httpMethod: 'POST', parallelWindow: { unit: 'days', value: 1 } });
});

test('a text that is the name of a variable is not replaced', () => {
  expect(loadScraper(scraperSampleWith({ 'source.dataKey': 'HOME' }), { HOME: '/root' }).sources[0]?.dataKey).toBe(
    'HOME',
  );
});

describe('references, with P set', () => {
  test.each<[written: unknown, value: unknown]>([
    ['${P}', '8080'],
    ['P', 'P'],
    ['${}', '${}'],
    // Unlike the original: a part of a text, a default, and what stands around.
    ['x${P}', 'x8080'],
    ['${P} ', '8080 '],
    ['${P:-1}', '8080'],
    ['${NOPE:-1}', '1'],
  ])('%j is %j', (written, value) => {
    const config = loadScraper(scraperSampleWith({ 'source.dataKey': written }), { P: '8080' });
    expect(config.sources[0]?.dataKey).toBe(value);
  });

  test('keys and numbers stay as they are, and a text may become a number', () => {
    const args = { P: 8080, '${P}': 1 };
    const document = scraperSampleWith({ 'source.scrape.extraArgs': args, 'scraper.servicePort': '${P}' });
    const config = loadScraper(document, { P: '8081' });
    expect(config.sources[0]?.scrape.extraArgs).toEqual(args);
    expect(config.scraper.servicePort).toBe(8081);
  });
});

test('a variable that is unset is an error where it stands', () => {
  const text = 'scraper: { otelCollectorEndpoint: "${COLLECTOR}" }\nsources: []\n';
  expect(scraperProblems(text)).toMatchObject([
    { path: 'scraper.otelCollectorEndpoint', line: 1, message: expect.stringContaining('COLLECTOR, which is unset') },
  ]);
});

test('secrets do not stand in messages', () => {
  const auth = { type: 'apikey', keyName: 'k', keyValue: 'line\nbreak-secret' };
  const headers = { 'X-Token': 'tab\u0000secret' };
  const all = scraperProblems(
    JSON.stringify(scraperSampleWith({ 'source.auth': auth, 'source.scrape.extraHeaders': headers })),
  );
  expect(all).toHaveLength(2);
  expect(JSON.stringify(all)).not.toContain('secret');
});

describe('without the environment', () => {
  const source = { ...(scraperSample()['sources'] as object[])[1], frequency: '${EVERY}', scrape: { type: '${TYPE}' } };

  test('a source whose values come from it is fine', () => {
    expect(checkUnresolved(Source, source)).toEqual([]);
  });

  test('what else is wrong with a source is found, with paths below it', () => {
    const problems = checkUnresolved(Source, { ...source, baseUrl: 'x', auth: { type: 'basic', username: '${U}' } });
    expect(problems.map(({ path }) => path)).toEqual(['baseUrl', 'auth.password']);
  });

  test('settings may be incomplete, but not wrong', () => {
    const some = ScraperSettings.partial();
    expect(checkUnresolved(some, { dryRun: true, servicePort: '${PORT}' })).toEqual([]);
    expect(checkUnresolved(some, { servicePort: 0 }).map(({ path }) => path)).toEqual(['servicePort']);
  });
});

describe('the JSON Schema', () => {
  const text = JSON.stringify(inputSchema(ScraperConfig));

  test('has nothing that a Kubernetes schema cannot have', () => {
    expect(text).not.toMatch(/"\$ref"|"\$defs"|"allOf"|"not"/);
    const patterns = [...text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, pattern = '""']) =>
      String(JSON.parse(pattern)),
    );
    expect(patterns.length).toBeGreaterThan(5);
    // Go's expressions know neither look-around nor \u.
    expect(patterns.filter((pattern) => /\(\?[=!<]|\\u/.test(pattern))).toEqual([]);
  });

  test('describes every field', () => {
    const bare: string[] = [];
    const isDescribed = (node: JsonSchema): boolean =>
      node.description !== undefined || (node.anyOf ?? []).some((branch) => isDescribed(branch));
    const visit = (node: unknown, path: string): void => {
      if (!isSchema(node)) return;
      for (const [name, field] of Object.entries(node.properties ?? {})) {
        if (isSchema(field) && !isDescribed(field)) bare.push(`${path}.${name}`);
        visit(field, `${path}.${name}`);
      }
      visit(node.items, `${path}[]`);
      for (const branch of [...(node.oneOf ?? []), ...(node.anyOf ?? [])]) visit(branch, path);
    };
    visit(inputSchema(ScraperConfig), '');
    expect(bare).toEqual([]);
  });
});
