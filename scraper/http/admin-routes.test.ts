import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadScraperConfig } from '../../crds/config/load/load.ts';
import type { ScraperConfig } from '../../crds/config/scraper-file/scraper.ts';
import { healthObject } from './health.ts';
import { createLogger } from '../logger.ts';
import { StateUnavailable } from '../state/ledger.ts';
import { Refused } from '../status.ts';
import { adminRoutes } from './admin-routes.ts';
import { bearerToken } from '../../lib/http/bearer-token.ts';
import type { Explain } from './explain-route.ts';
import { adminToken } from './admin-token.ts';
import { healthRoutes } from './health-routes.ts';
import { HttpServer } from '../../lib/http/http-server.ts';
import { run, ScraperDouble, statusOf, windowAt } from './testing/scraper-double.ts';

const ENV = {
  ADMIN: 'right-token',
  OTLP_KEY: 'otlp-key-0123456789',
  API_KEY: 'api-key-0123456789',
  ARG: 'arg-secret-0123456789',
};
const FILE = `
scraper:
  otelCollectorEndpoint: http://user:collector-password@collector:4317
  otelHeaders: { X-Key: "\${OTLP_KEY}" }
  enableAdminApi: true
  adminSecretEnv: ADMIN
  fingerprintStore: { valkey: { password: valkey-password } }
sources:
  - name: orders
    frequency: 5min
    baseUrl: https://me:url-password@api.example.com
    endpoint: /v1/orders?token=url-token-0123
    scrape:
      type: range
      rangeKeys: { startKey: from, endKey: to }
      extraHeaders: { X-Tenant: tenant-0123456789 }
      extraArgs: { api_key: "\${ARG}", limit: 100 }
    auth: { type: apikey, keyName: X-Api-Key, keyValue: "\${API_KEY}" }
    gaugeReadings: [{ name: g, dataKey: "note otlp-key-0123456789" }]
  - name: a/b ü
    cron: "0 3 * * *"
    baseUrl: https://api.example.com
    endpoint: /status
    scrape: { type: instant }
`;
const SECRETS = /otlp-key|api-key-0|arg-secret|collector-password|url-password|url-token|tenant-0|valkey-password/;

const TOKEN = ENV.ADMIN;
const own = { Authorization: `Bearer ${TOKEN}` };

let config: ScraperConfig;
let scraper: ScraperDouble;
let server: HttpServer;
let url: string;
let isDraining: boolean;
let explain: Explain;
let logged: string;

beforeEach(async () => {
  config = loadScraperConfig(FILE, ENV);
  scraper = new ScraperDouble();
  scraper.statuses = config.sources.map(({ name }) => statusOf(name));
  isDraining = false;
  explain = async (name, limit) => ({ text: `source: ${name}\nlimit: ${limit}\n`, isFine: true });
  logged = '';
  server = new HttpServer({
    open: healthRoutes({ health: () => HEALTH, notReady: () => undefined }),
    admin: {
      routes: adminRoutes({
        config: () => config,
        scraper,
        isDraining: () => isDraining,
        now: () => new Date('2026-03-01T12:00:00Z'),
        explain: (...asked) => explain(...asked),
      }),
      hasToken: bearerToken(adminToken(config.scraper, ENV) ?? ''),
      names: 'source',
    },
    logger: createLogger('debug', () => [], { write: (line) => void (logged += line) }),
  });
  url = await server.listen('127.0.0.1', 0);
});
afterEach(() => server.close());

const HEALTH = healthObject({
  version: '1',
  configHash: '0',
  configError: undefined,
  referencesChanged: undefined,
  sources: [],
});

