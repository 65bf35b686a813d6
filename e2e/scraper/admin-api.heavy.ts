import { expect, test, vi } from 'vitest';
import { parseHealth } from '../../operator/scrape-group/status/health.ts';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { records } from '../support/json-api.ts';
import { lockStateFile } from '../../scraper/state/sqlite-lock.ts';
import { freePort } from '../support/ports.ts';
import { startRedis } from '../support/redis.ts';
import type { RunningScraper } from '../support/scraper-process.ts';
import { expectAll } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';
import { secret } from '../support/secrets/secret.ts';

needsCollector();

const TOKEN = secret('admin token');
const KEY = secret('API key');
const HOUR_MS = 3_600_000;
const ADMIN = { enableAdminApi: true, adminSecretEnv: 'ADMIN_TOKEN' };
const ENV = { ADMIN_TOKEN: TOKEN, API_KEY: KEY };

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function ask(
  scraper: RunningScraper,
  method: string,
  path: string,
  body?: unknown,
  token = TOKEN,
): Promise<Answer> {
  const response = await fetch(scraper.url + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    signal: AbortSignal.timeout(20_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Scraped only when it is asked for: the first run at the start only remembers the time. */
const onDemand = (workshop: Workshop, scrape: Record<string, unknown> = {}) =>
  workshop.source('events', {
    frequency: '1d',
    runFirstScrape: false,
    auth: { type: 'apikey', keyName: 'X-Key', keyValue: '${API_KEY}' },
    scrape,
  });

async function started(workshop: Workshop, source: Readonly<Record<string, unknown>>): Promise<RunningScraper> {
  const scraper = await workshop.start(await workshop.configure([source], { ...ADMIN, logLevel: 'debug' }), ENV);
  await vi.waitFor(
    async () => {
      const { body } = await ask(scraper, 'GET', '/sources/events/runs');
      expect(body).toMatchObject({ runs: [{ trigger: 'first', status: 'gated' }] });
    },
    { timeout: 10_000 },
  );
  return scraper;
}

test('an administrator scrapes, looks, fills in the past, pauses and resumes', async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const source = onDemand(workshop, { parallelWindow: { unit: 'minutes', value: 10 } });
  const scraper = await started(workshop, source);
  const end = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
  const start = new Date(end.getTime() - HOUR_MS);
  api.records = records(60, start, 60_000);

  const range = { start: start.toISOString(), end: end.toISOString() };
  expect(await ask(scraper, 'POST', '/sources/events/backfill', range)).toMatchObject({
    status: 202,
    body: { status: 'planned', windows: 6 },
  });
  await collector.waitFor((all) => expectAll(all, 'events', api.records));
  await vi.waitFor(async () => {
    const { body } = await ask(scraper, 'GET', '/sources/events/windows?limit=4');
    const committed = Array.from({ length: 4 }, () => ({ kind: 'backfill', state: 'committed' }));
    expect(body).toMatchObject({ next_offset: 4, windows: committed });
  });
  expect((await ask(scraper, 'GET', '/sources/events/windows?limit=4&offset=4')).body).toMatchObject({
    next_offset: null,
    windows: [{ end: expect.any(String) }, { start: range.start }],
  });

  expect(await ask(scraper, 'POST', '/scrape/events')).toMatchObject({
    status: 200,
    body: { status: 'triggered', result: 'done', run: { trigger: 'admin', status: 'success', windows: 1, records: 0 } },
  });

  expect((await ask(scraper, 'POST', '/sources/events/pause')).status).toBe(200);
  expect(await ask(scraper, 'POST', '/sources/events/scrape')).toMatchObject({
    status: 409,
    body: { detail: 'The source is paused; resume it first' },
  });
  expect(await workshop.status(scraper, 'events')).toMatchObject({ paused: true });
  expect((await ask(scraper, 'POST', '/sources/events/resume')).status).toBe(200);
  await vi.waitFor(async () => expect((await ask(scraper, 'POST', '/sources/events/scrape')).status).toBe(200));
  expect((await ask(scraper, 'GET', '/pods')).body).toMatchObject({ pods: [{ sources: ['events'] }] });

  await scraper.stop();
  expect(scraper.stdout() + scraper.stderr()).not.toMatch(new RegExp(`${TOKEN}|${KEY}`));
});

test('a window that is set aside is visible, and an administrator has it tried again', async () => {
  await using workshop = await Workshop.open();
  const { api } = workshop;
  const source = onDemand(workshop, { retry: { maxAttempts: 1, initialDelay: '1s', maxDelay: '1s' } });
  const scraper = await started(workshop, source);
  api.fault = () => ({ status: 500 });
  expect(await ask(scraper, 'POST', '/sources/events/scrape')).toMatchObject({
    status: 200,
    body: {
      status: 'triggered',
      result: 'failed',
      run: { failed: 1, errors: [expect.stringContaining('answered 500')] },
    },
  });
  expect((await ask(scraper, 'GET', '/sources/events/windows')).body).toMatchObject({
    windows: [{ state: 'dead', attempts: 1, error: expect.stringContaining('answered 500') }],
  });
  const sick = await (await fetch(`${scraper.url}/healthz`)).json();
  expect(sick).toMatchObject({ status: 'degraded', sources: [{ dead_windows: 1 }] });
  expect(parseHealth('pod', sick)?.sources).toMatchObject([
    { name: 'events', lastScrape: expect.any(String), lastError: expect.stringContaining('answered 500') },
  ]);

  api.fault = () => undefined;
  expect((await ask(scraper, 'POST', '/sources/events/retry')).body).toMatchObject({ status: 'retried', windows: 1 });
  await vi.waitFor(async () => expect(await workshop.status(scraper, 'events')).toMatchObject({ dead_windows: 0 }));
  await vi.waitFor(
    async () => {
      const well = await (await fetch(`${scraper.url}/healthz`)).json();
      expect(well).toMatchObject({ status: 'ok', sources: [{ open_windows: 0, last_error: null }] });
      expect(parseHealth('pod', well)).toMatchObject({
        sources: [{ name: 'events', lastSuccess: expect.any(String), watermark: expect.any(String), records: 0 }],
      });
    },
    { timeout: 10_000 },
  );
});

test('nobody else is let in, and nothing secret is shown', async () => {
  await using workshop = await Workshop.open();
  const scraper = await started(workshop, onDemand(workshop));
  for (const path of ['/config', '/sources', '/sources/events', '/docs', '/openapi.json', '/']) {
    expect((await fetch(scraper.url + path)).status).toBe(401);
  }
  for (const path of ['/config', '/sources', '/sources/events', '/healthz']) {
    const { status, body } = await ask(scraper, 'GET', path);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toMatch(new RegExp(`${TOKEN}|${KEY}`));
  }
  expect(await (await fetch(`${scraper.url}/health`)).json()).toEqual({ status: 'ok' });
  expect((await ask(scraper, 'POST', '/sources/none/scrape')).body).toEqual({ detail: 'Source not found' });
});

test('SIGTERM: who has asked for a scrape gets the answer', async () => {
  await using workshop = await Workshop.open();
  const { api } = workshop;
  const scraper = await started(workshop, onDemand(workshop));
  api.fault = () => ({ delayMs: 2500 });
  const answer = ask(scraper, 'POST', '/sources/events/scrape');
  await api.waitFor(() => true);
  scraper.kill('SIGTERM');
  await vi.waitFor(async () => {
    const response = await fetch(`${scraper.url}/readyz`);
    expect([response.status, await response.json()]).toEqual([503, { status: 'unavailable', reason: 'draining' }]);
  });
  expect(await ask(scraper, 'POST', '/sources/events/pause')).toMatchObject({ status: 503 });
  expect(await answer).toMatchObject({ status: 200, body: { status: 'triggered', result: 'done' } });
  expect(await scraper.exited).toEqual({ code: 0, signal: null });
});

test('while the state cannot be used the scraper is alive and not ready, and says so', async () => {
  await using workshop = await Workshop.open();
  const file = await workshop.configure([onDemand(workshop)], ADMIN);
  const unlock = lockStateFile(workshop.stateFile);
  const scraper = await workshop.start(file, ENV);
  const probe = async (path: string): Promise<unknown[]> => {
    const response = await fetch(scraper.url + path);
    return [response.status, ((await response.json()) as { reason?: string }).reason];
  };
  try {
    await vi.waitFor(async () => expect(await probe('/readyz')).toEqual([503, 'state_store_unavailable']));
    expect(await probe('/livez')).toEqual([200, undefined]);
    expect((await ask(scraper, 'GET', '/sources/events')).status).toBe(200);
    expect((await ask(scraper, 'GET', '/pods')).body).toMatchObject({ pods: [] });
    for (const action of ['scrape', 'pause', 'resume', 'retry']) {
      expect(await ask(scraper, 'POST', `/sources/events/${action}`)).toMatchObject({
        status: 503,
        body: { detail: expect.stringContaining('The state store is unavailable') },
      });
    }
  } finally {
    unlock();
  }
  await vi.waitFor(async () => expect(await probe('/readyz')).toEqual([200, undefined]), { timeout: 15_000 });
  await vi.waitFor(async () => expect((await ask(scraper, 'POST', '/sources/events/scrape')).status).toBe(200));
});

test('of two pods, the one that has the source scrapes it, and both plan and pause', async () => {
  await using redis = await startRedis();
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const shared = { backend: 'redis', redis: { host: redis.host, port: redis.port, keyPrefix: 'admin:' } };
  const file = await workshop.configure([onDemand(workshop)], { ...ADMIN, fingerprintStore: shared });
  const scrapers = [await workshop.start(file, ENV), await workshop.start(file, ENV)];
  const ownersSeen = (): Promise<boolean[]> =>
    Promise.all(scrapers.map(async (scraper) => (await workshop.status(scraper, 'events'))['owner'] === true));
  await vi.waitFor(
    async () => {
      for (const scraper of scrapers) {
        expect((await ask(scraper, 'GET', '/pods')).body).toMatchObject({ pods: [{}, {}] });
      }
      expect((await ownersSeen()).filter(Boolean)).toHaveLength(1);
    },
    { timeout: 20_000 },
  );
  const [isFirst] = await ownersSeen();
  const [owner, other] = (isFirst === true ? scrapers : scrapers.toReversed()) as [RunningScraper, RunningScraper];
  const { pod, pods } = (await ask(owner, 'GET', '/pods')).body as { pod: string; pods: Record<string, unknown>[] };
  expect(pods).toContainEqual({ name: pod, sources: ['events'] });

  expect(await ask(other, 'POST', '/sources/events/scrape')).toEqual({
    status: 421,
    body: { detail: `The source belongs to another pod, ${pod}; ask that one` },
  });
  expect((await ask(other, 'POST', '/sources/events/pause')).status).toBe(200);
  expect((await ask(owner, 'POST', '/sources/events/scrape')).status).toBe(409);
  expect((await ask(other, 'POST', '/sources/events/resume')).status).toBe(200);

  const end = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
  const start = new Date(end.getTime() - HOUR_MS);
  api.records = records(60, start, 60_000);
  const range = { start: start.toISOString(), end: end.toISOString() };
  expect((await ask(other, 'POST', '/sources/events/backfill', range)).body).toMatchObject({ windows: 1 });
  expect((await ask(other, 'GET', '/sources/events/windows')).body).toMatchObject({
    windows: expect.arrayContaining([expect.objectContaining({ kind: 'backfill', start: range.start })]),
  });
  // The owner begins by itself, long before its next run.
  await collector.waitFor((all) => expectAll(all, 'events', api.records));
});

test('who operates it asks at the loopback address, also where the admin API is off', async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const port = await freePort();
  const key = secret('admin key');
  const env = { SCRAPER_ADMIN_PORT: String(port), SCRAPER_ADMIN_KEY: key, API_KEY: KEY };
  const source = onDemand(workshop, { parallelWindow: { unit: 'minutes', value: 10 } });
  const scraper = await workshop.start(await workshop.configure([source], { logLevel: 'debug' }), env);
  const loopback = { url: `http://127.0.0.1:${port}` } as RunningScraper;
  const asked = (method: string, path: string, body?: unknown) => ask(loopback, method, path, body, key);
  await vi.waitFor(
    async () =>
      expect(await asked('GET', '/sources/events/runs')).toMatchObject({ body: { runs: [{ trigger: 'first' }] } }),
    { timeout: 10_000 },
  );
  expect((await ask(scraper, 'GET', '/sources')).status).toBe(404);
  expect((await ask(loopback, 'GET', '/sources')).status).toBe(401);

  const end = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
  const start = new Date(end.getTime() - HOUR_MS);
  api.records = records(60, new Date(Date.now() - HOUR_MS), 60_000);
  // The state is that of the running program.
  const explained = await asked('POST', '/sources/events/explain?limit=1');
  expect(explained).toMatchObject({ status: 200, body: { source: 'events', fine: true } });
  const text = String(explained.body['text']);
  expect(text).toMatch(/^source: events$/m);
  expect(text).toMatch(/planned up to 20/);
  expect(text).not.toContain(KEY);
  api.fault = () => ({ status: 500 });
  expect(await asked('POST', '/sources/events/explain')).toMatchObject({
    body: { fine: false, text: expect.stringContaining('answered 500') },
  });
  api.fault = () => undefined;
  // Nothing was sent, and nothing remembered.
  expect((await asked('GET', '/sources/events/windows')).body).toMatchObject({ windows: [] });

  api.records = records(60, start, 60_000);
  const range = { start: start.toISOString(), end: end.toISOString() };
  expect(await asked('POST', '/sources/events/backfill', range)).toMatchObject({ body: { windows: 6 } });
  await collector.waitFor((all) => expectAll(all, 'events', api.records));
  await scraper.stop();
  await expect(asked('GET', '/sources')).rejects.toThrow('fetch failed');
  expect(scraper.stdout()).toContain('asked by an administrator');
  expect(scraper.stdout() + scraper.stderr()).not.toMatch(new RegExp(`${key}|${KEY}`));
});
