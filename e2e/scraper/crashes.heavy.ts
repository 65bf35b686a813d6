import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { LedgerWindow } from '../../scraper/state/ledger.ts';
import { seeded } from '../adapter/files/kit/random.ts';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { records } from '../support/json-api.ts';
import { counted, deliveries, expectAll, expectDelivery, within } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';

needsCollector();

const MINUTE_MS = 60_000;
const WINDOWS = 200;
const PER_WINDOW = 5;
const KILLS = 30;
const SEED = 20_251_128;

/** Where a life ends. */
const ENDS = ['anywhere', 'asking', 'sending'] as const;

test('30 kills in a backfill of 200 windows', { timeout: 180_000 }, async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const random = seeded(SEED);
  const start = new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - WINDOWS * MINUTE_MS);
  const end = new Date(start.getTime() + WINDOWS * MINUTE_MS);
  api.records = records(WINDOWS * PER_WINDOW, start, MINUTE_MS / PER_WINDOW);
  const source = workshop.source('events', {
    frequency: '1d',
    scrape: {
      rangeKeys: { firstScrapeStart: start.toISOString() },
      parallelWindow: { unit: 'minutes', value: 1 },
      maxConcurrency: 4,
    },
  });
  const file = await workshop.configure([source]);

  /** Windows that were being sent, or had been and were not committed, when a life ended. */
  const mayRepeat = new Map<string, LedgerWindow>();
  /** How often that was so. */
  let doubts = 0;
  const ends = new Map<string, number>();
  for (let life = 0; life < KILLS; life += 1) {
    const how = ENDS[Math.floor(random() * ENDS.length)] ?? 'anywhere';
    const answers = 3 + Math.floor(random() * 8);
    const pauseMs = Math.floor(random() * 25);
    const from = api.requests.length;
    // No life comes further than this many answers, so that the windows last for all of them.
    api.fault = () => (api.requests.length - from < answers ? undefined : 'hang');
    const scraper = await workshop.start(file);
    const last = await api.waitFor(() => true, 15_000, from + answers - 1);
    if (how === 'sending') collector.freeze();
    if (how === 'asking') await api.waitFor(({ fault }) => fault === 'hang', 15_000, from);
    // The last answer is on its way, or worked on, or sent, or committed.
    await delay(pauseMs + (how === 'sending' ? 30 : 0));
    scraper.kill();
    await scraper.exited;
    collector.thaw();
    api.release();
    expect(last.fault).toBeUndefined();

    const [windows, watermark] = await workshop.ledger(async (ledger) => [
      await ledger.windows('events', { offset: 0, limit: 1000 }),
      (await ledger.source('events'))?.watermark ?? start,
    ]);
    const open = windows.filter(({ state }) => state !== 'committed');
    for (const window of open) {
      expect(watermark.getTime()).toBeLessThanOrEqual(window.start.getTime());
      if (window.mayRepeat) mayRepeat.set(window.id, window);
      if (window.state !== 'open') doubts += 1;
    }
    const collected = await collector.collected();
    const before = { start, end: watermark };
    expectAll(
      collected,
      'events',
      api.records.filter((record) => within(record, before)),
    );
    // What has come and was not committed is known to be in danger of coming again.
    const untouched = open.filter(({ id }) => !mayRepeat.has(id));
    const counts = deliveries(collected, 'events');
    const early = api.records.filter(({ id }) => counts.has(id)).filter((one) => untouched.some((w) => within(one, w)));
    expect(early).toEqual([]);
    ends.set(how, (ends.get(how) ?? 0) + 1);
  }

  expect([...ends.keys()].sort()).toEqual([...ENDS].sort());
  api.fault = () => undefined;
  await using scraper = await workshop.start(file);
  await collector.waitFor((all) => expectAll(all, 'events', api.records));
  await collector.waitFor(async () => {
    // Also the windows of the time that the test itself takes.
    const { watermark, open_windows: open } = await workshop.status(scraper, 'events');
    expect(Date.parse(String(watermark))).toBeGreaterThanOrEqual(end.getTime());
    expect(open).toBe(0);
  });
  expect(await scraper.stop()).toEqual({ code: 0, signal: null });

  const all = await collector.collected();
  const inDanger = [...mayRepeat.values()];
  const repeated = expectDelivery(all, 'events', api.records, inDanger);
  const count = counted(all, 'events', 'events');
  for (const more of [repeated, count - api.records.length]) {
    expect(more).toBeGreaterThanOrEqual(0);
    expect(more).toBeLessThanOrEqual(doubts * PER_WINDOW);
  }
  // Lives that end while something is sent leave it in doubt, or the test would show nothing.
  expect(inDanger.length).toBeGreaterThan(0);
  expect(repeated).toBeGreaterThan(0);
  await workshop.ledger(async (ledger) => {
    expect(await ledger.source('events')).toMatchObject({ openWindows: 0, deadWindows: 0 });
    // The ledger itself knows them, as far as it remembers windows.
    for (const window of await ledger.windows('events', { offset: 0, limit: 1000 })) {
      expect([window.id, window.mayRepeat]).toEqual([window.id, mayRepeat.has(window.id)]);
    }
  });
});
