import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { GrpcReceiver } from '../../lib/otlp/testing/grpc-receiver.ts';
import { OtlpReceiver, type ReceivedPoint, type ReceivedRequest } from '../../lib/otlp/testing/otlp-receiver.ts';
import { type SeenRequest, TestServer } from '../../scraper/requests/testing/test-server.ts';
import { runScraper } from '../support/scraper-process.ts';
import { ago, HOUR } from './fields/field-case.ts';

/** The files of crds/testdata, as users of the original have them, do what they say; only the addresses are ours. */
const ENV = {
  PORT: '8080',
  WEATHER_ADMIN: 'admin',
  REDIS_PASSWORD: 'redis',
  TICKETS_ID: 'tickets-id',
  TICKETS_SECRET: 'tickets-secret',
  MACHINES_ID: 'machines-id',
  MACHINES_SECRET: 'machines-secret',
  SESSIONS_TOKEN: 'sessions-token',
  KEYS_KEY: 'keys-key',
};

let folder: string;
let api: TestServer;
let open: AsyncDisposableStack;
beforeEach(async () => {
  open = new AsyncDisposableStack();
  folder = await mkdtemp(join(tmpdir(), 'scraper-files-'));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  api = await TestServer.start();
  open.defer(() => api.close());
});
afterEach(() => open.disposeAsync());

