import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadScraper } from '../../crds/config/testing/scraper-sample.ts';
import { compileFingerprint } from '../records/fingerprint.ts';
import { inTurn, json, TestServer } from '../requests/testing/test-server.ts';
import { UndiciClient } from '../requests/undici-client.ts';
import type { WindowRange } from '../state/ledger.ts';
import { SqliteLedger } from '../state/sqlite-ledger.ts';
import { explain } from './explain.ts';
import { UnknownSource } from './known-source.ts';

const NOW = new Date('2026-03-01T10:00:00Z');
const at = (time: string): Date => new Date(`2026-03-01T${time}:00Z`);
const fence = { token: 0n };
const never = new AbortController().signal;

let server: TestServer;
let http: UndiciClient;
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'explain-'));
  path = join(folder, 'state.db');
  server = await TestServer.start(json([]));
  http = new UndiciClient({ proxies: {}, userAgent: 'test/1' });
});
afterEach(async () => {
  await http.close();
  await server.close();
  await rm(folder, { recursive: true });
});

interface Report {
  state: string;
  window?: { start: string; end: string; why: string };
  requests: Record<string, unknown>[];
  pages?: string;
  records: Record<string, unknown>;
  metrics: { points: number; first: Record<string, unknown>[] };
  logs: { records: number; first: Record<string, unknown>[] };
  warnings?: string[];
  failure?: Record<string, unknown>;
}

const RANGE = { type: 'range', rangeKeys: { startKey: 'from', endKey: 'to' }, timeFormat: '%H:%M' };

async function explained(source: Record<string, unknown> = {}, { limit = 5, name = 's', scraper = {} } = {}) {
  const config = loadScraper({
    scraper: {
      otelCollectorEndpoint: 'http://collector:4317',
      enforceTls: false,
      fingerprintStore: { sqlite: { path } },
      ...scraper,
    },
    sources: [
      {
        name: 's',
        frequency: '5m',
        baseUrl: server.url,
        endpoint: '/v1/events',
        runFirstScrape: true,
        scrape: { type: 'instant' },
        ...source,
      },
    ],
  });
  const { text, isFine } = await explain({ config, name, limit, http, now: () => NOW }, never);
  return { text, isFine, report: parse(text, { intAsBigInt: false }) as Report };
}

async function withLedger(work: (ledger: SqliteLedger) => Promise<unknown>): Promise<void> {
  const ledger = new SqliteLedger({ path, lockRetries: 3, lockBackoffMs: 5 });
  try {
    await work(ledger);
  } finally {
    await ledger.close();
  }
}

const planned = (ledger: SqliteLedger, ...windows: WindowRange[]): Promise<boolean> =>
  ledger.plan('s', undefined, windows, windows.at(-1)?.end ?? at('09:55'), fence);

