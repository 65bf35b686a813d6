import { expect, test } from 'vitest';
import type { CollectorOptions } from '../support/collector/collector.ts';
import type { CollectedPoint } from '../support/collector/collected.ts';
import { mutualTrust } from '../support/collector/mutual-trust.ts';
import { needsCollector } from '../support/collector/needs-collector.ts';
import type { Access } from '../support/json-api/access.ts';
import { type ApiRecord, type JsonApi, records, startJsonApi } from '../support/json-api.ts';
import { deliveries, expectDelivery } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';
import { secret } from '../support/secrets/secret.ts';

const HOUR_MS = 3_600_000;
const PAGE_SIZE = 7;
/** Both are values of records: the upper bound belongs to a bucket. */
const BOUNDS = [111, 259];
const [low = 0, high = 0] = BOUNDS;

needsCollector();

const start = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS);
const events = records(60, start, 60_000);
const firstScrapeStart = start.toISOString();

async function open(options?: CollectorOptions): Promise<Workshop> {
  const workshop = await Workshop.open(options);
  workshop.api.records = events;
  workshop.api.pageSize = PAGE_SIZE;
  return workshop;
}

test.each<[string, boolean, object]>([
  ['grpc', false, {}],
  ['http with gzip', false, { otelTransport: 'http', otelCompression: 'gzip' }],
  ['grpc with TLS and a client certificate', true, { otelCompression: 'gzip' }],
  ['http with TLS and a client certificate', true, { otelTransport: 'http' }],
])('over %s: every point and every log record, and nothing else', async (_, isSecured, settings) => {
  await using trust = await mutualTrust();
  await using workshop = await open(isSecured ? { tls: trust.server } : {});
  const { collector } = workshop;
  const source = workshop.source('events', {
    frequency: '1d',
    gaugeReadings: [{ name: 'load', dataKey: 'load', unit: '{task}' }],
    counterReadings: [{ name: 'events' }, { name: 'bytes', dataKey: 'bytes', unit: 'By' }],
    histogramReadings: [{ name: 'took', dataKey: 'took.ms', unit: 'ms', buckets: BOUNDS }],
    attributes: [
      { name: 'host', dataKey: 'host' },
      { name: 'level', dataKey: 'level', asMetric: { metricName: 'errors', valueMapping: { error: 1 } } },
    ],
    logStatusField: { name: 'level', error: { value: 'error' }, warning: { value: 'warning' } },
    scrape: { rangeKeys: { firstScrapeStart } },
  });
  const file = await workshop.configure([source], {
    serviceName: 'under-test',
    otelCollectorEndpoint: 'otelTransport' in settings ? collector.http : collector.grpc,
    otelTls: isSecured ? trust.client : {},
    ...settings,
  });
  const before = BigInt(Date.now()) * 1_000_000n;
  await using scraper = await workshop.start(file);
  await collector.waitFor((all) => expect(deliveries(all, 'events').size).toBe(events.length));
  expect(await scraper.stop()).toEqual({ code: 0, signal: null });
  const after = BigInt(Date.now()) * 1_000_000n;
  const { points, logs } = await collector.collected();

  expect(inOrder(points.map(({ scope: _s, resource: _r, start: _f, time: _t, ...point }) => point))).toEqual(
    inOrder(expectedPoints(events, 'events')),
  );
  expect(inOrder(logs.map(({ observed: _o, resource: _r, ...log }) => log))).toEqual(
    inOrder(events.map((record) => expectedLog(record, 'events'))),
  );
  const since = BigInt(start.getTime()) * 1_000_000n;
  const instance = logs[0]?.resource['service.instance.id'];
  expect(instance).toMatch(/^[0-9a-f-]{36}$/);
  for (const { resource } of [...points, ...logs]) {
    expect(resource).toEqual({ 'service.name': 'under-test', 'service.instance.id': instance });
  }
  for (const { scope, start: from, time } of points) {
    expect(scope).toEqual({ name: 'otel_api_scraper.telemetry', version: '0.1.0' });
    expect([BigInt(from) >= since, BigInt(time) >= BigInt(from), BigInt(time) <= after]).toEqual([true, true, true]);
  }
  for (const { observed } of logs) {
    expect([BigInt(observed) >= before, BigInt(observed) <= after]).toEqual([true, true]);
  }
});