/** Runs every source of a file once. */
async function once(
  name: string,
  collector: string,
  change: (text: string) => string = (text) => text,
): Promise<string> {
  const original = await readFile(join(import.meta.dirname, `../../crds/testdata/scraper-${name}.yaml`), 'utf8');
  const text = change(original)
    .replaceAll(/https:\/\/(\w+)\.example\.com/g, `${api.url}/$1`)
    .replace('scraper:', `scraper:\n  enforceTls: false`)
    .replace('  enforceTls: no\n', '')
    .replace('http://collector:4317', collector)
    .replace('./weather.db', join(folder, 'weather.db'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, text);
  const { code, stdout, stderr } = await runScraper(['--once', '--config', file], { ...ENV, COLLECTOR: collector });
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Answers by the path, which begins with the host of the original address. */
function answers(byPath: Readonly<Record<string, (request: SeenRequest) => unknown>>): void {
  api.answer = (request, response) => {
    const { pathname } = new URL(request.target, api.url);
    const answer = Object.entries(byPath).find(([path]) => pathname === path)?.[1];
    if (answer === undefined) response.writeHead(404).end();
    else response.end(JSON.stringify(answer(request)));
  };
}

const pointsOf = (requests: readonly ReceivedRequest[]): ReceivedPoint[] => requests.flatMap(({ points }) => points);
const valueOf = (points: readonly ReceivedPoint[], name: string, attributes: Record<string, unknown>): unknown =>
  points.findLast((point) => point.name === name && matches(point.attributes, attributes))?.value;
const matches = (all: Record<string, unknown>, some: Record<string, unknown>): boolean =>
  Object.entries(some).every(([name, value]) => all[name] === value);
const asked = (path: string): SeenRequest | undefined =>
  api.requests.find(({ target }) => target.split('?')[0] === path);

test('weather', async () => {
  const receiver = open.use(new GrpcReceiver());
  answers({
    '/weather/stations': () => [],
    '/weather/now': () => ({
      count: 2,
      data: { stations: [{ readings: { 'air.temperature': 4.5, gust: 7 } }, { readings: [{ gust: 30 }, {}] }] },
    }),
  });
  const lines = await once('weather', await receiver.listen());
  expect(lines).toMatch(/^Stations: first run, only the time is remembered/m);
  expect(lines).toMatch(/^Now: 3 records of 1 window sent$/m);
  expect(asked('/weather/stations')).toBeUndefined();
  const points = pointsOf(receiver.requests);
  const now = { source: 'Now' };
  expect(valueOf(points, 'stations', now)).toBe(2);
  expect(valueOf(points, 'temperature', now)).toBe(4.5);
  expect(valueOf(points, 'gusts', now)).toMatchObject({
    count: 2,
    sum: 37,
    bounds: [5, 10, 20],
    buckets: [0, 1, 0, 1],
  });
  expect(valueOf(points, 'weight', now)).toMatchObject({ count: 3, sum: 15, buckets: [3] });
  expect(receiver.requests[0]?.resource['service.name']).toBe('weather');
});

test('tickets', async () => {
  const receiver = open.use(new OtlpReceiver());
  answers({
    '/login/oauth/token': () => ({ data: { token: 'runtime-token' } }),
    '/login/tenant/oauth2/token': () => ({ access_token: 'azure-token', expires_in: '3600' }),
    '/tickets/api/v2/tickets': ({ body }) => ({
      project: { key: 'P' },
      data: {
        tickets: [
          { state: 'open', age: 90, environment: 'live', from: (JSON.parse(body) as { from: string }).from },
          { state: 'late', age: 1 },
          { state: 'open', environment: 'test' },
          { state: 'open', title: 'Ignore me' },
          { state: 7, age: 5, deleted: true },
        ],
      },
    }),
    '/tickets/report': () => [{ n: 1 }],
    '/machines/subscriptions/%7Bid%7D/machines': () => ({ value: [{ name: 'm' }] }),
    '/sessions/active': () => [{ id: 1 }],
    '/keys/': () => ({ whole: 'answer' }),
  });
  const from = ago(5 * HOUR - 60_000).slice(0, 19);
  const lines = await once('tickets', await receiver.listen(), (text) =>
    text
      .replace('"2025-11-01 00:00:00"', `"${from}"`)
      .replace('backend: redis', `sqlite: { path: ${JSON.stringify(join(folder, 'state.db'))} }`)
      .replaceAll('frequency: 1', 'runFirstScrape: true\n    frequency: 1'),
  );
  expect(lines).toMatch(/^tickets: 3 records of 3 windows sent$/m);
  const points = pointsOf(receiver.accepted);
  expect(valueOf(points, 'tickets_total', { source: 'tickets', state: 'open', project: 'P' })).toBe(3);
  expect(valueOf(points, 'ticket_state', { source: 'tickets', state: 'open' })).toBe(3);
  const tickets = asked('/tickets/api/v2/tickets');
  expect(tickets?.headers.authorization).toBe('Bearer runtime-token');
  expect(Object.keys(JSON.parse(tickets?.body ?? '') as object)).toEqual([
    'from',
    'to',
    'limit',
    'withComments',
    'order',
  ]);
  expect(asked('/login/oauth/token')).toMatchObject({
    method: 'POST',
    body: '{"grant_type":"client_credentials","scope":"read:tickets"}',
    headers: { authorization: `Basic ${Buffer.from('tickets-id:tickets-secret').toString('base64')}` },
  });
  expect(asked('/tickets/report')?.target).toBe('/tickets/report?unit=days&value=-1');
  expect(asked('/machines/subscriptions/%7Bid%7D/machines')?.headers.authorization).toBe('Bearer azure-token');
  expect(asked('/sessions/active')?.headers.authorization).toBe('Bearer sessions-token');
  expect(asked('/keys/')?.headers['x-api-key']).toBe('keys-key');
});

test('as-documented', async () => {
  const receiver = open.use(new GrpcReceiver());
  answers({
    '/payments/charges': () => ({
      balance: 99,
      data: [
        { currency: 'EUR', amount: 250, fees: [{ amount: 3, kind: 'card' }] },
        { currency: 'EUR', amount: 50 },
      ],
    }),
    '/status/services': () => ({ services: [{ up: true }, { up: false }, { up: true }] }),
    '/metrics/metrics': () => [],
  });
  const lines = await once('as-documented', await receiver.listen(), (text) =>
    text
      .replace('backend: valkey', `sqlite: { path: ${JSON.stringify(join(folder, 'state.db'))} }`)
      // What is warned about is followed.
      .replace('$root.data', 'data'),
  );
  expect(lines).toMatch(/^payments: 2 records of 1 window sent$/m);
  const points = pointsOf(receiver.requests);
  const eur = { source: 'payments', currency: 'EUR' };
  expect(valueOf(points, 'charges_total', eur)).toBe(2);
  expect(valueOf(points, 'charged_cents', { source: 'payments' })).toBe(300);
  expect(valueOf(points, 'first_fee', { source: 'payments', kind: 'card' })).toBe(3);
  expect(valueOf(points, 'balance', { source: 'payments' })).toBe(99);
  expect(valueOf(points, 'charge_cents', eur)).toMatchObject({ count: 2, buckets: [1, 1, 0, 0] });
  expect(valueOf(points, 'isUp', { source: 'services', isUp: true })).toBe(2);
  expect(asked('/payments/charges')).toMatchObject({
    target: expect.stringMatching(/\?created_gte=1735689600&created_lte=\d{10}$/),
    headers: { authorization: 'PAYMENTS_KEY' },
  });
  expect(asked('/metrics/metrics')?.target).toBe('/metrics/metrics');
});
