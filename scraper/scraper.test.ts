import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { describe, expect, test, vi } from 'vitest';
import { answer } from '../lib/otlp/testing/otlp-receiver.ts';
import { inTurn, json } from './requests/testing/test-server.ts';
import { SqliteLedger } from './state/sqlite-ledger.ts';
import { lockStateFile } from './state/sqlite-lock.ts';
import { Refused } from './status.ts';
import { loaded, range, ScraperKit } from './testing/scraper-kit.ts';

const SOON = { timeout: 5_000, interval: 10 };
/** Each has a scraper, an API and a collector of its own, and waits for them most of its time. */
const SIDE_BY_SIDE = { concurrent: true };
const statusOf = (scraper: { sources(): readonly { name: string }[] }, name: string) =>
  scraper.sources().find((status) => status.name === name);

describe('sources of a configuration', SIDE_BY_SIDE, () => {
  test('run at once and at their times, each by itself', async () => {
    await using kit = await ScraperKit.start();
    kit.api.answer = (request, response) => json([{ id: 1 }], request.target === '/bad' ? 500 : 200)(request, response);
    const scraper = await kit.create(kit.config([{ name: 'good' }, { name: 'bad' }]));
    await scraper.start();
    await vi.waitFor(() => expect(kit.delivered('good').length).toBeGreaterThanOrEqual(3), SOON);
    expect(statusOf(scraper, 'good')).toMatchObject({
      owner: true,
      lastRun: expect.any(Date),
      lastSuccess: expect.any(Date),
      nextRun: expect.any(Date),
      lastError: undefined,
      records: 1,
    });
    expect(statusOf(scraper, 'bad')).toMatchObject({ lastError: expect.stringContaining('answered 500') });
    expect(scraper.runs('good').length).toBeGreaterThanOrEqual(3);
    expect(scraper.runs('good').at(-1)).toMatchObject({ trigger: 'first' });
    expect(scraper.ready()).toBeUndefined();
    expect(scraper.pods().live).toEqual([scraper.pods().self]);
  });

  test('a source of which nothing can be made does not stop the others', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(
      kit.config([
        { name: 'broken', filters: { drop: [{ any: [{ field: 'a', matchType: 'regex', value: '(' }] }] } },
        { name: 'good' },
      ]),
    );
    await scraper.start();
    await vi.waitFor(() => expect(kit.delivered('good')).not.toEqual([]), SOON);
    expect(statusOf(scraper, 'broken')).toMatchObject({
      owner: false,
      unusable: expect.stringContaining('filters.drop[0].any[0].value'),
      lastError: expect.stringContaining('filters.drop[0].any[0].value'),
    });
    expect(kit.requests('broken')).toBe(0);
    expect(await scraper.trigger('broken')).toBe('unusable');
  });

  test('come, change and go while it runs', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(kit.config([{ name: 'goes' }, { name: 'changes' }, { name: 'stays' }]));
    await scraper.start();
    await vi.waitFor(() => expect(kit.delivered('goes')).not.toEqual([]), SOON);
    const next = kit.config([{ name: 'changes', endpoint: '/elsewhere' }, { name: 'stays' }, { name: 'comes' }]);
    scraper.replace(loaded(next));
    expect(scraper.sources().map(({ name }) => name)).toEqual(['changes', 'stays', 'comes']);
    await vi.waitFor(() => expect(kit.requests('comes')).toBeGreaterThan(0), SOON);
    await vi.waitFor(() => expect(kit.requests('elsewhere')).toBeGreaterThan(0), SOON);
    const [goes, changes, stays] = ['goes', 'changes', 'stays'].map((name) => kit.requests(name));
    await vi.waitFor(() => expect(kit.requests('stays')).toBeGreaterThan((stays ?? 0) + 1), SOON);
    expect([kit.requests('goes'), kit.requests('changes')]).toEqual([goes, changes]);
    scraper.replace(loaded(kit.config([{ name: 'goes' }])));
    await vi.waitFor(() => expect(kit.requests('goes')).toBeGreaterThan(goes ?? 0), SOON);
    await expect(scraper.trigger('stays')).rejects.toThrow(Refused);
  });

  test('a change of its times counts at once', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(kit.config([{ name: 'a', frequency: '1d' }]));
    await scraper.start();
    await vi.waitFor(() => expect(kit.requests('a')).toBe(1), SOON);
    scraper.replace(loaded(kit.config([{ name: 'a', frequency: '1s' }])));
    await vi.waitFor(() => expect(kit.requests('a')).toBeGreaterThan(2), SOON);
  });

  test('other readings begin their sums anew', async () => {
    await using kit = await ScraperKit.start();
    const [c, d] = [{ name: 'c' }, { name: 'd' }];
    const scraper = await kit.create(kit.config([{ name: 'a', counterReadings: [c] }]));
    const sums = (name: string) =>
      kit.collector.accepted.flatMap(({ points }) =>
        points.flatMap((point) => (point.name === name ? [point.value] : [])),
      );
    await scraper.start();
    await vi.waitFor(() => {
      expect(sums('c')).toContain(2);
      expect(statusOf(scraper, 'a')).toMatchObject({ running: false });
    }, SOON);
    scraper.replace(loaded(kit.config([{ name: 'a', counterReadings: [c, d] }])));
    await vi.waitFor(() => expect(sums('d')).not.toEqual([]), SOON);
    expect(sums('d')[0]).toBe(1);
    expect(sums('c').slice(sums('c').indexOf(2))).toContain(1);
  });

  test('a change makes a source usable, and unusable again', async () => {
    await using kit = await ScraperKit.start();
    const broken = { name: 'a', dataKey: 'x[y]' };
    const scraper = await kit.create(kit.config([broken]));
    await scraper.start();
    expect(statusOf(scraper, 'a')).toMatchObject({ unusable: expect.stringContaining('dataKey') });
    scraper.replace(loaded(kit.config([{ name: 'a' }])));
    await vi.waitFor(() => expect(kit.delivered('a')).not.toEqual([]), SOON);
    expect(statusOf(scraper, 'a')).toMatchObject({ unusable: undefined, owner: true });
    scraper.replace(loaded(kit.config([broken])));
    await vi.waitFor(() => expect(statusOf(scraper, 'a')).toMatchObject({ owner: false, nextRun: undefined }), SOON);
    expect(statusOf(scraper, 'a')).toMatchObject({ unusable: expect.stringContaining('dataKey') });
  });

  test('secrets of all configurations are known', async () => {
    await using kit = await ScraperKit.start();
    const auth = (keyValue: string) => [{ name: 'a', auth: { type: 'apikey', keyName: 'k', keyValue } }];
    const scraper = await kit.create(kit.config(auth('first-secret')));
    scraper.replace(loaded(kit.config(auth('the-second-secret'))));
    expect(scraper.secrets()).toEqual(['the-second-secret', 'first-secret']);
    expect(scraper.secrets()).toBe(scraper.secrets());
  });
});

