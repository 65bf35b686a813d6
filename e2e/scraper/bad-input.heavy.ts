import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { put, toYaml } from '../../crds/config/testing/adapter-config.ts';
import type { HealthObject, SourceHealth } from '../../scraper/http/health.ts';
import { OtlpReceiver } from '../../lib/otlp/testing/otlp-receiver.ts';
import { TestServer } from '../../scraper/requests/testing/test-server.ts';
import { type RunningScraper, runScraper, startScraper } from '../support/scraper-process.ts';
import { WRONG_ANSWERS, WRONG_TOKENS, type WrongAnswer } from './bad-input/answers.ts';

/** What the schema lets pass, and nothing can be made of; and what is said about it. */
const WRONG_SETTINGS: Readonly<Record<string, readonly [settings: Record<string, unknown>, says: RegExp]>> = {
  'a regular expression': [
    { 'filters.drop': [{ any: [{ field: 'v', matchType: 'regex', value: '(' }] }] },
    /filters\.drop\[0\]\.any\[0\]\.value: is no regular expression/,
  ],
  'a regular expression that looks ahead': [
    { 'filters.keep': [{ all: [{ field: 'v', matchType: 'regex', value: '(?=x)' }] }] },
    /filters\.keep\[0\]\.all\[0\]\.value: is no regular expression/,
  ],
  'a selector': [{ dataKey: 'a.b[x]' }, /dataKey: .* must end in \[\], \[n\] or \[a:b\]/],
  'a step': [{ dataKey: 'a[::2]' }, /dataKey: /],
  'the format of a time': [{ timestampKey: 't', timestampFormat: '%Q' }, /timestampFormat: /],
  'the first time': [
    { 'scrape.type': 'range', 'scrape.rangeKeys': { startKey: 'a', endKey: 'b', firstScrapeStart: 'yesterday' } },
    /scrape\.rangeKeys\.firstScrapeStart: /,
  ],
  'an address': [{ endpoint: 'http://[' }, /endpoint: makes no URL together with baseUrl/],
};

/** What only shows when it is used. */
const WRONG_IN_USE: typeof WRONG_SETTINGS = {
  'a file that is not there': [{ 'tls.caFile': '/nowhere/ca.pem' }, /tls\.caFile: \/nowhere\/ca\.pem cannot be read/],
  'certificates that are none': [{ 'tls.ca': 'no PEM' }, /tls: the certificates of ca cannot be used/],
  'a host that is not there': [{ baseUrl: 'http://nowhere.invalid' }, /network: /],
  'a port that nobody has': [{ baseUrl: 'http://127.0.0.1:1' }, /ECONNREFUSED/],
};

const source = (name: string, baseUrl: string, settings: Readonly<Record<string, unknown>> = {}): object => {
  const made = {
    name,
    baseUrl,
    endpoint: `/${encodeURIComponent(name)}`,
    frequency: '1h',
    runFirstScrape: true,
    scrape: { type: 'instant', retry: { maxAttempts: 1 } },
    gaugeReadings: [{ name: 'g', dataKey: 'v' }],
    counterReadings: [
      { name: 'records' },
      { name: 'c', dataKey: 'v' },
      { name: 'total', dataKey: 'v', cumulative: true },
    ],
    histogramReadings: [{ name: 'h', dataKey: 'v', buckets: [1] }],
    attributes: [{ name: 'name', dataKey: 'name' }],
  };
  for (const [path, value] of Object.entries(settings)) put(made, path, value);
  return made;
};

const authBy = (url: string, name: string): object => ({
  type: 'oauth',
  username: 'user',
  password: 'password',
  getTokenEndpoint: `${url}/${encodeURIComponent(name)}`,
  tokenKey: 'the.key',
});