test.each(['delta', 'cumulative'] as const)('points of the past are in their windows (%s)', async (temporality) => {
  await using workshop = await open();
  const past = records(120, start, 60_000);
  workshop.api.records = past;
  const source = workshop.source('events', {
    frequency: '1d',
    attributes: [],
    gaugeReadings: [{ name: 'load', dataKey: 'load' }],
    scrape: { parallelWindow: { unit: 'hours', value: 1 }, maxConcurrency: 1, rangeKeys: { firstScrapeStart } },
  });
  const env = { OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: temporality };
  await using scraper = await workshop.start(await workshop.configure([source]), env);
  await workshop.collector.waitFor((all) => expect(deliveries(all, 'events').size).toBe(past.length));
  await scraper.stop();
  const { points } = await workshop.collector.collected();
  const at = (minutes: number): string => `${start.getTime() + minutes * 60_000}000000`;
  const timesOf = (metric: string) => points.filter(({ name }) => name === metric).map(({ time }) => time);
  expect(timesOf('load')).toEqual([at(59), at(119)]);
  expect(
    points.filter(({ name }) => name === 'events').map(({ start: from, time, value }) => [from, time, value]),
  ).toEqual([[at(0), at(60), 60], temporality === 'delta' ? [at(60), at(120), 60] : [at(0), at(120), 120]]);
});

test('all records of all pages, of windows that meet, and of each way to page', async () => {
  await using workshop = await open();
  const paged = [
    ['none', null],
    ['link', { type: 'nextLink' }],
    ['bodyLink', { type: 'nextLink', from: 'body', linkKey: 'meta.next' }],
    ['cursor', { type: 'cursor', cursorKey: 'meta.next', cursorParam: 'cursor' }],
    ['page', { type: 'page' }],
    ['offset', { type: 'offset', sizeParam: 'size', pageSize: 5 }],
  ] as const;
  const sources = paged.map(([paging, pagination]) =>
    workshop.source(`paged by ${paging}`, {
      frequency: '1d',
      scrape: {
        pagination,
        extraArgs: { paging },
        parallelWindow: { unit: 'minutes', value: 17 },
        rangeKeys: { firstScrapeStart },
      },
    }),
  );
  await using scraper = await workshop.start(await workshop.configure(sources));
  await workshop.collector.waitFor((all) => {
    for (const [paging] of paged) expect(deliveries(all, `paged by ${paging}`).size).toBe(events.length);
  });
  await scraper.stop();
  const collected = await workshop.collector.collected();
  for (const [paging] of paged) {
    expect(expectDelivery(collected, `paged by ${paging}`, events)).toBe(0);
    const asked = workshop.api.requests.filter(({ headers }) => headers['x-source'] === `paged by ${paging}`);
    // 17 minutes have 17 records, in pages of 7 or 5; an API that says nothing about the next page is asked once more.
    const first = asked.filter(({ parameters }) => Date.parse(parameters['from'] ?? '') === start.getTime());
    expect([paging, first.length]).toEqual([
      paging,
      { none: 1, link: 3, bodyLink: 3, cursor: 3, page: 4, offset: 4 }[paging],
    ]);
  }
});

