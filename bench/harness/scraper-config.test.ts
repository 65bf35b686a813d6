import { describe, expect, test } from 'vitest';
import { loadScraperConfig } from '../../crds/config/load/load.ts';
import { fleetConfig, scraperConfig } from './scraper-config.ts';

const sink = 'http://127.0.0.1:4000';
const job = { sink, folder: '/tmp/x', records: 10, windows: 0, wait: 0, logs: true, fingerprints: true };

describe('the configuration of a measured scraper', () => {
  test('one page has 3 readings, 4 attributes, logs and fingerprints', () => {
    const { scraper, sources } = loadScraperConfig(scraperConfig(job, 4001), {});
    expect(scraper).toMatchObject({ servicePort: 4001, fingerprintStore: { backend: 'sqlite' } });
    expect(sources).toMatchObject([
      { scrape: { type: 'instant', extraArgs: { n: 10 } }, emitLogs: true, deltaDetection: { enabled: true } },
    ]);
    expect(sources[0]?.attributes).toHaveLength(4);
  });

  test('windows begin as many hours ago as there are', () => {
    const now = Date.UTC(2026, 0, 5, 12, 0, 0, 500);
    const { sources } = loadScraperConfig(scraperConfig({ ...job, windows: 36 }, 4001, undefined, now), {});
    expect(sources[0]?.scrape.rangeKeys?.firstScrapeStart).toBe('2026-01-04T00:00:00Z');
    expect(sources[0]?.scrape.parallelWindow).toEqual({ unit: 'minutes', value: 60 });
  });

  test('state is in Redis where there is one', () => {
    const { fingerprintStore } = loadScraperConfig(scraperConfig(job, 4001, 4002), {}).scraper;
    expect(fingerprintStore).toMatchObject({ backend: 'valkey', valkey: { host: '127.0.0.1', port: 4002 } });
  });

  test('a fleet has that many sources of both types', () => {
    const { sources } = loadScraperConfig(fleetConfig(sink, 4, '30s', 4001, { folder: '/tmp/x' }), {});
    expect(sources.map(({ scrape }) => scrape.type)).toEqual(['instant', 'range', 'instant', 'range']);
    expect(sources.every(({ frequency }) => frequency === 30_000)).toBe(true);
  });
});
