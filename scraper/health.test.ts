import { expect, test } from 'vitest';
import { healthObject, type SourceHealth } from './health.ts';

const source: SourceHealth = {
  name: 'a',
  last_scrape: null,
  last_success: null,
  watermark: null,
  records: null,
  last_error: null,
};
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

test('a source that fails degrades it', () => {
  expect(healthObject({ ...parts, sources: [source, { ...source, last_error: 'down' }] }).status).toBe('degraded');
});