describe('an explanation', () => {
  test('shows the request, the records, and what would be emitted', async () => {
    server.answer = json({
      items: [
        { id: 1, v: 2, kind: 'a' },
        { id: 2, v: 3, kind: 'b' },
      ],
    });
    const { report, isFine } = await explained({
      dataKey: 'items',
      scrape: { type: 'instant', extraArgs: { limit: 100 }, extraHeaders: { Accept: 'application/json' } },
      gaugeReadings: [{ name: 'value', dataKey: 'v' }],
      attributes: [{ name: 'kind', dataKey: 'kind' }],
    });
    expect(isFine).toBe(true);
    expect(Object.keys(report)).toEqual(['source', 'state', 'requests', 'records', 'metrics', 'logs']);
    expect(report).toMatchObject({
      source: 's',
      state: 'there is none yet',
      requests: [
        {
          request: `GET ${server.url}/v1/events?limit=100`,
          headers: ['Accept'],
          status: 200,
          content_type: 'application/json',
          bytes: expect.any(Number),
          milliseconds: expect.any(Number),
        },
      ],
      records: {
        found: 2,
        filtered_out: 0,
        emitted_before: 0,
        over_limit: 0,
        emitted: 2,
        first: [
          { id: 1, v: 2, kind: 'a' },
          { id: 2, v: 3, kind: 'b' },
        ],
      },
      metrics: {
        points: 2,
        first: [
          { name: 'value', kind: 'gauge', attributes: { source: 's', kind: 'a' }, value: 2 },
          { name: 'value', kind: 'gauge', attributes: { source: 's', kind: 'b' }, value: 3 },
        ],
      },
      logs: { records: 2, first: [{ severity: 'INFO', time: NOW.toISOString(), body: { record: { id: 1 } } }, {}] },
    });
    expect(await readdir(folder)).toEqual([]);
  });

  test('counts what filters, the limit and repetition leave out', async () => {
    server.answer = json([1, 2, 2, 3, 4, 5].map((id) => ({ id })));
    const { report } = await explained({
      filters: {
        drop: [{ any: [{ field: 'id', matchType: 'equals', value: 1 }] }],
        limits: { maxRecordsPerScrape: 3 },
      },
      deltaDetection: { enabled: true },
      emitLogs: false,
    });
    expect(report.records).toMatchObject({ found: 6, filtered_out: 1, emitted_before: 1, over_limit: 1, emitted: 3 });
    expect(report.logs).toEqual({ records: 0 });
  });

  test('shows no more than it is asked for', async () => {
    server.answer = json(Array.from({ length: 50 }, (_, id) => ({ id })));
    const source = { gaugeReadings: [{ name: 'id', dataKey: 'id' }], attributes: [{ name: 'id', dataKey: 'id' }] };
    const { report } = await explained(source, { limit: 2 });
    expect([report.records['emitted'], report.metrics.points, report.logs.records]).toEqual([50, 50, 50]);
    expect([report.records['first'], report.metrics.first, report.logs.first]).toEqual([
      [{ id: 0 }, { id: 1 }],
      expect.objectContaining({ length: 20 }),
      expect.objectContaining({ length: 2 }),
    ]);
    const none = await explained(source, { limit: 0 });
    expect(none.report.records).toMatchObject({ emitted: 50, first: [] });
  });

  test('fetches a few pages, and says that there may be more', async () => {
    server.answer = json([{ id: 1 }]);
    const pagination = { type: 'page', pageParam: 'page', maxPages: 100 };
    const { report } = await explained({ scrape: { type: 'instant', pagination } });
    expect(report.pages).toBe('the first 3; there may be more');
    expect(server.targets).toEqual(['/v1/events?page=1', '/v1/events?page=2', '/v1/events?page=3']);
    expect(report.records).toMatchObject({ found: 3, emitted: 3 });
    const delta = await explained({ scrape: { type: 'instant', pagination }, deltaDetection: { enabled: true } });
    expect(delta.report.records).toMatchObject({ found: 3, emitted_before: 2, emitted: 1 });
  });

  test('shows numbers as they were', async () => {
    server.answer = (_request, response) =>
      void response.end('[{"big": 12345678901234567890, "float": 1.0, "e": 1e3}]');
    const { text } = await explained({ deltaDetection: { enabled: true } });
    expect(text).toContain('big: 12345678901234567890');
    expect(text).toContain('float: 1.0');
    expect(text).toContain('e: 1000.0');
  });

  test('says that a dry run sends nothing', async () => {
    const { report } = await explained({}, { scraper: { dryRun: true } });
    expect(report.warnings).toEqual(['dryRun is on: the scraper would log this and send nothing']);
  });
});