describe('sources with faults beside others', () => {
  const open = new AsyncDisposableStack();
  const receiver = new OtlpReceiver();
  let scraper: RunningScraper;
  let file: string;
  let health: HealthObject;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'scraper-bad-'));
    open.defer(() => rm(folder, { recursive: true, force: true }));
    const collector = await open.use(receiver).listen();
    const api = await TestServer.start(({ target }, response) => {
      const name = decodeURIComponent(target.slice(1));
      const wrong: Readonly<Record<string, WrongAnswer>> = { ...WRONG_ANSWERS, ...WRONG_TOKENS };
      if (Object.hasOwn(wrong, name)) wrong[name]?.answer(response);
      else response.end('[{"id":1,"v":1}]');
    });
    open.defer(() => api.close());
    const settings = { ...WRONG_SETTINGS, ...WRONG_IN_USE };
    const sources = [
      source('first', api.url, { frequency: '1s' }),
      ...Object.entries(WRONG_ANSWERS).map(([name, { having }]) => source(name, api.url, having)),
      ...Object.keys(WRONG_TOKENS).map((name) => source(name, api.url, { endpoint: '/', auth: authBy(api.url, name) })),
      ...Object.entries(settings).map(([name, [having]]) => source(name, api.url, having)),
      source('last', api.url, { frequency: '1s' }),
    ];
    file = join(folder, 'config.yaml');
    const section = {
      otelCollectorEndpoint: collector,
      otelTransport: 'http',
      enforceTls: false,
      shutdownGrace: '0s',
      fingerprintStore: { sqlite: { path: join(folder, 'state.db') } },
    };
    await writeFile(file, toYaml({ scraper: section, sources }));
    scraper = open.use(await startScraper(file));
    await vi.waitFor(
      async () => {
        health = await healthOf(scraper);
        const waiting = health.sources.filter((one) => one.last_error === null && one.last_success === null);
        expect(waiting).toEqual([]);
      },
      { timeout: 30_000, interval: 200 },
    );
  });
  afterAll(() => open.disposeAsync());

  const healthOf = async ({ url }: RunningScraper): Promise<HealthObject> => {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(1000) });
    return (await response.json()) as HealthObject;
  };
  const lastError = (name: string): string => health.sources.find((one) => one.name === name)?.last_error ?? '';
  const emitted = (name: string): number =>
    receiver.accepted.flatMap(({ logs }) => logs).filter(({ scope }) => scope === name).length;
  const log = (name: string): string[] =>
    scraper
      .stdout()
      .split('\n')
      .filter((line) => line.includes(`"source":${JSON.stringify(name)}`));

  test.each(Object.entries({ ...WRONG_ANSWERS, ...WRONG_TOKENS }))('answer: %s', (name, { says }) => {
    if (typeof says === 'number') {
      expect(lastError(name)).toBe('');
      expect(emitted(name)).toBe(says);
      return;
    }
    expect(lastError(name)).toMatch(says);
    expect(lastError(name).length).toBeLessThan(600);
    if (lastError(name) === '') return;
    expect(lastError(name)).not.toMatch(/internal/);
    const [line = '{}'] = log(name).filter((one) => one.includes('window failed'));
    expect(JSON.parse(line)).toMatchObject({
      source: name,
      window: { id: expect.any(String) },
      kind: lastError(name).split(':')[0],
      attempt: 1,
      next_attempt: 'dead',
    });
  });

  test.each(Object.entries(WRONG_SETTINGS))('setting: %s', (name, [, says]) => {
    expect(lastError(name)).toMatch(says);
    expect(health.sources.find((one) => one.name === name)).toMatchObject({ last_scrape: null, last_success: null });
    expect(log(name).join()).toMatch(/source disabled: invalid configuration/);
  });

  test.each(Object.entries(WRONG_IN_USE))('in use: %s', (name, [, says]) => {
    expect(lastError(name)).toMatch(says);
  });

  test('--validate refuses settings of which nothing can be made', async () => {
    const { code, stdout, stderr } = await runScraper(['--validate', '--config', file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const faults = [...stderr.matchAll(/^ +\S+:\d+:\d+: sources\[\d+\]\.(\S+) \S/gm)].map(([, path]) => path);
    expect(faults).toEqual([
      'filters.drop[0].any[0].value',
      'filters.keep[0].all[0].value',
      'dataKey',
      'dataKey',
      'timestampFormat',
      'scrape.rangeKeys.firstScrapeStart',
      'endpoint',
    ]);
  });

  test('a source that becomes unusable while it runs stops, and goes on when it is usable again', async () => {
    const text = await readFile(file, 'utf8');
    const broken = text.replace('"endpoint": "/last"', '"endpoint": "/last", "dataKey": "a[x]"');
    const now = async (): Promise<Partial<SourceHealth>> =>
      (await healthOf(scraper)).sources.find((one) => one.name === 'last') ?? {};
    await writeFile(file, broken);
    await vi.waitFor(async () => expect((await now()).last_error).toMatch(/^dataKey: /), 15_000);
    const before = emitted('first');
    // What was under way may still come.
    await vi.waitFor(() => expect(emitted('first')).toBeGreaterThan(before), 15_000);
    const stopped = emitted('last');
    await vi.waitFor(() => expect(emitted('first')).toBeGreaterThan(before + 2), 15_000);
    expect(emitted('last')).toBe(stopped);
    await writeFile(file, text);
    await vi.waitFor(() => expect(emitted('last')).toBeGreaterThan(stopped + 1), 15_000);
    expect((await now()).last_error).toBeNull();
  });

  test('the others go on, and health says what is wrong', async () => {
    expect(health.status).toBe('degraded');
    const before = { first: emitted('first'), last: emitted('last') };
    await vi.waitFor(
      () => {
        expect(emitted('first')).toBeGreaterThan(before.first + 1);
        expect(emitted('last')).toBeGreaterThan(before.last + 1);
      },
      { timeout: 15_000 },
    );
    expect(lastError('first') + lastError('last')).toBe('');
    expect(scraper.hasExited()).toBe(false);
    expect(scraper.stderr()).toBe('');
  });
});