async function ask(path: string, init: RequestInit = {}): Promise<{ status: number; body: unknown; text: string }> {
  const response = await fetch(url + path, { headers: own, signal: AbortSignal.timeout(5000), ...init });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), text };
}
const get = (path: string) => ask(path);
const post = (path: string, body?: unknown) =>
  ask(path, {
    method: 'POST',
    headers: body === undefined ? own : { ...own, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

describe('the configuration', () => {
  test('of a source has the keys in the order of the original, and no secrets', async () => {
    const { status, body, text } = await get('/sources/orders');
    expect(status).toBe(200);
    const source = body as Record<string, Record<string, unknown>>;
    const keys = (value: unknown, count: number) => Object.keys(value as object).slice(0, count);
    expect(keys(source, 17).join(' ')).toBe(
      'name frequency allowOverlapScans emitLogs auth scrape endpoint baseUrl dataKey filters deltaDetection ' +
        'gaugeReadings counterReadings histogramReadings attributes logStatusField runFirstScrape',
    );
    expect(keys(source['scrape'], 9).join(' ')).toBe(
      'type httpMethod timeFormat maxConcurrency parallelWindow rangeKeys urlEncodeTimeKeys extraHeaders extraArgs',
    );
    expect(keys(source['filters'], 3)).toEqual(['drop', 'keep', 'limits']);
    expect(keys(source['deltaDetection'], 5).join(' ')).toBe(
      'enabled fingerprintMode fingerprintKeys ttlSeconds maxEntries',
    );
    expect(Object.keys(source)).toEqual(expect.arrayContaining(['cron', 'tls', 'maxSeries', 'status']));
    expect(source).toMatchObject({
      frequency: '5min',
      auth: { type: 'apikey', keyName: 'X-Api-Key', keyValue: '<redacted>' },
      scrape: {
        type: 'range',
        extraHeaders: { 'X-Tenant': '<redacted>' },
        extraArgs: { api_key: '<redacted>', limit: 100 },
      },
      baseUrl: 'https://<redacted>@api.example.com',
      endpoint: '/v1/orders?token=<redacted>',
      status: { running: false, last_run: null },
    });
    expect(text).not.toMatch(SECRETS);
  });

  test('as a whole has all sources, in the same form, and no secrets', async () => {
    const { status, body, text } = await get('/config');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      scraper: { adminSecretEnv: 'ADMIN', otelHeaders: { 'X-Key': '<redacted>' }, maxGlobalConcurrency: 10 },
      sources: [
        { name: 'orders', frequency: '5min' },
        { name: 'a/b ü', frequency: null, cron: '0 3 * * *' },
      ],
    });
    expect(Object.keys(body as object)).toEqual(['scraper', 'sources']);
    expect(text).not.toMatch(SECRETS);
  });

  test('is the one in use', async () => {
    config = loadScraperConfig(FILE.replace('name: orders', 'name: others'), ENV);
    expect((await get('/sources/orders')).status).toBe(404);
    expect((await get('/sources/others')).status).toBe(200);
  });
});

describe('the list of sources', () => {
  test('begins as in the original, and says how they are', async () => {
    scraper.statuses = [
      statusOf('orders', {
        lastRun: new Date(1000),
        lastSuccess: new Date(2000),
        watermark: new Date(3000),
        nextRun: new Date(4000),
        openWindows: 1,
        deadWindows: 2,
        records: 3,
        running: true,
        lastError: 'GET https://api.example.com/v1/orders answered 500',
      }),
    ];
    const { body } = await get('/sources');
    expect(body).toEqual([
      {
        name: 'orders',
        frequency: '5min',
        cron: null,
        type: 'range',
        owner: true,
        running: true,
        paused: false,
        last_run: '1970-01-01T00:00:01.000Z',
        last_success: '1970-01-01T00:00:02.000Z',
        watermark: '1970-01-01T00:00:03.000Z',
        next_run: '1970-01-01T00:00:04.000Z',
        open_windows: 1,
        dead_windows: 2,
        records: 3,
        last_error: 'GET https://api.example.com/v1/orders answered 500',
        unusable: null,
      },
      // Not known to the scheduler yet.
      { name: 'a/b ü', frequency: null, cron: '0 3 * * *', type: 'instant' },
    ]);
    expect(Object.keys((body as object[])[0] ?? {}).slice(0, 2)).toEqual(['name', 'frequency']);
  });

  test('may be empty', async () => {
    config = { ...config, sources: [] };
    expect(await get('/sources')).toMatchObject({ status: 200, body: [] });
  });
});

describe.each(['/sources/orders/scrape', '/scrape/orders'])('POST %s', (path) => {
  test('scrapes, and answers as the original does, with the run', async () => {
    const { status, body } = await post(path);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        status: 'triggered',
        source: 'orders',
        result: 'done',
        run: {
          trigger: 'admin',
          status: 'success',
          started: '1970-01-01T00:00:01.000Z',
          ended: '1970-01-01T00:00:02.000Z',
          windows: 1,
          failed: 0,
          records: 3,
          unchanged: 2,
          errors: [],
        },
      },
    });
    expect(scraper.asked).toEqual([['trigger', 'orders']]);
    expect(logged).toContain('"source":"orders","msg":"asked by an administrator"');
  });

  test('says that it failed', async () => {
    scraper.result = 'failed';
    scraper.history = [];
    expect(await post(path)).toMatchObject({ status: 200, body: { status: 'triggered', result: 'failed', run: null } });
  });

  test.each([
    ['running', 409, 'running'],
    ['paused', 409, 'paused; resume it first'],
    ['unusable', 409, 'cannot run: no such regex'],
    ['elsewhere', 421, 'another pod, pod-b; ask that one'],
  ] as const)('says why nothing was done: %s', async (result, status, detail) => {
    scraper.result = result;
    scraper.live = ['pod-b'];
    scraper.statuses = [statusOf('orders', { unusable: 'no such regex' })];
    expect(await post(path)).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
  });
});