describe('the window of an explanation', () => {
  const window = async (source: Record<string, unknown> = {}) => {
    const { report } = await explained({ scrape: RANGE, ...source });
    return [report.window?.start, report.window?.end, report.window?.why, server.targets.at(-1)];
  };
  const shown = (start: string, end: string, why: unknown) => [
    at(start).toISOString(),
    at(end).toISOString(),
    why,
    `/v1/events?from=${start}&to=${end}`,
  ];

  test('is the first one of a source that was never scraped', async () => {
    expect(await window()).toEqual(shown('09:55', '10:00', 'the first scrape begins with it'));
  });

  test('is the last period when the first scrape would only remember the time', async () => {
    expect(await window({ runFirstScrape: false })).toEqual(
      shown('09:55', '10:00', expect.stringContaining('only remembers the time (runFirstScrape is false)')),
    );
  });

  test('follows what is planned', async () => {
    await withLedger(async (ledger) => {
      await planned(ledger, { start: at('09:00'), end: at('09:30') });
      const [done] = await ledger.due('s', NOW, 1);
      await ledger.commit('s', done?.id ?? '', { now: NOW, fingerprints: [], ttlMs: 1, maxEntries: 1 }, fence);
    });
    expect(await window()).toEqual(shown('09:30', '10:00', expect.stringContaining('what follows 2026-03-01T09:30')));
    expect(await window({ scrape: { ...RANGE, lag: '10m', maxCatchUp: '15m' } })).toEqual(
      shown(
        '09:35',
        '09:50',
        expect.stringContaining('what is before 2026-03-01T09:35:00.000Z is too old (maxCatchUp)'),
      ),
    );
    expect(await window({ scrape: { ...RANGE, parallelWindow: { unit: 'minutes', value: 10 } } })).toEqual(
      shown('09:30', '09:40', expect.anything()),
    );
    expect(await window({ scrape: { ...RANGE, lag: '1h' } })).toEqual(
      shown('08:55', '09:00', 'the last period: everything up to now is planned already'),
    );
  });

  test('is one that is open, with what has happened to it', async () => {
    await withLedger(async (ledger) => {
      await planned(ledger, { start: at('09:00'), end: at('09:10') }, { start: at('09:10'), end: at('09:20') });
    });
    expect(await window()).toEqual(shown('09:00', '09:10', 'planned before, and not scraped yet'));
    await withLedger(async (ledger) => {
      for (const { id } of await ledger.due('s', NOW, 9)) {
        const failure = { error: 'GET /v1/events answered 500', nextAttemptAt: at('11:00'), now: NOW };
        await ledger.failed('s', id, failure, fence);
      }
    });
    const why = 'planned before; attempts that failed: 1, the last one with: GET /v1/events answered 500';
    expect(await window()).toEqual(shown('09:00', '09:10', why));
  });
});

describe('the state', () => {
  test('tells what was emitted before, while a scraper uses it, and stays as it is', async () => {
    server.answer = json([{ id: 1 }, { id: 2 }]);
    const deltaDetection = { enabled: true };
    const fingerprint = compileFingerprint('s', { fingerprintMode: 'full_record', fingerprintKeys: [] });
    await withLedger(async (ledger) => {
      await planned(ledger, { start: at('09:00'), end: at('09:00') });
      const [moment] = await ledger.due('s', NOW, 1);
      const commit = { now: NOW, fingerprints: [fingerprint({ id: 1 }, undefined)], ttlMs: 1e6, maxEntries: 9 };
      await ledger.commit('s', moment?.id ?? '', commit, fence);
      const { report } = await explained({ deltaDetection });
      expect(report.records).toMatchObject({ found: 2, emitted_before: 1, emitted: 1, first: [{ id: 2 }] });
      expect(report.state).toMatch(/^planned up to 2026-03-01T09:00:00.000Z; exported up to .*; open windows: 0/);
      // What was shown was not remembered.
      expect((await explained({ deltaDetection })).report.records).toMatchObject({ emitted_before: 1 });
    });
  });

  test('that cannot be read is said, and the rest goes on', async () => {
    server.answer = json([{ id: 1 }]);
    path = folder;
    const { report, isFine } = await explained({ deltaDetection: { enabled: true } });
    expect(report.state).toMatch(/^cannot be read, so nothing counts as emitted before: /);
    expect([isFine, report.records['emitted']]).toEqual([true, 1]);
  });
});

