import { expect, test } from 'vitest';
import { withPlaceholders } from '../../lib/redaction/hidden-places.ts';
import { healthObject, sourceHealth } from './health.ts';
import { statusOf } from './testing/scraper-double.ts';

const asIs = (text: string): string => text;
const source = sourceHealth(statusOf('a'), asIs);
const parts = {
  version: '1',
  configHash: '0123456789abcdef',
  configError: undefined,
  referencesChanged: undefined,
  sources: [source],
};

test('all is well', () => {
  expect(healthObject(parts)).toEqual({
    status: 'ok',
    version: '1',
    config_hash: '0123456789abcdef',
    sources: [source],
  });
});

test.each([true, false])('whether references have changed is shown: %s', (changed) => {
  expect(healthObject({ ...parts, referencesChanged: changed })).toMatchObject({
    status: 'ok',
    references: { changed },
  });
});

test('a file that cannot be used degrades it, and the reason is shown', () => {
  expect(healthObject({ ...parts, configError: 'why' })).toMatchObject({ status: 'degraded', config_error: 'why' });
});

test('sources that are left out degrade it, and are shown', () => {
  const leftOut = [{ path: 'sources[0].cron', message: 'is wrong' }];
  expect(healthObject({ ...parts, leftOut })).toMatchObject({
    status: 'degraded',
    left_out: ['sources[0].cron is wrong'],
  });
});

test('a source that fails degrades it', () => {
  expect(healthObject({ ...parts, sources: [source, { ...source, last_error: 'down' }] }).status).toBe('degraded');
});

test('a source has what is known of it', () => {
  const status = statusOf('a', {
    owner: false,
    paused: true,
    lastRun: new Date(1000),
    lastSuccess: new Date(2000),
    watermark: new Date(3000),
    records: 4,
    openWindows: 5,
    deadWindows: 6,
    lastError: 'timeout',
  });
  expect(sourceHealth(status, asIs)).toEqual({
    name: 'a',
    last_scrape: '1970-01-01T00:00:01.000Z',
    last_success: '1970-01-01T00:00:02.000Z',
    watermark: '1970-01-01T00:00:03.000Z',
    records: 4,
    last_error: 'timeout',
    owner: false,
    paused: true,
    open_windows: 5,
    dead_windows: 6,
  });
});

test('one that cannot run says why, before anything else', () => {
  const status = statusOf('a', { unusable: 'no such regular expression', lastError: 'timeout' });
  expect(sourceHealth(status, asIs).last_error).toBe('no such regular expression');
});

test('O23: health has hosts as the configuration writes them', () => {
  const told = withPlaceholders([{ host: 'salary-abc123.example.com', written: '${A__S}.example.com' }]);
  const status = statusOf('a', { lastError: 'network: GET: getaddrinfo ENOTFOUND salary-abc123.example.com' });
  expect(sourceHealth(status, told).last_error).toBe('network: GET: getaddrinfo ENOTFOUND ${A__S}.example.com');
});
