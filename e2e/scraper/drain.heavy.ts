import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { records } from '../support/json-api.ts';
import { deliveries, expectDelivery } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';

needsCollector();

const MINUTE_MS = 60_000;

/** One window of the past minutes, whose answer hangs until it is released. */
async function hanging(settings: Readonly<Record<string, unknown>>) {
  const workshop = await Workshop.open();
  const { api } = workshop;
  const start = new Date(Date.now() - 10 * MINUTE_MS);
  api.records = records(50, start, 1000);
  api.fault = () => 'hang';
  const source = workshop.source('events', {
    frequency: '1d',
    scrape: { rangeKeys: { firstScrapeStart: start.toISOString() } },
  });
  const file = await workshop.configure([source], settings);
  const scraper = await workshop.start(file);
  await api.waitFor(() => true);
  return { workshop, file, scraper };
}

test('SIGTERM: the window that runs is finished, and self-telemetry is sent', async () => {
  const { workshop, scraper } = await hanging({ enableSelfTelemetry: true });
  await using opened = workshop;
  const { api, collector } = opened;
  scraper.kill('SIGTERM');
  await delay(500);
  expect(scraper.hasExited()).toBe(false);
  api.release();
  expect(await scraper.exitsWithin(10_000)).toEqual({ code: 0, signal: null });
  const all = await collector.collected();
  expect(expectDelivery(all, 'events', api.records)).toBe(0);
  expect(api.requests).toHaveLength(1);
  // Its time between two exports is a minute.
  for (const name of ['scraper_runs_total', 'scraper_scrape_total']) {
    const runs = all.points.filter((point) => point.name === name);
    expect(runs.map(({ attributes, value }) => ({ attributes, value }))).toEqual([
      { attributes: { source: 'events', status: 'success', api_type: 'range' }, value: 1 },
    ]);
  }
  expect(all.logs.filter(({ scope }) => scope.name === 'scraper.self')).toHaveLength(1);
  await workshop.ledger(async (ledger) => {
    expect(await ledger.source('events')).toMatchObject({ openWindows: 0, watermark: expect.any(Date) });
  });
});

test.each([
  ['terminateGracefully: false', { terminateGracefully: false }, 0, 5000],
  ['shutdownGrace: 1s', { shutdownGrace: '1s' }, 900, 8000],
])('SIGTERM with %s: what runs is given up, and scraped by the next process', async (_, settings, atLeast, atMost) => {
  const { workshop, file, scraper } = await hanging(settings);
  await using opened = workshop;
  const { api, collector } = opened;
  const asked = performance.now();
  expect(await scraper.stop()).toEqual({ code: 0, signal: null });
  const took = performance.now() - asked;
  expect([took >= atLeast, took <= atMost]).toEqual([true, true]);
  expect(deliveries(await collector.collected(), 'events').size).toBe(0);
  await workshop.ledger(async (ledger) => {
    expect(await ledger.source('events')).toMatchObject({ openWindows: 1, deadWindows: 0 });
    const [window] = await ledger.windows('events', { offset: 0, limit: 1 });
    expect(window).toMatchObject({ state: 'open', mayRepeat: false });
  });

  api.fault = () => undefined;
  await using second = await workshop.start(file);
  await collector.waitFor((all) => expect(deliveries(all, 'events').size).toBe(api.records.length));
  await second.stop();
  expect(expectDelivery(await collector.collected(), 'events', api.records)).toBe(0);
});