describe('what people ask for', SIDE_BY_SIDE, () => {
  const HOURS = [{ name: 'a', frequency: '1h', scrape: range({ parallelWindow: { unit: 'minutes', value: 10 } }) }];
  const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

  test('a run', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(kit.config([{ name: 'a', frequency: '1h' }]));
    await expect(scraper.trigger('a')).rejects.toThrow('not open yet');
    await scraper.start();
    await vi.waitFor(() => expect(scraper.runs('a')[0]?.status).toBe('success'), SOON);
    expect(await scraper.trigger('a')).toBe('done');
    expect(scraper.runs('a').map(({ trigger }) => trigger)).toEqual(['admin', 'first']);
    kit.api.answer = json({}, 500);
    expect(await scraper.trigger('a')).toBe('failed');
  });

  test('a backfill', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(kit.config([...HOURS, { name: 'now' }]));
    await scraper.start();
    await vi.waitFor(() => expect(scraper.runs('a')[0]?.status).toBe('success'), SOON);
    const before = kit.requests('a');
    expect(await scraper.backfill('a', { start: past(10), end: past(9) })).toBe(6);
    await vi.waitFor(() => expect(kit.requests('a')).toBe(before + 6), SOON);
    await vi.waitFor(() => expect(statusOf(scraper, 'a')).toMatchObject({ openWindows: 0 }), SOON);
    const windows = await scraper.windows('a', { offset: 0, limit: 100 });
    expect(windows.filter(({ kind, state }) => kind === 'backfill' && state === 'committed')).toHaveLength(6);
    await expect(scraper.backfill('now', { start: past(2), end: past(1) })).rejects.toThrow(/does not ask for a time/);
    await expect(scraper.backfill('a', { start: past(1), end: past(2) })).rejects.toThrow(/start must be before end/);
    await expect(scraper.backfill('a', { start: past(1), end: past(-1) })).rejects.toThrow(/future/);
    await expect(scraper.backfill('a', { start: past(99_999), end: past(1) })).rejects.toThrow(/more than 10000/);
    await expect(scraper.backfill('b', { start: past(2), end: past(1) })).rejects.toThrow('there is no source "b"');
  });

  test('a pause, and its end', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(kit.config([{ name: 'a' }]));
    await scraper.start();
    await vi.waitFor(() => expect(kit.requests('a')).toBeGreaterThan(0), SOON);
    await scraper.pause('a');
    expect(statusOf(scraper, 'a')).toMatchObject({ paused: true });
    await vi.waitFor(() => expect(statusOf(scraper, 'a')).toMatchObject({ running: false }), SOON);
    expect(await scraper.trigger('a')).toBe('paused');
    const before = kit.requests('a');
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(kit.requests('a')).toBe(before);
    await scraper.resume('a');
    await vi.waitFor(() => expect(kit.requests('a')).toBe(before + 1), { timeout: 500, interval: 5 });
    expect(statusOf(scraper, 'a')).toMatchObject({ paused: false });
  });

  test('the end of a pause is a run, however rare these are', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(kit.config([{ name: 'a', frequency: '1d' }]));
    await scraper.start();
    await vi.waitFor(() => expect(scraper.runs('a')[0]?.status).toBe('success'), SOON);
    await scraper.pause('a');
    await scraper.resume('a');
    await vi.waitFor(() => expect(kit.requests('a')).toBe(2), SOON);
  });

  test('another try of what was set aside, in windows of the usual size', async () => {
    await using kit = await ScraperKit.start();
    const [source] = HOURS;
    const scrape = { ...source?.scrape, retry: { maxAttempts: 1 } };
    const scraper = await kit.create(kit.config([{ ...source, scrape }]));
    kit.api.answer = json({}, 404);
    await scraper.start();
    await vi.waitFor(() => expect(statusOf(scraper, 'a')).toMatchObject({ deadWindows: 1, running: false }), SOON);
    expect(kit.requests('a')).toBe(6);
    kit.api.answer = json([]);
    expect(await scraper.retryDead('a')).toEqual({ windows: 1, left: 0 });
    await vi.waitFor(() => expect(statusOf(scraper, 'a')).toMatchObject({ deadWindows: 0, openWindows: 0 }), SOON);
    expect(kit.requests('a')).toBe(12);
  });
});

