import { expect, test } from 'vitest';
import { seeded } from '../adapter/files/kit/random.ts';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { atRandom, records } from '../support/json-api.ts';
import { counted, deliveries, expectDelivery } from './kit/delivery.ts';
import { Workshop } from './kit/workshop.ts';

needsCollector();

const MINUTE_MS = 60_000;
const WINDOWS = 60;
const SEED = 20_240_601;

const failures = (stdout: string, source: string): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter((line) => line.includes('"msg":"window failed"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['source'] === source);

test('an API that fails at random: everything comes once, and other sources do not notice', async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const start = new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - WINDOWS * MINUTE_MS);
  api.records = records(WINDOWS * 12, start, MINUTE_MS / 12);
  api.pageSize = 8;
  const random = atRandom(seeded(SEED), 0.3);
  api.fault = (request) => (request.headers['x-source'] === 'shaky' ? random() : undefined);
  const rangeKeys = { firstScrapeStart: start.toISOString() };
  const shaky = workshop.source('shaky', {
    frequency: '1d',
    scrape: {
      rangeKeys,
      timeout: '1s',
      parallelWindow: { unit: 'minutes', value: 1 },
      pagination: { type: 'cursor', cursorKey: 'meta.next', cursorParam: 'cursor' },
      extraArgs: { paging: 'cursor' },
      maxConcurrency: 8,
    },
  });
  const steady = workshop.source('steady', { scrape: { rangeKeys } });
  await using scraper = await workshop.start(await workshop.configure([shaky, steady]));
  await collector.waitFor((all) => expect(deliveries(all, 'shaky').size).toBe(api.records.length), 60_000);
  await collector.waitFor(async () => {
    expect(await workshop.status(scraper, 'shaky')).toMatchObject({ open_windows: 0 });
  });
  expect(await scraper.stop()).toEqual({ code: 0, signal: null });

  const all = await collector.collected();
  for (const source of ['shaky', 'steady']) {
    expect(expectDelivery(all, source, api.records)).toBe(0);
    expect(counted(all, source, 'events')).toBe(api.records.length);
  }
  // Each fault is the failure of one attempt, and is told in one line.
  const faults = api.requests.filter(({ fault }) => fault !== undefined);
  expect(new Set(faults.map(({ fault }) => JSON.stringify(fault))).size).toBe(9);
  expect(failures(scraper.stdout(), 'shaky')).toHaveLength(faults.length);
  expect(failures(scraper.stdout(), 'steady')).toHaveLength(0);
  const asked = api.requests.filter(({ headers }) => headers['x-source'] === 'steady').map(({ time }) => time);
  const gaps = asked.slice(1).map((time, index) => time - (asked[index] ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(4000);

  await workshop.ledger(async (ledger) => {
    const { openWindows, deadWindows, watermark } = (await ledger.source('shaky')) ?? {};
    expect({ openWindows, deadWindows }).toEqual({ openWindows: 0, deadWindows: 0 });
    expect(watermark?.getTime()).toBeGreaterThanOrEqual(start.getTime() + WINDOWS * MINUTE_MS);
  });
});

test('Retry-After is heeded, and a window that fails for good holds the watermark and no other window', async () => {
  await using workshop = await Workshop.open();
  const { api, collector } = workshop;
  const start = new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS);
  api.records = records(100, start, MINUTE_MS / 10);
  const minute = (number: number): string => new Date(start.getTime() + number * MINUTE_MS).toISOString();
  const asksFor = (
    number: number,
    { parameters }: { readonly parameters: Readonly<Record<string, string>> },
  ): boolean => Date.parse(parameters['from'] ?? '') === Date.parse(minute(number));
  let late = 0;
  api.fault = (request) => {
    if (asksFor(3, request)) return { status: 500 };
    if (asksFor(5, request) && (late += 1) === 1) return { status: 429, headers: { 'retry-after': '3' } };
    return undefined;
  };
  const source = workshop.source('events', {
    frequency: '1d',
    scrape: {
      rangeKeys: { firstScrapeStart: start.toISOString() },
      parallelWindow: { unit: 'minutes', value: 1 },
      retry: { maxAttempts: 3, initialDelay: '1s', maxDelay: '1s' },
    },
  });
  await using scraper = await workshop.start(await workshop.configure([source]));
  await collector.waitFor((all) => expect(deliveries(all, 'events').size).toBe(90));
  await collector.waitFor(async () => {
    expect(await workshop.status(scraper, 'events')).toMatchObject({ watermark: minute(3), open_windows: 0 });
  });
  await scraper.stop();
  const wanted = api.records.filter(({ at }) => at < minute(3) || at >= minute(4));
  expect(expectDelivery(await collector.collected(), 'events', wanted)).toBe(0);
  expect(api.requests.filter((request) => asksFor(3, request))).toHaveLength(3);
  const [refused, again] = api.requests.filter((request) => asksFor(5, request));
  expect((again?.time ?? 0) - (refused?.time ?? 0)).toBeGreaterThanOrEqual(3000);
  await workshop.ledger(async (ledger) => {
    expect(await ledger.source('events')).toMatchObject({
      openWindows: 0,
      deadWindows: 1,
      watermark: new Date(minute(3)),
    });
  });
});