describe('what goes wrong', () => {
  test.each<[string, Record<string, unknown>, TestServer['answer'], Record<string, unknown>]>([
    ['a refusal', {}, json({ error: 'no' }, 403), { kind: 'status', status: 403, message: /answered 403: .*no/ }],
    ['no JSON', {}, (_, response) => void response.end('<html>'), { kind: 'not_json', message: /answered 200/ }],
    ['another shape', { dataKey: 'a' }, json({ a: 5 }), { kind: 'shape', message: /./ }],
    [
      'a wrong setting',
      { filters: { drop: [{ any: [{ field: 'a', matchType: 'regex', value: '(' }] }] } },
      json([]),
      {
        kind: 'setting',
        path: 'filters.drop[0].any[0].value',
        message: /./,
      },
    ],
  ])('%s is shown', async (_, source, answer, failure) => {
    server.answer = answer;
    const { report, isFine } = await explained(source);
    expect(isFine).toBe(false);
    expect(report.failure).toMatchObject(
      Object.fromEntries(
        Object.entries(failure).map(([key, value]) => [
          key,
          value instanceof RegExp ? expect.stringMatching(value) : value,
        ]),
      ),
    );
    expect(report.requests).toHaveLength(failure['kind'] === 'setting' ? 0 : 1);
    expect(report).not.toHaveProperty('records');
  });

  test('no answer is shown', async () => {
    server.answer = (_request, response) => void response.socket?.destroy();
    const { report } = await explained();
    expect(report).toMatchObject({ failure: { kind: 'network' }, requests: [{ failed: true }] });
  });

  test('a source that is not there is refused', async () => {
    await expect(explained({}, { name: 'S' })).rejects.toThrow(UnknownSource);
  });
});

describe('secrets', () => {
  const KEYS = ['header-key-0123', 'url-key-0123', 'arg key/0123', 'arg+key%2F0123', 'arg%20key%2F0123'];
  const MORE = ['post-key-0123', 'basic-pass-0123', 'k1'];

  test.each<[string, Record<string, unknown>]>([
    ['GET', {}],
    ['POST', { httpMethod: 'POST' }],
  ])('of a %s are not shown, also where the API repeats them', async (_, scrape) => {
    server.answer = (request, response) => {
      const echo = JSON.stringify([
        { ...request, [KEYS[0] ?? '']: 'as a name', decoded: decodeURIComponent(request.target) },
      ]);
      response.writeHead(200, { 'content-type': 'application/json' }).end(echo);
    };
    const { text, report } = await explained({
      endpoint: '/v1?token=url-key-0123',
      auth: { type: 'apikey', keyName: 'X-Key', keyValue: 'header-key-0123' },
      scrape: {
        type: 'instant',
        extraArgs: { api_key: 'arg key/0123', token: 'k1', secret: 'post-key-0123', plain: 'shown' },
        ...scrape,
      },
      gaugeReadings: [{ name: 'one', fixedValue: 1 }],
      attributes: [{ name: 'target', dataKey: 'target' }],
    });
    expect(report.records).toMatchObject({ emitted: 1 });
    for (const key of [...KEYS, ...MORE.slice(0, -1)]) expect(text).not.toContain(key);
    // Too short to be looked for everywhere.
    expect(JSON.stringify(report.requests)).not.toContain('k1');
    expect(text).toContain('plain');
    expect(text).toContain('shown');
    expect(report.requests[0]?.['headers']).toContain('X-Key');
  });

  test('of a token are not shown, nor is the token', async () => {
    server.answer = (request, response) => {
      const token = { access_token: 'runtime-token-0123', expires_in: 60 };
      response.end(JSON.stringify(request.target.startsWith('/token') ? token : [{ seen: request.headers }]));
    };
    const auth = {
      type: 'oauth',
      username: 'me',
      password: 'basic-pass-0123',
      getTokenEndpoint: `${server.url}/token?key=url-key-0123`,
      tokenKey: 'access_token',
      bodyData: { type: 'json', data: { client: 'post-key-0123' } },
    };
    const { text, report } = await explained({ auth });
    expect(report.requests).toMatchObject([
      { request: `POST ${server.url}/token (for a token)`, status: 200 },
      { request: `GET ${server.url}/v1/events`, headers: ['Authorization'], status: 200 },
    ]);
    for (const key of [...KEYS, ...MORE, 'runtime-token-0123']) expect(text).not.toContain(key);
  });

  test('are not shown by failures', async () => {
    server.answer = inTurn((request, response) => {
      response.writeHead(401).end(`wrong: ${JSON.stringify(request.headers)}`);
    });
    const { text, report } = await explained({ auth: { type: 'basic', username: 'me', password: 'basic-pass-0123' } });
    expect(report.failure).toMatchObject({ kind: 'status', status: 401 });
    expect(text).not.toContain('basic-pass-0123');
    expect(text).not.toContain(Buffer.from('me:basic-pass-0123').toString('base64'));
  });
});