test('a year that was set aside is opened again in parts, however short the windows are now', async () => {
  await using kit = await ScraperKit.start();
  const firstScrapeStart = new Date(Date.now() - 365 * 86_400_000).toISOString();
  const rangeKeys = { startKey: 'from', endKey: 'to', firstScrapeStart };
  const scrape = range({ rangeKeys, retry: { maxAttempts: 1 } });
  const fields = { name: 'a', frequency: '1d' };
  const scraper = await kit.create(kit.config([{ ...fields, scrape }]));
  kit.api.answer = json({}, 404);
  await scraper.start();
  await vi.waitFor(() => expect(statusOf(scraper, 'a')).toMatchObject({ deadWindows: 1, running: false }), SOON);
  kit.api.answer = json([]);
  await scraper.pause('a');
  const short = { ...scrape, parallelWindow: { unit: 'minutes', value: 1 } };
  scraper.replace(loaded(kit.config([{ ...fields, scrape: short }])));
  expect(await scraper.retryDead('a')).toEqual({ windows: 1, left: 1 });
  await vi.waitFor(() => expect(statusOf(scraper, 'a')).toMatchObject({ openWindows: 10_000, deadWindows: 1 }), SOON);
});

describe('the state', () => {
  test('that is another scraper’s is waited for', async () => {
    await using kit = await ScraperKit.start();
    const unlock = lockStateFile(kit.statePath);
    const scraper = await kit.create(kit.config([{ name: 'a' }]));
    await scraper.start();
    await vi.waitFor(() => expect(scraper.ready()).toBe('state_store_unavailable'), SOON);
    expect(kit.requests('a')).toBe(0);
    const once = await kit.create(kit.config([{ name: 'a' }]));
    expect(await once.runOnce(AbortSignal.timeout(50))).toEqual(new Map([['a', 'elsewhere']]));
    await once.stop();
    unlock();
    await vi.waitFor(() => expect(scraper.ready()).toBeUndefined(), SOON);
  });

  test('of a process before: what it had planned is scraped at once, and nothing twice', async () => {
    await using kit = await ScraperKit.start();
    const sources = [{ name: 'a', frequency: '1h', scrape: range(), runFirstScrape: false }];
    const first = await kit.create(kit.config(sources));
    await first.start();
    await vi.waitFor(() => expect(first.runs('a')[0]?.status).toBe('gated'), SOON);
    await first.stop();
    const second = await kit.create(kit.config(sources));
    await second.start();
    await vi.waitFor(() => expect(kit.delivered('a')).toHaveLength(1), SOON);
    await second.stop();
    expect(kit.requests('a')).toBe(1);
  });
});