describe('what is kept of a source', () => {
  test('its runs', async () => {
    scraper.history = [run, { ...run, ended: undefined, status: 'error', errors: ['timeout'] }];
    expect((await get('/sources/orders/runs')).body).toMatchObject({
      source: 'orders',
      runs: [{ status: 'success' }, { status: 'error', ended: null, errors: ['timeout'] }],
    });
  });

  test('its windows, page by page', async () => {
    scraper.ledger = [1, 2, 3].map(windowAt);
    scraper.ledger[0] = { ...windowAt(1), state: 'dead', error: 'timeout', attempts: 9, mayRepeat: true };
    const first = await get('/sources/orders/windows?limit=2');
    expect(first.body).toMatchObject({ source: 'orders', offset: 0, limit: 2, next_offset: 2 });
    expect((first.body as { windows: object[] }).windows).toEqual([
      {
        id: 'scheduled:1',
        kind: 'scheduled',
        state: 'dead',
        start: '1970-01-01T00:00:01.000Z',
        end: '1970-01-01T00:00:02.000Z',
        attempts: 9,
        at: '1970-01-01T00:00:09.000Z',
        error: 'timeout',
        may_repeat: true,
      },
      expect.objectContaining({ id: 'scheduled:2', error: null }),
    ]);
    const second = await get('/sources/orders/windows?offset=2&limit=2');
    expect(second.body).toMatchObject({ next_offset: null, windows: [{ id: 'scheduled:3' }] });
    expect((await get('/sources/orders/windows?offset=1&limit=2')).body).toMatchObject({ next_offset: null });
    expect((await get('/sources/orders/windows')).body).toMatchObject({ limit: 100, windows: [{}, {}, {}] });
  });

  test.each([
    'limit=0',
    'limit=501',
    'limit=-1',
    'limit=1.5',
    'limit=1e2',
    'limit=',
    'limit=abc',
    'limit=%00',
    'offset=-1',
    'offset=99999999999999999',
    'offset=9007199254740991',
    'offset=0x10',
  ])('there is no page %s', async (query) => {
    expect(await get(`/sources/orders/windows?${query}`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^(limit|offset) must be a whole number from [01] to \d+$/) },
    });
    expect(scraper.asked).toEqual([]);
  });
});