test('what APIs give to those who may ask', async () => {
  await using workshop = await open();
  const key = secret('key of the reader');
  const credentials = { username: 'reader', password: secret('password of the reader') };
  await using closed = await startAll({
    basic: { kind: 'basic', ...credentials },
    key: { kind: 'key', header: 'X-Key', value: key },
    token: { kind: 'token', by: 'basic', ...credentials },
    azure: { kind: 'token', by: 'form', ...credentials },
  });
  for (const api of Object.values(closed.apis)) api.records = events;
  const auth = {
    basic: { type: 'basic', ...credentials },
    key: { type: 'apikey', keyName: 'X-Key', keyValue: key },
    token: {
      type: 'oauth',
      ...credentials,
      getTokenEndpoint: `${closed.apis.token.url}/token`,
      tokenKey: 'access_token',
    },
    azure: {
      type: 'azuread',
      client_id: credentials.username,
      client_secret: credentials.password,
      tokenEndpoint: `${closed.apis.azure.url}/token`,
      resource: 'https://example.com',
    },
  };
  const names = ['basic', 'key', 'token', 'azure'] as const;
  const sources = names.map((name) =>
    workshop.source(name, {
      frequency: '1d',
      baseUrl: closed.apis[name].url,
      auth: auth[name],
      scrape: {
        parallelWindow: { unit: 'minutes', value: 10 },
        maxConcurrency: 1,
        rangeKeys: { firstScrapeStart },
      },
    }),
  );
  // The fourth request comes with a token that has not expired and yet counts no more.
  for (const name of ['token', 'azure'] as const) {
    closed.apis[name].fault = () => {
      if (closed.apis[name].requests.length === 3) closed.apis[name].door.revoke();
      return undefined;
    };
  }
  await using scraper = await workshop.start(await workshop.configure(sources));
  await workshop.collector.waitFor((all) => {
    for (const name of names) expect(deliveries(all, name).size).toBe(events.length);
  });
  await scraper.stop();
  for (const name of names) expect(expectDelivery(await workshop.collector.collected(), name, events)).toBe(0);
  for (const name of ['token', 'azure'] as const) {
    expect(closed.apis[name].door.tokensGiven).toBe(2);
    expect(closed.apis[name].requests.filter(({ status }) => status === 401)).toHaveLength(1);
  }
  expect(scraper.stdout() + scraper.stderr()).not.toMatch(
    new RegExp(`${credentials.password}|${key}|issued-token|window failed`),
  );
});
async function startAll<Name extends string>(
  access: Record<Name, Access>,
): Promise<AsyncDisposable & { readonly apis: Record<Name, JsonApi> }> {
  const entries = await Promise.all(
    (Object.keys(access) as Name[]).map(async (name) => [name, await startJsonApi({ access: access[name] })] as const),
  );
  const apis = Object.fromEntries(entries) as Record<Name, JsonApi>;
  return {
    apis,
    async [Symbol.asyncDispose]() {
      await Promise.all(entries.map(([, api]) => api[Symbol.asyncDispose]()));
    },
  };
}

const inOrder = <T>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

type Expected = Omit<CollectedPoint, 'scope' | 'resource' | 'start' | 'time'>;

/** What one window must add up to, worked out from the records alone. */
function expectedPoints(all: readonly ApiRecord[], source: string): Expected[] {
  const points: Expected[] = [];
  const sum = { kind: 'sum', monotonic: true, temporality: 2 } as const;
  const number = (record: ApiRecord | undefined, field: string): number => Number(record?.[field]);
  for (const group of groups(all, ({ host, level }) => `${String(host)} ${String(level)}`)) {
    const attributes = { source, host: group[0]?.['host'], level: group[0]?.['level'] };
    const took = group.map(({ took }) => (took as { ms: number }).ms);
    const between = (from: number, to: number): number => took.filter((ms) => ms > from && ms <= to).length;
    points.push(
      { name: 'load', unit: '{task}', kind: 'gauge', value: number(group.at(-1), 'load'), attributes },
      { name: 'events', unit: '1', ...sum, value: group.length, attributes },
      {
        name: 'bytes',
        unit: 'By',
        ...sum,
        value: group.reduce((all, one) => all + number(one, 'bytes'), 0),
        attributes,
      },
      {
        name: 'took',
        unit: 'ms',
        kind: 'histogram',
        temporality: 2,
        value: {
          count: took.length,
          sum: took.reduce((a, b) => a + b, 0),
          min: Math.min(...took),
          max: Math.max(...took),
          bounds: BOUNDS,
          buckets: [between(-1, low), between(low, high), between(high, Infinity)],
        },
        attributes,
      },
    );
  }
  const errors = all.filter(({ level }) => level === 'error').length;
  points.push({ name: 'errors', unit: '1', ...sum, value: errors, attributes: { source, level: 'error' } });
  return points;
}

function groups<T>(list: readonly T[], keyOf: (one: T) => string): T[][] {
  const found = new Map<string, T[]>();
  for (const one of list) found.set(keyOf(one), [...(found.get(keyOf(one)) ?? []), one]);
  return [...found.values()];
}

function expectedLog(record: ApiRecord, source: string): unknown {
  const [severity, severityText] = { error: [17, 'ERROR'], warning: [13, 'WARNING'] }[String(record['level'])] ?? [
    9,
    'INFO',
  ];
  return {
    body: { source, record },
    attributes: { source, host: record['host'], level: record['level'] },
    severity,
    severityText,
    scope: { name: source, version: '' },
    time: String(BigInt(Date.parse(record.at)) * 1_000_000n),
  };
}
