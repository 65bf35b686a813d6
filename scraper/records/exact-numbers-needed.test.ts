import { expect, test } from 'vitest';
import { Source } from '../../crds/config/scraper-file/source.ts';
import { needsExactNumbers } from './exact-numbers-needed.ts';

const readings = {
  name: 's',
  frequency: '1m',
  baseUrl: 'http://api.example',
  endpoint: '/',
  scrape: { type: 'instant' },
  emitLogs: false,
};
const predicate = { field: 'a', matchType: 'regex', value: '1.0' };

test('readings alone need no exact numbers', () => {
  expect(needsExactNumbers(Source.parse(readings))).toBe(false);
});

test.each<object>([
  { emitLogs: true },
  { deltaDetection: { enabled: true } },
  { attributes: [{ name: 'a', dataKey: 'a' }] },
  { filters: { drop: [{ any: [predicate] }] } },
  { filters: { keep: [{ all: [predicate] }] } },
])('%j needs exact numbers', (fields) => {
  expect(needsExactNumbers(Source.parse({ ...readings, ...fields }))).toBe(true);
});
