import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { records } from '../support/json-api.ts';
import type { RunningScraper } from '../support/scraper-process.ts';
import { committed, counted, deliveries, expectDelivery, within } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';

needsCollector();

const STEP_MS = 50;
const MINUTE_MS = 60_000;

/** Records that take place while the test runs: the API shows those of the past and present. */
const eventsFromNow = (start: Date, seconds: number) => records((seconds * 1000) / STEP_MS, start, STEP_MS);

/** Everything before this time is committed. */
async function caughtUp(workshop: Workshop, scraper: RunningScraper, sources: readonly string[], time: Date) {
  await workshop.collector.waitFor(async () => {
    for (const source of sources) {
      const { watermark } = await workshop.status(scraper, source);
      expect(Date.parse(String(watermark))).toBeGreaterThan(time.getTime());
    }
  }, 60_000);
}

/** What the ledger has, after the scraper has ended. */
const progress = (workshop: Workshop, source: string) =>
  workshop.ledger(
    async (ledger) =>
      [await ledger.windows(source, { offset: 0, limit: 1000 }), (await ledger.source(source))?.watermark] as const,
  );

test('a minute without a collector: nothing is missing, and nothing comes twice', { timeout: 180_000 }, async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const start = new Date();
  api.records = eventsFromNow(start, 180);
  const retry = { maxAttempts: 3, initialDelay: '1s', maxDelay: '5s' };
  const source = workshop.source('events', { scrape: { retry, rangeKeys: { firstScrapeStart: start.toISOString() } } });
  await using scraper = await workshop.start(await workshop.configure([source]));
  await collector.waitFor((all) => expect(deliveries(all, 'events').size).toBeGreaterThan(20));

  await collector.stop();
  const down = new Date();
  await delay(MINUTE_MS);
  const duringOutage = await workshop.status(scraper, 'events');
  expect(new Date(String(duringOutage['watermark'])).getTime()).toBeLessThanOrEqual(down.getTime());
  expect(duringOutage['last_error']).toMatch(/collector|connect|UNAVAILABLE/i);
  await collector.start();
  const back = new Date();

  await caughtUp(workshop, scraper, ['events'], back);
  expect(await scraper.stop()).toEqual({ code: 0, signal: null });
  const [windows, watermark] = await progress(workshop, 'events');
  const wanted = committed(api.records, windows, watermark);
  const all = await collector.collected();
  expect(expectDelivery(all, 'events', wanted)).toBe(0);
  expect(counted(all, 'events', 'events')).toBe(wanted.length);
  // What could not be sent cannot have come; only a request that is cut off when the collector stops is in doubt.
  expect(windows.filter((window) => window.mayRepeat).length).toBeLessThan(3);
  expect(scraper.stdout()).toContain('"msg":"window failed"');
});

test('a collector that hangs: sums never fall, and what may come twice is known and counted', async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const start = new Date();
  api.records = eventsFromNow(start, 60);
  const scrape = { rangeKeys: { firstScrapeStart: start.toISOString() } };
  const sources = [
    workshop.source('events', { scrape }),
    workshop.source('logs only', { scrape, counterReadings: [] }),
  ];
  const http = { otelTransport: 'http', otelCollectorEndpoint: collector.http };
  const file = await workshop.configure(sources, { enableSelfTelemetry: true, ...http });
  await using scraper = await workshop.start(file, { OTEL_EXPORTER_OTLP_TIMEOUT: '500' });
  await collector.waitFor((all) => expect(deliveries(all, 'events').size).toBeGreaterThan(20));
  // The window that is in doubt first has more records than those after it.
  const burst = records(600, new Date(), 1, 100_000);
  api.records = [...api.records, ...burst].sort((a, b) => a.at.localeCompare(b.at));
  collector.freeze();
  for (const source of ['events', 'logs only']) {
    await scraper.waitForStdout(new RegExp(`"source":"${source}".*"msg":"window failed"`), 30_000);
  }
  collector.thaw();
  const back = new Date();
  await caughtUp(workshop, scraper, ['events', 'logs only'], back);
  expect(await scraper.stop()).toEqual({ code: 0, signal: null });

  const all = await collector.collected();
  for (const source of ['events', 'logs only']) {
    const [windows, watermark] = await progress(workshop, source);
    const wanted = committed(api.records, windows, watermark);
    const mayRepeat = windows.filter((window) => window.mayRepeat);
    expect(mayRepeat.length).toBeGreaterThan(0);
    const repeated = expectDelivery(all, source, wanted, mayRepeat);
    const inDoubt = counted(all, source, 'scraper_records_maybe_repeated_total');
    expect(inDoubt).toBe(wanted.filter((record) => mayRepeat.some((window) => within(record, window))).length);
    // Metrics go first, so that their logs were not sent yet; and sums are sent again without being added again.
    if (source === 'events') expect([repeated, counted(all, source, 'events')]).toEqual([0, wanted.length]);
    else expect(repeated).toBeGreaterThan(0);
  }
});
