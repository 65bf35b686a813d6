import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Scraper } from './scraper.ts';
import { startRedis, type TestRedis } from './state/testing/redis-server.ts';
import { loaded, range, ScraperKit } from './testing/scraper-kit.ts';

const SOON = { timeout: 15_000, interval: 20 };
const NAMES = Array.from({ length: 12 }, (_, index) => `source-${index}`);

const owned = (scraper: Scraper): string[] => scraper.sources().flatMap(({ name, owner }) => (owner ? [name] : []));

// They wait for leases and outages, each with pods of its own.
describe('pods that share a Redis', { concurrent: true }, () => {
  let redis: TestRedis;
  let tests = 0;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  /** Settings of the pods of one test. */
  const settings = () => ({
    fingerprintStore: { backend: 'redis', valkey: { ...redis.server, keyPrefix: `test-${(tests += 1)}:` } },
  });

  test('each have their sources, and one that leaves gives them to the other at once', async () => {
    await using kit = await ScraperKit.start();
    const config = kit.config(
      NAMES.map((name) => ({ name })),
      settings(),
    );
    const [a, b] = [await kit.create(config), await kit.create(config)];
    await Promise.all([a.start(), b.start()]);
    await vi.waitFor(() => {
      expect(owned(a)).not.toEqual([]);
      expect(owned(b)).not.toEqual([]);
      expect([...owned(a), ...owned(b)].sort()).toEqual([...NAMES].sort());
    }, SOON);
    expect([a.ready(), b.ready()]).toEqual([undefined, undefined]);
    const [here = ''] = owned(a);
    const [there = ''] = owned(b);
    expect(await a.trigger(there)).toBe('elsewhere');
    expect(await a.trigger(here)).toMatch(/done|running/);
    await a.stop();
    await vi.waitFor(() => expect(owned(b)).toHaveLength(NAMES.length), SOON);
    const before = kit.requests(here);
    await vi.waitFor(() => expect(kit.requests(here)).toBeGreaterThan(before + 1), SOON);
  });

  test('what is asked of one pod is done by the owner', async () => {
    await using kit = await ScraperKit.start();
    const config = kit.config(
      NAMES.map((name) => ({ name, scrape: range() })),
      settings(),
    );
    const [a, b] = [await kit.create(config), await kit.create(config)];
    await Promise.all([a.start(), b.start()]);
    await vi.waitFor(() => expect(Math.min(owned(a).length, owned(b).length)).toBeGreaterThan(0), SOON);
    const [name = ''] = owned(b);
    const hour = Date.now() - 3_600_000;
    expect(await a.backfill(name, { start: new Date(hour), end: new Date(hour + 60_000) })).toBe(1);
    await vi.waitFor(
      () => expect(kit.api.targets).toContainEqual(expect.stringContaining(`/${name}?from=${Math.floor(hour / 1000)}`)),
      SOON,
    );
    await a.pause(name);
    await vi.waitFor(() => {
      expect(b.sources().find((status) => status.name === name)).toMatchObject({ paused: true, running: false });
    }, SOON);
    const before = kit.requests(name);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(kit.requests(name)).toBe(before);
    await a.resume(name);
    await vi.waitFor(() => expect(kit.requests(name)).toBeGreaterThan(before), SOON);
  });

  test('what is asked of another pod begins within seconds, however rare the runs are', async () => {
    await using kit = await ScraperKit.start();
    const config = kit.config(
      NAMES.map((name) => ({ name, frequency: '1d', scrape: range() })),
      settings(),
    );
    const [a, b] = [await kit.create(config), await kit.create(config)];
    await Promise.all([a.start(), b.start()]);
    const ran = (): string[] => owned(b).filter((name) => b.runs(name)[0]?.ended !== undefined);
    await vi.waitFor(() => expect(Math.min(owned(a).length, ran().length)).toBeGreaterThan(0), SOON);
    const [name = ''] = ran();
    const hour = Date.now() - 3_600_000;
    expect(await a.backfill(name, { start: new Date(hour), end: new Date(hour + 60_000) })).toBe(1);
    const asked = expect.stringContaining(`/${name}?from=${Math.floor(hour / 1000)}`);
    await vi.waitFor(() => expect(kit.api.targets).toContainEqual(asked), SOON);
    const paused = (): unknown => b.sources().find((status) => status.name === name)?.paused;
    await a.pause(name);
    await vi.waitFor(() => expect(paused()).toBe(true), SOON);
    const before = kit.requests(name);
    await a.resume(name);
    await vi.waitFor(() => expect(kit.requests(name)).toBe(before + 1), SOON);
    expect(paused()).toBe(false);
  });

  test('a source that goes and comes back while Redis is away runs on, as it is configured then', async () => {
    await using kit = await ScraperKit.start();
    const other = await startRedis();
    try {
      const store = { fingerprintStore: { backend: 'redis', valkey: other.server } };
      const config = (endpoint: string) => loaded(kit.config([{ name: 'stays' }, { name: 'a', endpoint }], store));
      const pod = await kit.create(config('/before').config);
      await pod.start();
      await vi.waitFor(() => expect(kit.requests('before')).toBeGreaterThan(0), SOON);
      await other.use((client) => client.config('SET', 'min-replicas-to-write', 1));
      await vi.waitFor(() => expect(pod.ready()).toBe('state_store_unavailable'), SOON);
      pod.replace(loaded(kit.config([{ name: 'stays' }], store)));
      pod.replace(config('/after'));
      await other.use((client) => client.config('SET', 'min-replicas-to-write', 0));
      await vi.waitFor(() => expect(kit.requests('after')).toBeGreaterThan(0), SOON);
      expect(owned(pod).sort()).toEqual(['a', 'stays']);
      expect(await pod.trigger('a')).toMatch(/done|running/);
      const before = kit.requests('before');
      await vi.waitFor(() => expect(kit.requests('after')).toBeGreaterThan(2), SOON);
      expect(kit.requests('before')).toBe(before);
    } finally {
      await other.stop();
    }
  });

  test('an outage of Redis is waited for, and everything since is scraped then', async () => {
    await using kit = await ScraperKit.start();
    const other = await startRedis();
    try {
      const valkey = other.server;
      const config = kit.config([{ name: 'a', scrape: range() }], { fingerprintStore: { backend: 'redis', valkey } });
      await other.stop();
      const pod = await kit.create(config);
      await pod.start();
      await vi.waitFor(() => expect(pod.ready()).toBe('state_store_unavailable'), SOON);
      await other.start();
      await vi.waitFor(() => expect(kit.delivered('a').length).toBeGreaterThan(1), SOON);
      expect(pod.ready()).toBeUndefined();
      await other.stop();
      await vi.waitFor(() => expect(pod.ready()).toBe('state_store_unavailable'), SOON);
      const before = kit.delivered('a').length;
      await other.start();
      await vi.waitFor(() => expect(kit.delivered('a').length).toBeGreaterThan(before), SOON);
    } finally {
      await other.stop();
    }
  });
});
