import { expect, test } from 'vitest';
import { json } from '../requests/testing/test-server.ts';
import { PERIOD_MS, SourceKit } from '../testing/source-kit.ts';

test('what failed here is no news any more when it is another pod’s', async () => {
  await using kit = await SourceKit.start();
  const { source } = kit;
  kit.api.answer = json({}, 500);
  await source.run('first');
  kit.pass(PERIOD_MS);
  await source.run('schedule');
  expect(source.status()).toMatchObject({
    owner: true,
    lastError: expect.stringContaining('answered 500'),
    openWindows: 1,
  });
  source.end();
  expect(source.status()).toMatchObject({ owner: false, lastError: undefined, openWindows: 0, deadWindows: 0 });
  expect(source.status().lastRun).toBeDefined();
});

test('why it cannot run is its error', async () => {
  await using kit = await SourceKit.start({ fields: { endpoint: 'http://[' } });
  const reason = 'endpoint: makes no URL together with baseUrl';
  expect(kit.source.status()).toMatchObject({ unusable: reason, lastError: reason, owner: false });
  expect(await kit.source.run('admin')).toBe('elsewhere');
});

test('only a range has a watermark', async () => {
  await using range = await SourceKit.start({ fields: { runFirstScrape: true } });
  await range.source.run('first');
  expect(range.source.status().watermark).toBeDefined();
  await using instant = await SourceKit.start({
    fields: { runFirstScrape: true },
    scrape: { type: 'instant', rangeKeys: null },
  });
  await instant.source.run('first');
  expect(instant.source.state?.watermark).toBeDefined();
  expect(instant.source.status().watermark).toBeUndefined();
});
