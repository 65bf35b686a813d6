import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { toYaml } from '../../crds/config/testing/adapter-config.ts';
import { OtlpReceiver } from '../../lib/otlp/testing/otlp-receiver.ts';
import type { HealthObject, SourceHealth } from '../../scraper/http/health.ts';
import { TestServer } from '../../scraper/requests/testing/test-server.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { type RunningScraper, startScraper } from '../support/scraper-process.ts';

const TOKEN = 'token-of-the-administrator';
/** Large enough to be worth noting. */
const LARGE = JSON.stringify(Array.from({ length: 2000 }, (_, id) => ({ id, text: 'x'.repeat(150) })));
/** Of the first window; each start asks for what has passed since the last one as well. */
const FIRST = 'from=1767225600';
const WINDOW = { firstScrapeStart: '2026-01-01T00:00:00Z', startKey: 'from', endKey: 'to' };
/** Longer than the lease of a pod that is gone. */
const LEASE_MS = 30_000;

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

/** A scraper whose API never sends the second page of the first window, which stays under way. */
class Scene implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #file: string;
  readonly api: TestServer;
  readonly collector: OtlpReceiver;

  private constructor(file: string, api: TestServer, collector: OtlpReceiver) {
    this.#file = file;
    this.api = api;
    this.collector = collector;
  }

  static async open(store: (folder: string) => object, names: readonly string[]): Promise<Scene> {
    const folder = await mkdtemp(join(tmpdir(), 'two-crashes-'));
    const collector = new OtlpReceiver();
    const api = await TestServer.start(({ target }, response) => {
      if (!target.includes(FIRST)) response.end('[]');
      else if (target.includes('page=1')) response.end(LARGE);
    });
    const file = join(folder, 'config.yaml');
    const source = (name: string): object => ({
      name,
      baseUrl: api.url,
      endpoint: `/${name}`,
      frequency: '26w',
      runFirstScrape: true,
      scrape: { type: 'range', timeFormat: 'unix', rangeKeys: WINDOW, pagination: { type: 'page' } },
    });
    const scraper = {
      otelCollectorEndpoint: await collector.listen(),
      otelTransport: 'http',
      enforceTls: false,
      enableAdminApi: true,
      adminSecretEnv: 'ADMIN_SECRET',
      terminateGracefully: false,
      fingerprintStore: store(folder),
    };
    await writeFile(file, toYaml({ scraper, sources: names.map(source) }));
    const scene = new Scene(file, api, collector);
    scene.#stack.use(collector);
    scene.#stack.defer(() => api.close());
    scene.#stack.defer(() => rm(folder, { recursive: true }));
    return scene;
  }

  async start(): Promise<RunningScraper> {
    return this.#stack.use(await startScraper(this.#file, { env: { ADMIN_SECRET: TOKEN } }));
  }

  /** A life of the scraper, from its start until the first pages of so many windows have been read. */
  async live(windows = 1): Promise<RunningScraper> {
    const before = this.api.requests.length;
    const scraper = await this.start();
    const isSecond = (target: string): boolean => target.includes(FIRST) && target.includes('page=2');
    const reading = (): number => this.api.targets.slice(before).filter(isSecond).length;
    await vi.waitFor(() => expect(reading()).toBe(windows), { timeout: LEASE_MS, interval: 100 });
    return scraper;
  }

  async crash(windows = 1): Promise<void> {
    const scraper = await this.live(windows);
    scraper.kill();
    await scraper.exited;
  }

  async stopInOrder(): Promise<void> {
    const scraper = await this.live();
    expect(await scraper.stop()).toEqual({ code: 0, signal: null });
  }

  async health(scraper: RunningScraper): Promise<readonly SourceHealth[]> {
    const response = await fetch(`${scraper.url}/healthz`, { signal: AbortSignal.timeout(5000) });
    return ((await response.json()) as HealthObject).sources;
  }

  /** Whatever it was, it is over. */
  mend(): void {
    this.api.answer = ({ target }, response) =>
      void response.end(target.includes(FIRST) && target.includes('page=1') ? LARGE : '[]');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

const admin = async (url: string, path: string, method = 'GET'): Promise<unknown> => {
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const response = await fetch(`${url}${path}`, { method, headers, signal: AbortSignal.timeout(5000) });
  expect(response.status).toBeLessThan(300);
  return response.json();
};

describe.each([
  ['SQLite', (folder: string) => ({ sqlite: { path: join(folder, 'state.db') } })],
  [
    'Redis',
    () => ({ backend: 'redis', valkey: { host: redis.host, port: redis.port, keyPrefix: `${randomUUID()}:` } }),
  ],
])('T17: a window that was read when the process was killed, %s', (_name, store) => {
  test('twice: it is set aside with its reason, the scraper goes on, and the window can be tried again', async () => {
    await using scene = await Scene.open(store, ['events']);
    // To stop in good order is no crash, however often.
    for (let count = 0; count < 3; count += 1) await scene.stopInOrder();
    await scene.crash();
    await scene.stopInOrder();
    await scene.crash();
    const scraper = await scene.start();
    await vi.waitFor(async () => expect(await scene.health(scraper)).toMatchObject([{ dead_windows: 1 }]), {
      timeout: LEASE_MS,
      interval: 200,
    });
    expect(JSON.stringify(await admin(scraper.url, '/sources/events/windows'))).toContain('the scraper ended twice');
    expect(scene.collector.accepted).toEqual([]);

    scene.mend();
    await admin(scraper.url, '/sources/events/retry', 'POST');
    await vi.waitFor(async () => expect(await scene.health(scraper)).toMatchObject([{ dead_windows: 0 }]), 20_000);
    await vi.waitFor(() => expect(scene.collector.accepted.flatMap(({ logs }) => logs)).toHaveLength(2000), 20_000);
  }, 120_000);

  test('beside another one: only one of them is under way when the scraper ends again, and only that is set aside', async () => {
    await using scene = await Scene.open(store, ['events', 'others']);
    await scene.crash(2);
    await scene.crash();
    scene.mend();
    const scraper = await scene.start();
    const known = async (): Promise<unknown> =>
      (await scene.health(scraper))
        .map(({ dead_windows: dead, open_windows: open }) => ({ dead, open }))
        .toSorted((a, b) => a.dead - b.dead);
    await vi.waitFor(
      async () =>
        expect(await known()).toEqual([
          { dead: 0, open: 0 },
          { dead: 1, open: 0 },
        ]),
      { timeout: LEASE_MS, interval: 200 },
    );
  }, 120_000);
});