describe('a dry run', SIDE_BY_SIDE, () => {
  test('shows the values, sends nothing and writes nothing', async () => {
    await using kit = await ScraperKit.start();
    const ledger = new SqliteLedger({ path: kit.statePath, lockRetries: 0, lockBackoffMs: 0 });
    const [start, end] = [new Date('2026-01-01'), new Date(Date.now() - 60_000)];
    await ledger.plan('a', undefined, [], end, { token: 0n });
    await ledger.close();
    const files = async () =>
      Promise.all((await readdir(kit.folder)).map(async (name) => [name, await readFile(`${kit.folder}/${name}`)]));
    const before = await files();
    const source = {
      name: 'a',
      scrape: range(),
      runFirstScrape: false,
      gaugeReadings: [{ name: 'g', dataKey: 'id' }],
      deltaDetection: { enabled: true },
    };
    const scraper = await kit.create(kit.config([source], { dryRun: true, enableSelfTelemetry: true }));
    await scraper.start();
    await vi.waitFor(() => expect(kit.requests('a')).toBeGreaterThan(2), SOON);
    expect(kit.api.targets[0]).toContain(`from=${Math.floor(end.getTime() / 1000)}`);
    await scraper.stop();
    const shown = kit.lines.filter(({ msg }) => String(msg).startsWith('dry run'));
    expect(shown, 'the same record is not new in the second window').toHaveLength(1);
    expect(shown[0]).toMatchObject({
      metrics: [expect.objectContaining({ name: 'g', value: 1 })],
      logs: [expect.objectContaining({ body: { source: 'a', record: { id: 1 } } })],
    });
    expect(kit.collector.requests).toEqual([]);
    expect(await files()).toEqual(before);
    expect(start < end).toBe(true);
  });

  test('needs no state', async () => {
    await using kit = await ScraperKit.start();
    const scraper = await kit.create(kit.config([{ name: 'a' }], { dryRun: true }));
    await scraper.start();
    await vi.waitFor(() => expect(kit.requests('a')).toBeGreaterThan(1), SOON);
    expect(existsSync(kit.statePath)).toBe(false);
    await expect(stat(`${kit.statePath}.lock`)).rejects.toThrow('ENOENT');
  });
});

