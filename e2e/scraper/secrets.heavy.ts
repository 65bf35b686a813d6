import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { toYaml } from '../../crds/config/testing/adapter-config.ts';
import type { HealthObject } from '../../scraper/http/health.ts';
import { type Answer, ok, OtlpReceiver } from '../../lib/otlp/testing/otlp-receiver.ts';
import { TestServer } from '../../scraper/requests/testing/test-server.ts';
import { startRedis } from '../support/redis.ts';
import { type RunningScraper, runScraper, startScraper } from '../support/scraper-process.ts';
import { Markers } from './secrets/markers.ts';
import { fail, giveToken, mines } from './secrets/minefield.ts';

/** A collector that takes nothing, and says what it was sent. */
const echoes: Answer = (response, { headers }) => void response.writeHead(401).end(JSON.stringify(headers));

/** The longest time that all failures take: two attempts of a second each, with a second between them. */
const EXPLODED_MS = 30_000;

test('a secret is found in all of its forms', () => {
  const markers = new Markers();
  const secret = markers.plant('a place');
  for (const form of [
    secret,
    JSON.stringify(secret),
    encodeURIComponent(secret),
    ...['', 'u', 'us', 'user'].map((user) => Buffer.from(`${user}:${secret}`).toString('base64')),
  ]) {
    expect(markers.found(`before ${form} after`)).toEqual(['a place']);
  }
  expect(markers.found('QZaplac')).toEqual([]);
});

