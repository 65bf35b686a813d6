import { expect, test } from 'vitest';
import { loadScraper } from '../../crds/config/testing/scraper-sample.ts';
import { knownSource, UnknownSource } from './known-source.ts';

const config = (...names: string[]) =>
  loadScraper({
    scraper: { otelCollectorEndpoint: 'http://collector:4317' },
    sources: names.map((name) => ({
      name,
      frequency: '1m',
      baseUrl: 'https://api.example.com',
      endpoint: '/x',
      scrape: { type: 'instant' },
    })),
  });
const NAMES = ['orders', 'orders-archive', 'incidents'];

test('a source is found by its name', () => {
  expect(knownSource(config(...NAMES), 'incidents').name).toBe('incidents');
});

test.each([
  ['order', NAMES, 'there is no source "order"; did you mean orders or orders-archive?'],
  ['Incidents', NAMES, 'there is no source "Incidents"; did you mean incidents?'],
  ['indicents', NAMES, 'there is no source "indicents"; did you mean incidents?'],
  ['users', NAMES, 'there is no source "users"; there are orders, orders-archive, incidents'],
  ['', NAMES, 'there is no source ""; there are orders, orders-archive, incidents'],
  ['x\u001b[31m', NAMES, 'there is no source "x\\u001b[31m"; there are orders,'],
  ['constructor', NAMES, 'there is no source "constructor"; there are'],
  ['users', [], 'there is no source "users"; the configuration has none'],
  ['orders', Array.from({ length: 30 }, (_, index) => `n${index}`), 'n18, n19, and 10 more'],
])('%j is not there', (name, names, message) => {
  expect(() => knownSource(config(...names), name)).toThrow(UnknownSource);
  expect(() => knownSource(config(...names), name)).toThrow(message);
});
