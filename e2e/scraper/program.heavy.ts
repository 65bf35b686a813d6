import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { runScraper, startScraper } from '../support/scraper-process.ts';

const FILE = `
scraper:
  otelCollectorEndpoint: http://user:collector-pass@collector:4317
  logLevel: info
  fingerprintStore: { sqlite: { path: "\${STATE_FILE:-unused.db}" } }
sources:
  - name: status
    frequency: 1d
    baseUrl: https://api.example.com
    endpoint: /v1/status
    dataKey: items
    scrape:
      type: instant
      extraHeaders: { X-Tenant: tenant-in-header }
    auth: { type: apikey, keyName: X-Api-Key, keyValue: "\${API_KEY}" }
    gaugeReadings:
      - { name: api.users, dataKey: users, unit: "1" }
`;
const BROKEN = `  - name: broken
    frequency: soon
    baseUrl: https://api.example.com
    endpoint: /
    scrape: { type: instant }`;
const ENV = { API_KEY: 'key-from-the-environment' };

describe('otel-api-scraper', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'scraper-'));
    file = join(folder, 'config.yaml');
    await writeFile(file, FILE);
  });
  const env = () => ({ ...ENV, STATE_FILE: join(folder, 'state.db') });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const health = async (url: string, path = '/healthz'): Promise<Record<string, unknown>> => {
    const response = await fetch(url + path, { signal: AbortSignal.timeout(5000) });
    return (await response.json()) as Record<string, unknown>;
  };
  const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

  test('serves health and ends with 0 after SIGTERM', async () => {
    await using scraper = await startScraper(file, { env: env() });
    await vi.waitFor(async () =>
      expect(await health(scraper.url)).toEqual({
        status: 'ok',
        version: expect.stringMatching(/^\d/),
        config_hash: hashOf(FILE),
        sources: [
          {
            name: 'status',
            // The first run only remembers the time.
            last_scrape: expect.stringMatching(/^\d{4}-.*Z$/),
            last_success: null,
            watermark: null,
            records: 0,
            last_error: null,
            owner: true,
            paused: false,
            open_windows: 0,
            dead_windows: 0,
          },
        ],
      }),
    );
    expect(await health(scraper.url, '/health')).toEqual({ status: 'ok' });
    expect(await health(scraper.url, '/livez')).toEqual({ status: 'ok' });
    expect(await health(scraper.url, '/readyz')).toEqual({ status: 'ok' });
    expect(await scraper.stop()).toEqual({ code: 0, signal: null });
    expect(scraper.stdout()).toContain('"msg":"stopped"');
    expect(scraper.stdout() + scraper.stderr()).not.toMatch(/key-from-the-environment|collector-pass/);
  });

  test('takes a new file while it runs, and keeps the last one when the new one is invalid', async () => {
    await using scraper = await startScraper(file, { env: env() });
    const broken = FILE.replace('frequency: 1d', 'frequency: soon').replace('instant', 'sometimes');
    await writeFile(file, broken);
    await vi.waitFor(async () => expect((await health(scraper.url)).status).toBe('degraded'), 10_000);
    const degraded = await health(scraper.url);
    expect(degraded.config_hash).toBe(hashOf(FILE));
    expect(degraded.config_error).toMatch(/sources\[0\]\.frequency must be a duration[^]*scrape\.type must be one of/);
    expect(await health(scraper.url, '/readyz')).toEqual({ status: 'ok' });

    const second = FILE.replace('name: status', 'name: second');
    await writeFile(file, second);
    await vi.waitFor(async () => expect((await health(scraper.url)).config_hash).toBe(hashOf(second)), 10_000);
    const healed = await health(scraper.url);
    expect(healed).toMatchObject({ status: 'ok', sources: [{ name: 'second' }] });
    expect(healed).not.toHaveProperty('config_error');
    expect(scraper.stdout()).toContain('configuration reload failed: keeping the previous one');
  });

  test('takes a new ConfigMap as the kubelet brings it', async () => {
    const project = async (revision: number, text: string): Promise<void> => {
      await mkdir(join(folder, 'etc', `..${revision}`), { recursive: true });
      await writeFile(join(folder, 'etc', `..${revision}`, 'config.yaml'), text);
      await symlink(`..${revision}`, join(folder, 'etc/..data_tmp'));
      await rename(join(folder, 'etc/..data_tmp'), join(folder, 'etc/..data'));
    };
    const mounted = join(folder, 'etc/config.yaml');
    await project(1, FILE);
    await symlink('..data/config.yaml', mounted);
    await using scraper = await startScraper(mounted, { env: env() });
    const second = FILE.replace('name: status', 'name: second');
    await project(2, second);
    await rm(join(folder, 'etc/..1'), { recursive: true });
    await vi.waitFor(async () => expect((await health(scraper.url)).config_hash).toBe(hashOf(second)), 10_000);
  });

  test('--references: shows whether files have changed', { timeout: 60_000 }, async () => {
    const references = join(folder, 'references');
    await mkdir(references);
    await using scraper = await startScraper(file, { env: env(), args: ['--references', references] });
    expect((await health(scraper.url)).references).toEqual({ changed: false });
    await writeFile(join(references, 'token'), 'new');
    await vi.waitFor(async () => expect((await health(scraper.url)).references).toEqual({ changed: true }), 30_000);
  });

  test('--validate prints the effective configuration without secrets', async () => {
    const { code, stdout, stderr } = await runScraper(['--validate', '--config', file], ENV);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [source] = (parse(stdout) as { sources: Record<string, unknown>[] }).sources;
    expect(source).toMatchObject({ frequency: '1d', emitLogs: true, auth: { keyValue: '<redacted>' } });
    expect(stdout).not.toMatch(/key-from-the-environment|collector-pass|tenant-in-header/);
  });

  test('--validate warns about what is probably not meant', async () => {
    await writeFile(file, FILE.replace('https:', 'http:'));
    const { code, stderr } = await runScraper(['--validate', '--config', file], ENV);
    expect(code).toBe(0);
    expect(stderr).toContain(`warning: ${file}:9: sources[0].baseUrl starts with http://`);
  });

  test.each([[['--validate']], [[]]])(
    '%j: a file that cannot be used ends it with 1 and all problems',
    async (args) => {
      await writeFile(file, FILE.replace('1d', '0s').replace('apikey', 'apiky'));
      const { code, stdout, stderr } = await runScraper([...args, '--config', file], {});
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/sources\[0\]\.frequency must be a duration/);
      expect(stderr).toMatch(/sources\[0\]\.auth\.type must be one of .*; did you mean apikey\?/);
      expect(stderr).toMatch(/refers to the environment variable API_KEY, which is unset/);
    },
  );

  test('finds its file by --config, then SCRAPER_CONFIG', async () => {
    expect((await runScraper(['--validate'], { ...ENV, SCRAPER_CONFIG: file })).code).toBe(0);
    const missing = await runScraper(['--validate', '--config', join(folder, 'missing.yaml')], {
      ...ENV,
      SCRAPER_CONFIG: file,
    });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('missing.yaml cannot be read: ENOENT') });
  });

  test('one source that cannot be used: the file is refused; with --keep-going the others run, and it says so', async () => {
    const wrong = FILE.replace('  - name: status', `${BROKEN}\n  - name: status`);
    await writeFile(file, wrong);
    expect(await runScraper(['--config', file, '--port', '0'], env())).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('sources[0].frequency'),
    });
    await using scraper = await startScraper(file, { env: env(), args: ['--keep-going'] });
    expect(await health(scraper.url)).toMatchObject({
      status: 'degraded',
      left_out: [expect.stringMatching(/^sources\[0\]\.frequency must be /)],
      sources: [{ name: 'status' }],
    });
    expect(scraper.stdout()).toMatch(/"path":"sources\[0\]\.frequency","msg":"this source is left out: must be /);
    // What is wrong elsewhere leaves nothing to go on with.
    await writeFile(file, wrong.replace('logLevel: info', 'logLevel: loud'));
    expect(await runScraper(['--config', file, '--port', '0', '--keep-going'], env())).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('scraper.logLevel'),
    });
  });

  test('--version, --help, and what it does not know', async () => {
    expect(await runScraper(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    expect(await runScraper(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('--validate') });
    expect(await runScraper(['--conifg'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--conifg') });
  });

  test('a port that is taken ends it with 1 when it was asked for', async () => {
    await using first = await startScraper(file, { env: env() });
    const { port } = new URL(first.url);
    const second = await runScraper(['--config', file, '--host', '127.0.0.1', '--port', port], env());
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('EADDRINUSE') });
  });
});