describe('T21: secrets do not come out', () => {
  const open = new AsyncDisposableStack();
  const markers = new Markers();
  const receiver = new OtlpReceiver();
  let folder: string;
  let file: string;
  let env: NodeJS.ProcessEnv;
  let admin: string;
  let scraper: RunningScraper;
  let names: readonly string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'scraper-secrets-'));
    open.defer(() => rm(folder, { recursive: true, force: true }));
    const collector = await open.use(receiver).listen();
    // The collector does not take telemetry at first, and says what it was sent.
    receiver.always = echoes;
    let count = 0;
    const api = await TestServer.start((request, response) => {
      if (!request.target.startsWith('/token')) return fail(request, response);
      count += 1;
      return giveToken(markers, request, response, count);
    });
    open.defer(() => api.close());
    const sources = mines(markers, api.url, `${api.url}/token`);
    sources.push({
      ...(sources[0] as object),
      name: 'a key',
      baseUrl: api.url.replace('http:', 'https:'),
      auth: null,
      tls: { cert: 'no certificate', key: `-----BEGIN PRIVATE KEY-----\n${markers.plant('key', true)}\n` },
    });
    names = sources.map((source) => (source as { name: string }).name);
    admin = markers.plant('admin', true);
    const sender = markers.plant('user of the collector', true);
    env = {
      ADMIN: admin,
      OTEL_EXPORTER_OTLP_HEADERS: `x-env=${markers.plant('header in the environment', true)}`,
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
    };
    file = join(folder, 'config.yaml');
    const settings = {
      otelCollectorEndpoint: collector.replace('//', `//scraper:${sender}@`),
      otelTransport: 'http',
      otelHeaders: { 'X-Tenant': markers.plant('otelHeaders'), Authorization: `Bearer ${markers.plant('otel token')}` },
      enableSelfTelemetry: true,
      logLevel: 'trace',
      enforceTls: false,
      shutdownGrace: '0s',
      enableAdminApi: true,
      adminSecretEnv: 'ADMIN',
      fingerprintStore: { sqlite: { path: join(folder, 'state.db') } },
    };
    await writeFile(file, toYaml({ scraper: settings, sources }));
    scraper = open.use(await startScraper(file, { env }));
    await vi.waitFor(
      async () => {
        const failing = (await health()).sources.filter((source) => source.last_error === null);
        expect(failing.map(({ name }) => name)).toEqual([]);
      },
      { timeout: EXPLODED_MS, interval: 250 },
    );
    // Second attempts, and windows that are set aside.
    await delay(3000);
  });
  afterAll(() => open.disposeAsync());

  const get = async (path: string, authorization = `Bearer ${admin}`): Promise<string> => {
    const headers = { Authorization: authorization };
    const response = await fetch(scraper.url + path, { headers, signal: AbortSignal.timeout(10_000) });
    return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
  };
  const health = async (): Promise<HealthObject> => {
    const response = await fetch(`${scraper.url}/healthz`, { signal: AbortSignal.timeout(5000) });
    return (await response.json()) as HealthObject;
  };

  test('there are many of them, and everything has failed', async () => {
    expect(markers.places.length).toBeGreaterThan(120);
    const { sources } = await health();
    expect(sources.filter(({ last_error }) => last_error === null)).toEqual([]);
    expect(scraper.stdout()).toContain('<redacted>');
  });

  test('in health checks', async () => {
    const all = await Promise.all(['/healthz', '/health', '/livez', '/readyz'].map((path) => get(path)));
    expect(markers.found(all.join('\n'))).toEqual([]);
  });

  test('in the admin API', async () => {
    const of = (name: string): string[] =>
      ['', '/runs', '/windows'].map((what) => `/sources/${encodeURIComponent(name)}${what}`);
    const shown: string[] = [];
    for (const path of ['/config', '/sources', '/pods', ...names.flatMap(of)]) {
      const text = await get(path);
      expect([path, text]).toEqual([path, expect.stringMatching(/^200/)]);
      shown.push(text);
    }
    const name = encodeURIComponent('basic denies');
    const post = async (path: string): Promise<string> => {
      const headers = { Authorization: `Bearer ${admin}` };
      return await (await fetch(scraper.url + path, { method: 'POST', headers })).text();
    };
    shown.push(
      await post(`/sources/${name}/scrape`),
      await post(`/scrape/${name}`),
      await post(`/sources/${name}/retry`),
    );
    shown.push(await get('/sources', `Bearer ${admin}x`), await get(`/sources?token=${admin}`, ''));
    expect(markers.found(shown.join('\n'))).toEqual([]);
  });

  test('when the file becomes unusable', async () => {
    const text = await readFile(file, 'utf8');
    const secret = markers.plant('wrong place');
    const broken = [
      text.replace('"logLevel": "trace"', `"logLevel": "trace", "token": ${JSON.stringify(secret)}`),
      text.replace(
        /"type": "basic", "username": "user", "password": "/,
        `$&\\u0000 ${'x'.repeat(5)}"}, "auth": {"token": "`,
      ),
      text.replaceAll('"keyName": "X-Api-Key"', `"keyName": "X Api Key"`),
      `${text.slice(0, -40)}"`,
    ];
    try {
      for (const content of broken) {
        const before = (await health()).config_error;
        await writeFile(file, content);
        await vi.waitFor(async () => expect((await health()).config_error).not.toBe(before), 15_000);
        expect(markers.found(await get('/healthz'))).toEqual([]);
      }
    } finally {
      await writeFile(file, text);
    }
    await vi.waitFor(async () => expect((await health()).config_error).toBeUndefined(), 15_000);
  });

  test('of sources that are gone', async () => {
    const text = await readFile(file, 'utf8');
    const { scraper: settings, sources } = JSON.parse(text) as { scraper: object; sources: { name: string }[] };
    const others = sources.map((source) => ({ ...source, auth: null, baseUrl: 'http://127.0.0.1:1', endpoint: '/' }));
    const { config_hash: before } = await health();
    await writeFile(file, toYaml({ scraper: settings, sources: others }));
    await vi.waitFor(async () => expect((await health()).config_hash).not.toBe(before), 15_000);
    await delay(1000);
    expect(markers.found(await get('/healthz'))).toEqual([]);
    await writeFile(file, text);
  });

  test('in what is exported', async () => {
    receiver.always = ok;
    await vi.waitFor(() => expect(receiver.accepted.length).toBeGreaterThan(2), 15_000);
    await delay(1500);
    const bodies = receiver.requests.map(({ points, logs, resource }) => JSON.stringify({ points, logs, resource }));
    expect(bodies.join()).toContain('scraper_runs_total');
    expect(markers.found(bodies.join('\n'))).toEqual([]);
    // They are where they belong.
    expect(markers.found(JSON.stringify(receiver.requests.map(({ headers }) => headers)))).toEqual(
      expect.arrayContaining(['otelHeaders', 'otel token', 'header in the environment']),
    );
  });

  test('in the log at its most verbose level, and in the state', async () => {
    await scraper.stop();
    expect(scraper.stdout()).toContain('window failed');
    expect(markers.found(scraper.stdout())).toEqual([]);
    expect(markers.found(scraper.stderr())).toEqual([]);
    for (const name of await readdir(folder)) {
      if (!name.startsWith('state')) continue;
      expect([name, markers.found(await readFile(join(folder, name), 'latin1'))]).toEqual([name, []]);
    }
  });

  test.each([['--validate'], ['--once']])('%s', { timeout: 60_000 }, async (option) => {
    receiver.always = echoes;
    const { stdout, stderr } = await runScraper([option, '--config', file], env);
    expect(stdout.length).toBeGreaterThan(1000);
    expect(markers.found(stdout)).toEqual([]);
    expect(markers.found(stderr)).toEqual([]);
  });

  test('--explain', { timeout: 100_000 }, async () => {
    const some = /^((basic|runtime|headers|arguments) denies|azure chatter|userinfo works|a key)$/;
    for (const name of names.filter((one) => some.test(one))) {
      const { stdout, stderr } = await runScraper(['--explain', name, '--config', file], env);
      expect([name, stdout]).toEqual([name, expect.stringContaining(name)]);
      expect([name, markers.found(stdout + stderr)]).toEqual([name, []]);
    }
  });
});