test('a file with many faults is refused with a line for each, and where it stands', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scraper-bad-'));
  try {
    const file = join(folder, 'config.yaml');
    await writeFile(file, MANY_FAULTS);
    const { code, stderr, stdout } = await runScraper(['--validate', '--config', file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const faults = MANY_FAULTS.split('\n').flatMap((line, index) => {
      const [, path, hint] = /# (\S+): (.+)$/.exec(line) ?? [];
      return path === undefined || hint === undefined ? [] : [{ line: index + 1, path, hint }];
    });
    expect(faults.length).toBeGreaterThan(12);
    for (const { line, path, hint } of faults) {
      const said = stderr.split('\n').filter((text) => text.includes(`${path} `));
      expect(said, `${path} in ${stderr}`).toHaveLength(1);
      expect(said[0]).toContain(hint);
      expect(said[0]).toContain(`:${line}:`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Each fault with its path, and a part of what is said about it. */
const MANY_FAULTS = `
scraper:
  otelCollectorEndpoint: "ftp://collector"  # scraper.otelCollectorEndpoint: must be
  otelTransport: udp  # scraper.otelTransport: one of grpc, http
  servicePort: 99999  # scraper.servicePort: from 1 to 65535
  dryRun: perhaps  # scraper.dryRun: true or false
  maxGlobalConcurency: 5  # scraper.maxGlobalConcurency: did you mean maxGlobalConcurrency?
sources:
  - name: a
    frequency: 90  # sources[0].frequency: must be a duration such as 30s
    baseUrl: api.example.com  # sources[0].baseUrl: absolute http:// or https:// URL
    endpoint: /
    scrape:
      type: rage  # sources[0].scrape.type: did you mean range?
      httpMethod: get  # sources[0].scrape.httpMethod: one of GET, POST
    auth:
      type: bearer  # sources[0].auth.type: one of basic, apikey, oauth, azuread
    gaugeReadings:
      - name: 1st  # sources[0].gaugeReadings[0].name: must be the name of a metric
  - name: b
    frequency: 1m
    baseUrl: https://api.example.com
    endpoint: /
    scrape:
      type: instant
      parallelWindow: { unit: hours, value: 1 }  # sources[1].scrape.parallelWindow: only when scrape.type is range
    histogramReadings:
      - { name: h, dataKey: v, buckets: [a] }  # sources[1].histogramReadings[0].buckets[0]: must be a number
    filters:
      drop: [{ any: [{ field: a, matchType: like, value: 1 }] }]  # sources[1].filters.drop[0].any[0].matchType: one of
`;
