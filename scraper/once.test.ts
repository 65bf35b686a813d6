import { describe, expect, test } from 'vitest';
import { scrapeOnce } from './once.ts';
import { json } from './requests/testing/test-server.ts';
import { lockStateFile } from './state/sqlite-lock.ts';
import { loaded, range, ScraperKit } from './testing/scraper-kit.ts';

const once = (kit: ScraperKit, sources: readonly Record<string, unknown>[], settings: Record<string, unknown> = {}) =>
  scrapeOnce({
    loaded: loaded(kit.config(sources, { logLevel: 'critical', ...settings })),
    env: {},
    version: '0',
    signal: new AbortController().signal,
  });

const WINDOWS = range({ parallelWindow: { unit: 'minutes', value: 20 } });

describe('--once', () => {
  test('scrapes all that is due, and says so for each source', async () => {
    await using kit = await ScraperKit.start();
    const sources = [
      { name: 'a', frequency: '1h', scrape: WINDOWS },
      { name: 'b' },
      { name: 'gated', runFirstScrape: false },
    ];
    expect(await once(kit, sources, { enableSelfTelemetry: true })).toEqual({
      isFine: true,
      lines: [
        'a: 3 records of 3 windows sent',
        'b: 1 record of 1 window sent',
        'gated: first run, only the time is remembered (runFirstScrape is false)',
      ],
    });
    expect(kit.delivered('a')).toHaveLength(3);
    expect(kit.collector.accepted.flatMap(({ points }) => points.map(({ name }) => name))).toContain(
      'scraper_runs_total',
    );
    const { lines } = await once(kit, sources.slice(1));
    expect(lines).toEqual(['b: 1 record of 1 window sent', 'gated: 1 record of 1 window sent']);
  });

  test('is not fine when a window fails or a source cannot run', async () => {
    await using kit = await ScraperKit.start();
    kit.api.answer = (request, response) => json([], request.target.startsWith('/bad') ? 500 : 200)(request, response);
    const { isFine, lines } = await once(kit, [
      { name: 'good' },
      { name: 'bad', frequency: '1h', scrape: WINDOWS },
      { name: 'broken', dataKey: 'a[x]' },
    ]);
    expect(isFine).toBe(false);
    expect(lines).toEqual([
      'good: 0 records of 1 window sent',
      expect.stringMatching(/^bad: 3 windows failed: status: GET http:.*answered 500/),
      expect.stringMatching(/^broken: cannot run: dataKey/),
    ]);
  });

  test('a window that waits for another attempt is not sent', async () => {
    await using kit = await ScraperKit.start();
    const sources = [{ name: 'a', scrape: range() }];
    kit.api.answer = json({}, 429, { 'retry-after': '3600' });
    await once(kit, sources);
    kit.api.answer = json([{ id: 1 }]);
    const { isFine, lines } = await once(kit, sources);
    expect(isFine).toBe(false);
    expect(lines).toEqual(['a: 1 record of 1 window sent; 1 window still open, to be tried again later']);
  });

  test('a dry run sends nothing, and says so', async () => {
    await using kit = await ScraperKit.start();
    const { isFine, lines } = await once(kit, [{ name: 'a' }], { dryRun: true });
    expect([isFine, lines]).toEqual([true, ['a: 1 record of 1 window would be sent (dry run)']]);
    expect(kit.collector.requests).toEqual([]);
  });

  test('ends early when it is told to', async () => {
    await using kit = await ScraperKit.start();
    const unlock = lockStateFile(kit.statePath);
    const config = loaded(kit.config([{ name: 'a' }], { logLevel: 'critical' }));
    const signal = AbortSignal.timeout(200);
    const { isFine, lines } = await scrapeOnce({ loaded: config, env: {}, version: '0', signal });
    expect([isFine, lines]).toEqual([false, ['a: not scraped: state_store_unavailable']]);
    unlock();
  });
});