test('the password of Redis does not come out', async () => {
  await using redis = await startRedis({ requirepass: 'right' });
  const markers = new Markers();
  const folder = await mkdtemp(join(tmpdir(), 'scraper-secrets-'));
  try {
    const file = join(folder, 'config.yaml');
    const valkey = { host: redis.host, port: redis.port, username: 'default', password: markers.plant('password') };
    const scraper = {
      otelCollectorEndpoint: 'http://127.0.0.1:1',
      logLevel: 'trace',
      enableAdminApi: true,
      adminSecretEnv: 'ADMIN',
      fingerprintStore: { backend: 'valkey', valkey },
    };
    const source = {
      name: 's',
      baseUrl: 'https://127.0.0.1:1',
      endpoint: '/',
      frequency: '1m',
      scrape: { type: 'instant' },
    };
    await writeFile(file, toYaml({ scraper, sources: [source] }));
    const env = { ADMIN: markers.plant('admin', true) };
    await using running = await startScraper(file, { env });
    const ask = async (path: string, method = 'GET'): Promise<string> => {
      const headers = { Authorization: `Bearer ${env.ADMIN}` };
      const response = await fetch(running.url + path, { method, headers, signal: AbortSignal.timeout(20_000) });
      return await response.text();
    };
    await vi.waitFor(() => expect(running.stdout()).toMatch(/Redis is unavailable/), 15_000);
    const shown = [
      ...(await Promise.all(
        ['/healthz', '/readyz', '/config', '/sources', '/sources/s/windows'].map((path) => ask(path)),
      )),
      await ask('/sources/s/pause', 'POST'),
      await ask('/sources/s/scrape', 'POST'),
    ];
    expect(shown.join()).toMatch(/unavailable/);
    await running.stop();
    expect(markers.found([...shown, running.stdout(), running.stderr()].join('\n'))).toEqual([]);
    const { stdout, stderr } = await runScraper(['--explain', 's', '--config', file], env);
    expect(markers.found(stdout + stderr)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