describe('a backfill', () => {
  const range = { start: '2026-01-01T00:00:00Z', end: '2026-01-02T01:00:00+01:00' };

  test('is planned', async () => {
    expect(await post('/sources/orders/backfill', range)).toMatchObject({
      status: 202,
      body: {
        status: 'planned',
        source: 'orders',
        start: '2026-01-01T00:00:00.000Z',
        end: '2026-01-02T00:00:00.000Z',
        windows: 24,
      },
    });
    expect(scraper.asked).toEqual([['backfill', 'orders', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']]);
  });

  test('of a source that has no past is refused with the reason', async () => {
    scraper.failure = new Refused('orders is an instant source');
    expect(await post('/sources/orders/backfill', range)).toMatchObject({
      status: 400,
      body: { detail: 'orders is an instant source' },
    });
  });

  test('whose range makes no sense is refused before anything is done', async () => {
    expect(await post('/sources/orders/backfill', { ...range, end: range.start })).toMatchObject({
      status: 400,
      body: { detail: 'start must be before end' },
    });
    expect(scraper.asked).toEqual([]);
  });

  test.each<[string, string, number, string]>([
    ['text/plain', '{}', 415, 'Content-Type: application/json'],
    ['application/x-www-form-urlencoded', 'start=1', 415, 'Content-Type: application/json'],
    ['application/json', '', 400, 'needs a JSON object as its body'],
    ['application/json', '{"start":', 400, 'is not JSON'],
    ['application/json', '[]', 400, 'must be a JSON object'],
    ['application/json', 'null', 400, 'must be a JSON object'],
    ['application/json', '"2026"', 400, 'must be a JSON object'],
    ['Application/JSON; charset=utf-8', '{}', 400, 'start is missing'],
    ['application/json', '['.repeat(60_000), 400, 'is not JSON'],
    ['application/json', '{"__proto__": {"start": "2026-01-01"}}', 400, '"__proto__" is not known'],
  ])('whose body is %s %.20j is refused with %i', async (type, body, status, detail) => {
    const answer = await ask('/sources/orders/backfill', {
      method: 'POST',
      headers: { ...own, 'Content-Type': type },
      body,
    });
    expect(answer).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
    expect(scraper.asked).toEqual([]);
  });

  test('whose body is no UTF-8 is refused', async () => {
    const headers = { ...own, 'Content-Type': 'application/json' };
    const body = Buffer.from('7b22ff223a317d', 'hex');
    expect(await ask('/sources/orders/backfill', { method: 'POST', headers, body })).toMatchObject({
      status: 400,
      body: { detail: 'The body is not JSON' },
    });
  });
});

describe('a source is explained', () => {
  test('with so many records, and whether it is fine', async () => {
    expect(await post('/sources/orders/explain')).toMatchObject({
      status: 200,
      body: { source: 'orders', fine: true, text: 'source: orders\nlimit: 5\n' },
    });
    explain = async (_, limit) => ({ text: String(limit), isFine: false });
    expect(await post('/sources/orders/explain?limit=100')).toMatchObject({ body: { fine: false, text: '100' } });
    for (const limit of ['101', '-1', 'x', '']) {
      expect(await post(`/sources/orders/explain?limit=${limit}`)).toMatchObject({ status: 400 });
    }
    expect(await post('/sources/nobody/explain')).toMatchObject({ status: 404 });
    isDraining = true;
    expect(await post('/sources/orders/explain')).toMatchObject({ status: 503 });
  });

  test('one at a time, also after one that failed', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const begun = Promise.withResolvers<void>();
    explain = () => (begun.resolve(), promise);
    const first = post('/sources/orders/explain');
    await begun.promise;
    expect(await post('/sources/orders/explain')).toMatchObject({
      status: 409,
      body: { detail: 'Another source is being explained' },
    });
    reject(new Error('of a kind that nobody expects'));
    expect(await first).toMatchObject({ status: 500, body: { detail: 'Internal Server Error' } });
    explain = async () => ({ text: 'again', isFine: true });
    expect(await post('/sources/orders/explain')).toMatchObject({ body: { text: 'again' } });
  });
});

test.each([
  ['pause', 'pause', { status: 'paused', source: 'a/b ü' }],
  ['resume', 'resume', { status: 'resumed', source: 'a/b ü' }],
  ['retry', 'retryDead', { status: 'retried', source: 'a/b ü', windows: 2, left: 1 }],
])('%s, also of a source with a strange name', async (action, asked, body) => {
  expect(await post(`/sources/${encodeURIComponent('a/b ü')}/${action}`)).toMatchObject({ status: 200, body });
  expect(scraper.asked).toEqual([[asked, 'a/b ü']]);
});

test('the pods, and what each of them runs', async () => {
  scraper.live = ['pod-a', 'pod-b', 'pod-c'];
  const { body } = await get('/pods');
  const { pod, pods } = body as { pod: string; pods: { name: string; sources: string[] }[] };
  expect([pod, pods.map(({ name }) => name)]).toEqual(['pod-a', scraper.live]);
  expect(pods.flatMap(({ sources }) => sources).sort()).toEqual(['a/b ü', 'orders']);
  scraper.statuses = [statusOf('orders'), statusOf('a/b ü', { unusable: 'why' })];
  expect((await get('/pods')).text).not.toContain('a/b');
  scraper.live = [];
  expect((await get('/pods')).body).toEqual({ pod: 'pod-a', pods: [] });
});

const ROUTES = adminRoutes({
  config: () => config,
  scraper: new ScraperDouble(),
  isDraining: () => false,
  now: () => new Date(),
  explain: (...asked) => explain(...asked),
});

describe.each(ROUTES.map(({ method, path }) => [method, path]))('%s %s', (method, pattern) => {
  const path = pattern.replace('{name}', 'orders');

  test.each([
    ['no token', {}],
    ['a wrong token', { Authorization: 'Bearer wrong-token' }],
    ['the token of another scheme', { Authorization: `Basic ${TOKEN}` }],
    ['the token alone', { Authorization: TOKEN }],
    ['the token in another header', { 'X-Token': TOKEN }],
  ])('is not there for %s', async (_, headers) => {
    const response = await fetch(url + path, { method, headers: headers as Record<string, string> });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await response.text()).not.toContain('orders');
    expect(scraper.asked).toEqual([]);
  });

  test('is in the documentation', () => {
    expect(readFileSync(new URL('../../docs/scraper/admin-api.md', import.meta.url), 'utf8')).toContain(
      `| \`${method} ${pattern}\` |`,
    );
  });

  test('knows only its method', async () => {
    const response = await fetch(url + path, { method: 'DELETE', headers: own });
    expect([response.status, await response.json()]).toEqual([405, { detail: 'Method Not Allowed' }]);
    expect(response.headers.get('allow')).toContain(method);
  });

  if (pattern.includes('{name}'))
    test('knows only sources of the configuration', async () => {
      for (const name of [
        'none',
        'Orders',
        'orders%20',
        '%00',
        '%2e%2e%2fconfig',
        'constructor',
        '__proto__',
        'x'.repeat(9_000),
      ]) {
        const answer = await ask(pattern.replace('{name}', name), { method });
        expect([name, answer.status, answer.body]).toEqual([name, 404, { detail: 'Source not found' }]);
      }
      expect(scraper.asked).toEqual([]);
    });

  if (method === 'POST')
    test('begins nothing while the scraper is about to end', async () => {
      isDraining = true;
      const response = await fetch(url + path, { method, headers: own });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
      expect(scraper.asked).toEqual([]);
    });
});

describe('while the state store is unavailable', () => {
  beforeEach(() => {
    scraper.failure = new StateUnavailable('redis is down');
  });
  test.each([
    ['GET', '/sources/orders/windows'],
    ['POST', '/sources/orders/scrape'],
    ['POST', '/sources/orders/pause'],
    ['POST', '/sources/orders/resume'],
    ['POST', '/sources/orders/retry'],
  ])('%s %s is for later', async (method, path) => {
    const response = await fetch(url + path, { method, headers: own });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.json()).toEqual({ detail: 'The state store is unavailable: redis is down' });
  });
  test.each(['/config', '/sources', '/sources/orders', '/sources/orders/runs', '/pods', '/healthz'])(
    'GET %s is answered from memory',
    async (path) => expect((await get(path)).status).toBe(200),
  );
});

test('a fault of the program is logged and not shown', async () => {
  scraper.failure = new Error('what happened inside');
  expect(await post('/sources/orders/pause')).toMatchObject({
    status: 500,
    body: { detail: 'Internal Server Error' },
  });
  expect(logged).toContain('what happened inside');
});
