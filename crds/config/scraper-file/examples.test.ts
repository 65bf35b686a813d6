import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type JsonSchema, acceptReferences, inputSchema, isSchema } from '../../generate/json-schema.ts';
import { loadScraperConfig } from '../load/load.ts';
import { redactedScraperConfig, scraperSecrets } from './redact.ts';
import { scraperWarnings } from './warnings.ts';
import { ScraperConfig } from './scraper.ts';
import { allFields } from '../testing/all-fields.ts';
import { scraperProblems } from '../testing/scraper-sample.ts';
import { readYaml } from '../load/yaml-source.ts';

/** Files as users of the original have them, and as its documentation shows them. */
const read = (name: string): string =>
  readFileSync(new URL(`../../testdata/scraper-${name}.yaml`, import.meta.url), 'utf8');
const NAMES = ['weather', 'tickets', 'as-documented'];
const ENV = {
  PORT: '8080',
  WEATHER_ADMIN: 'secret-admin',
  COLLECTOR: 'http://secret-user@collector:4318',
  REDIS_PASSWORD: 'secret-redis',
  TICKETS_ID: 'tickets-id',
  TICKETS_SECRET: 'secret-tickets',
  MACHINES_ID: 'machines-id',
  MACHINES_SECRET: 'secret-machines',
  SESSIONS_TOKEN: 'secret-sessions',
  KEYS_KEY: 'secret-keys',
  PAYMENTS_KEY: 'secret-payments',
};

describe.each(NAMES)('%s', (name) => {
  test('loads', () => {
    expect(scraperProblems(read(name), ENV)).toEqual([]);
  });

  test('shows none of its secrets', () => {
    const config = loadScraperConfig(read(name), ENV);
    const shown = JSON.stringify(redactedScraperConfig(config));
    expect(shown).not.toContain('secret-');
    for (const secret of scraperSecrets(config)) expect(shown).not.toContain(secret);
  });

  test('satisfies the JSON Schema as it is written, with its references', () => {
    const schema = z.fromJSONSchema(acceptReferences(inputSchema(ScraperConfig)));
    expect(schema.safeParse(readYaml(read(name)).value).error?.issues).toBeUndefined();
  });
});

test('every field of the original stands in one of them', () => {
  const written = new Set(NAMES.flatMap((name) => writtenFields(readYaml(read(name)).value, schema)));
  expect(originalFields().filter((path) => !written.has(path))).toEqual([]);
});

describe('what they mean', () => {
  test('weather', () => {
    const { scraper, sources } = loadScraperConfig(read('weather'), ENV);
    expect(scraper).toMatchObject({ servicePort: 8080, enforceTls: false, dryRun: false, terminateGracefully: true });
    expect(sources[1]?.histogramReadings.map(({ buckets }) => buckets)).toEqual([[5, 10, 20], []]);
    expect(sources[1]).toMatchObject({ emitLogs: true, frequency: 120_000, allowOverlapScans: true });
  });

  test('tickets', () => {
    const { scraper, sources } = loadScraperConfig(read('tickets'), ENV);
    expect(scraper.fingerprintStore).toMatchObject({ backend: 'valkey', valkey: { port: 6380, ssl: true } });
    expect(scraper).toMatchObject({ serviceName: 'otel-api-scrapper', enforceTls: true, logLevel: 'error' });
    expect(sources[0]?.auth).toMatchObject({ username: 'tickets-id', password: 'secret-tickets', token: null });
    expect(sources.map(({ frequency }) => frequency)).toEqual([
      900_000, 86_400_000, 604_800_000, 2_592_000_000, 3_600_000,
    ]);
  });

  test('as-documented', () => {
    const { scraper, sources } = loadScraperConfig(read('as-documented'), ENV);
    const [payments] = sources;
    expect(scraper.logLevel).toBe('warn');
    expect(payments).toMatchObject({ frequency: 30_000, runFirstScrape: true });
    expect(payments?.scrape.rangeKeys?.dateFormat).toBe('%s');
    expect(payments?.counterReadings[1]?.dataKey).toBe('amount');
    expect(payments?.gaugeReadings.map(({ dataKey }) => dataKey)).toEqual(['fees[0].amount', '$root.balance']);
    expect(payments?.histogramReadings[0]?.labels).toEqual([{ name: 'currency', dataKey: 'currency' }]);
    expect(payments?.deltaDetection.maxEntries).toBe(1000);
  });
});

describe('what is said about them', () => {
  const warningsOf = (name: string): string[] =>
    scraperWarnings(loadScraperConfig(read(name), ENV), read(name), ENV).map(({ path }) => path);

  test('nothing about a valid file of the original, but for an old name', () => {
    expect(warningsOf('weather')).toEqual([]);
    expect(warningsOf('tickets')).toEqual(['scraper.fingerprintStore.redis']);
  });

  test('where each shape of the documentation belongs', () => {
    expect(warningsOf('as-documented')).toEqual([
      'sources[0].auth.keyValue',
      'sources[0].scrape.runFirstScrape',
      'sources[0].scrape.frequency',
      'sources[0].scrape.dateFormat',
      'sources[0].dataKey',
      'sources[0].counterReadings[1].valueKey',
      'sources[0].gaugeReadings[1].valueKey',
      'sources[0].histogramReadings[0].valueKey',
      'sources[1].scrape.runFirstScrape',
      'sources[2].scrape.runFirstScrape',
      'sources[2].scrape.rangeKeys',
    ]);
  });
});

const schema = inputSchema(ScraperConfig);

/** All fields but those that are marked as new, or stand in something that is. */
function originalFields(): string[] {
  return allFields(withoutNew(schema));
}

function withoutNew(node: JsonSchema): JsonSchema {
  const { properties, items, anyOf, oneOf, ...rest } = node;
  const kept = Object.entries(properties ?? {}).flatMap(([name, field]) =>
    isSchema(field) && !isNew(field) ? [[name, withoutNew(field)] as const] : [],
  );
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(kept) }),
    ...(isSchema(items) ? { items: withoutNew(items) } : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(withoutNew) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(withoutNew) }),
  };
}

/** A field that may be null has its description in one of the choices. */
const isNew = (field: JsonSchema): boolean =>
  field.description?.startsWith('(new)') === true || (field.anyOf ?? []).some(isNew);

/** The paths of what a document holds, as `allFields` writes them. */
function writtenFields(value: unknown, node: JsonSchema): string[] {
  const known = new Set(allFields(node));
  const visit = (inner: unknown, path: string): string[] => {
    if (known.has(path)) return [path];
    if (Array.isArray(inner)) return inner.flatMap((item: unknown) => visit(item, `${path}[]`));
    if (typeof inner !== 'object' || inner === null) return [];
    const type = (inner as { type?: unknown }).type;
    const kind = typeof type === 'string' && [...known].some((one) => one.startsWith(`${path}(${type}).`));
    const here = kind ? `${path}(${type})` : path;
    return Object.entries(inner).flatMap(([key, item]) => visit(item, here === '' ? key : `${here}.${key}`));
  };
  return visit(value, '');
}
