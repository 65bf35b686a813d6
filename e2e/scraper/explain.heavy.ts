import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { records } from '../support/json-api.ts';
import { runScraper } from '../support/scraper-process.ts';
import { deliveries } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';

needsCollector();

const HOUR_MS = 3_600_000;

test('--explain shows a scrape, sends nothing, and leaves nothing behind', async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  api.records = records(30, new Date(Date.now() - HOUR_MS), 60_000);
  const firstScrapeStart = new Date(Date.now() - 2 * HOUR_MS).toISOString();
  const file = await workshop.configure([
    workshop.source('events', {
      deltaDetection: { enabled: true },
      auth: { type: 'apikey', keyName: 'X-Key', keyValue: '${API_KEY}' },
      scrape: { rangeKeys: { firstScrapeStart } },
    }),
  ]);
  const env = { API_KEY: 'api-key-0123456789' };

  const { code, stdout, stderr } = await runScraper(['--config', file, '--explain', 'events', '--limit', '2'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(parse(stdout)).toMatchObject({
    source: 'events',
    state: 'there is none yet',
    window: { start: firstScrapeStart, why: 'the first scrape begins with it' },
    requests: [{ request: expect.stringContaining(`GET ${api.url}/events?from=`), status: 200 }],
    records: { found: 30, emitted: 30, first: [{ id: 0 }, { id: 1 }] },
    metrics: { points: 3 },
    logs: { records: 30 },
  });
  expect(stdout).not.toContain('api-key');
  expect(await collector.size()).toBe(0);
  expect(await readdir(workshop.folder)).toEqual(['config.yaml']);

  // While a scraper works on the same state, what that has emitted counts.
  await using scraper = await workshop.start(file, env);
  await collector.waitFor((all) => expect(deliveries(all, 'events').size).toBe(30));
  const size = await collector.size();
  const again = await runScraper(['--config', file, '--explain', 'events'], env);
  expect(again.code).toBe(0);
  expect(parse(again.stdout)).toMatchObject({ state: expect.stringMatching(/^planned up to/), records: { found: 0 } });
  expect(await scraper.stop()).toEqual({ code: 0, signal: null });
  expect(scraper.stdout()).not.toContain('"level":"error"');
  expect(deliveries(await collector.collected(), 'events').size).toBe(30);
  expect(await collector.size()).toBeGreaterThanOrEqual(size);
});

test('--explain says what is wrong', async () => {
  await using workshop = await Workshop.open();
  workshop.api.fault = () => ({ status: 503 });
  const file = await workshop.configure([workshop.source('events'), workshop.source('orders')]);
  expect(await runScraper(['--config', file, '--explain', 'event'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'otel-api-scraper: there is no source "event"; did you mean events?\n',
  });
  const failed = await runScraper(['--config', file, '--explain', 'orders']);
  expect(failed).toMatchObject({ code: 1, stderr: '' });
  expect(parse(failed.stdout)).toMatchObject({
    requests: [{ status: 503 }],
    failure: { kind: 'status', status: 503, message: expect.stringContaining('answered 503') },
  });
});
