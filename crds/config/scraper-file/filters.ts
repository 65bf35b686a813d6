import { z } from 'zod';
import { anyValue } from './values.ts';
import { flag, integer, listOf, maybeEmpty, oneOf, text } from '../values/values.ts';

/** Which records are emitted: sections `filters` and `deltaDetection` of a source. */

const Predicate = z.strictObject({
  field: text('a path such as stats.kind').describe('Path of the field.'),
  matchType: oneOf(['equals', 'not_equals', 'in', 'regex']).describe(
    '`equals` and `not_equals` compare values with their types; `in`: a list holds the field, or the field holds the ' +
      'value; `regex`: a regular expression is found in the field.',
  ),
  value: anyValue().describe('What the field is compared with, of any type.'),
});
export type Predicate = z.output<typeof Predicate>;

const predicates = () => listOf(Predicate, 'a list of mappings with field, matchType and value');

const DropRule = z.strictObject({ any: predicates().describe('The record goes when one of these holds.') });
const KeepRule = z.strictObject({ all: predicates().describe('The record stays when all of these hold.') });

const unlimited = (value: number | null): number | null => (value === null || value <= 0 ? null : value);

export const Filters = z.strictObject({
  drop: maybeEmpty(listOf(DropRule, 'a list of mappings with the key any').prefault([])).describe(
    'Records that are left out, when any of these rules holds.',
  ),
  keep: maybeEmpty(listOf(KeepRule, 'a list of mappings with the key all').prefault([])).describe(
    'Records that stay, when any of these rules holds. Empty: all.',
  ),
  limits: maybeEmpty(
    z
      .strictObject({
        maxRecordsPerScrape: integer({ min: Number.MIN_SAFE_INTEGER })
          .describe(
            'Most records of one scrape, counted after delta detection, over all its windows: the window at the limit is cut, which is logged and counted, and those after it wait for the next scrape. Null or 0: no limit.',
          )
          .nullable()
          .transform(unlimited)
          .prefault(null),
      })
      .prefault({}),
  ).describe('Limits.'),
});
export type Filters = z.output<typeof Filters>;

export const DeltaDetection = z.strictObject({
  enabled: flag().describe('Do not emit a record again while it is unchanged.').prefault(false),
  fingerprintMode: oneOf(['full_record', 'keys'])
    .describe('What makes a record the same: all of it, or the values at `fingerprintKeys`.')
    .prefault('full_record'),
  fingerprintKeys: maybeEmpty(listOf(text('a path such as stats.id'), 'a list of paths').prefault([])).describe(
    'Paths of the fields that identify a record. Empty: all of it.',
  ),
  ttlSeconds: integer({ min: 0 })
    .describe(
      'An unchanged record is emitted again after this time, in seconds. Null or 0: ' +
        '`scraper.fingerprintStore.defaultTtlSeconds`.',
    )
    .nullable()
    .transform((value) => (value === 0 ? null : value))
    .prefault(null),
  maxEntries: integer({ min: 1 })
    .describe('Most fingerprints that are kept. Null: `scraper.fingerprintStore.maxEntriesPerSource`.')
    .nullable()
    .prefault(null),
});
export type DeltaDetection = z.output<typeof DeltaDetection>;