describe('the end', SIDE_BY_SIDE, () => {
  test('waits for what runs, sends own metrics and leaves nothing behind', async () => {
    await using kit = await ScraperKit.start();
    const { promise, resolve } = Promise.withResolvers<void>();
    kit.api.answer = async (request, response) => {
      await promise;
      await json([{ id: 1 }])(request, response);
    };
    const scraper = await kit.create(kit.config([{ name: 'a' }], { enableSelfTelemetry: true }));
    await scraper.start();
    await vi.waitFor(() => expect(kit.requests('a')).toBe(1), SOON);
    const stopped = scraper.stop();
    setTimeout(resolve, 100);
    await stopped;
    expect(kit.delivered('a')).toHaveLength(1);
    const points = kit.collector.accepted.flatMap(({ points }) => points);
    expect(points).toContainEqual(
      expect.objectContaining({
        name: 'scraper_runs_total',
        value: 1,
        attributes: expect.objectContaining({ source: 'a', status: 'success', api_type: 'instant' }),
      }),
    );
    expect(points.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['scraper_scrape_total', 'scraper_windows_open', 'scraper_windows_dead']),
    );
    expect(kit.requests('a')).toBe(1);
  });

  test('terminateGracefully: false does not wait', async () => {
    await using kit = await ScraperKit.start();
    kit.api.answer = () => undefined;
    const scraper = await kit.create(kit.config([{ name: 'a' }], { terminateGracefully: false }));
    await scraper.start();
    await vi.waitFor(() => expect(kit.requests('a')).toBe(1), SOON);
    const began = performance.now();
    await scraper.stop();
    expect(performance.now() - began).toBeLessThan(1000);
  });

  test('shutdownGrace ends the wait', async () => {
    await using kit = await ScraperKit.start();
    kit.api.answer = () => undefined;
    const scraper = await kit.create(kit.config([{ name: 'a' }], { shutdownGrace: '1s' }));
    await scraper.start();
    await vi.waitFor(() => expect(kit.requests('a')).toBe(1), SOON);
    const began = performance.now();
    await scraper.stop();
    expect(performance.now() - began).toBeGreaterThan(900);
    expect(performance.now() - began).toBeLessThan(3000);
    expect(kit.lines.filter(({ msg }) => msg === 'window failed')).toEqual([]);
  });
});

test('metrics about itself count what fails and what is left out', async () => {
  await using kit = await ScraperKit.start();
  kit.api.answer = inTurn(json({}, 500), json([{ id: 1 }, { id: 2 }]));
  kit.collector.next = [answer(200)];
  const scraper = await kit.create(
    kit.config([{ name: 'a', filters: { limits: { maxRecordsPerScrape: 1 } } }], { enableSelfTelemetry: true }),
  );
  await scraper.start();
  await vi.waitFor(() => expect(kit.delivered('a')).not.toEqual([]), SOON);
  await scraper.stop();
  const points = kit.collector.accepted.flatMap(({ points }) => points);
  expect(points).toContainEqual(
    expect.objectContaining({ name: 'scraper_windows_failed_total', attributes: { source: 'a', kind: 'status' } }),
  );
  expect(points).toContainEqual(
    expect.objectContaining({ name: 'scraper_records_left_out_total', attributes: { source: 'a' } }),
  );
});
