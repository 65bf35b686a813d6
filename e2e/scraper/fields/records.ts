import { type FieldCase, type FieldCases, RECORDS, type Seen } from './field-case.ts';

const COUNTED = { counterReadings: [{ name: 'c' }] };
const counts =
  (records: number) =>
  (seen: Seen): boolean =>
    seen.total('c') === records;

const predicate = { field: 'kind', matchType: 'equals', value: 'a' };
const filters = (which: 'drop' | 'keep', part: 'field' | 'matchType' | 'value', instead: string): FieldCase => ({
  value: predicate[part],
  instead,
  having: { ...COUNTED, [`filters.${which}`]: [{ [which === 'drop' ? 'any' : 'all']: [predicate] }] },
  shows: counts(1),
});

/** Scraped again and again; each answer has the same two records, but for `n`. */
const repeated = (more: Record<string, unknown>): Partial<FieldCase> => ({
  having: { ...COUNTED, frequency: '1s', ...more },
  answer: (_, count) => ({ body: RECORDS.map((record) => ({ ...record, n: count })) }),
});
const BY_ID = { enabled: true, fingerprintMode: 'keys', fingerprintKeys: ['id'] };
const notAgain = (seen: Seen): boolean => seen.requests.length >= 4 && seen.total('c') === 2;
const again = (seen: Seen): boolean => seen.total('c') > 2;

/** Which records there are, and which of them are emitted. */
export const recordFields = (): FieldCases => ({
  'sources[].dataKey': {
    value: 'data.items[]',
    having: COUNTED,
    answer: () => ({ body: { data: { items: RECORDS } } }),
    shows: counts(2),
  },
  'sources[].dataKeyRequired': {
    value: true,
    having: { dataKey: 'data.items', 'scrape.retry': { maxAttempts: 1 } },
    answer: () => ({ body: { error: 'not now' } }),
    shows: (seen) => seen.lastError?.includes('has nothing at data') === true,
  },
  'sources[].filters.drop[].any[].field': filters('drop', 'field', 'nothing'),
  'sources[].filters.drop[].any[].matchType': {
    ...filters('drop', 'matchType', 'regex'),
    value: 'not_equals',
    having: { ...COUNTED, 'filters.drop': [{ any: [{ ...predicate, value: '.' }] }] },
    // No record has this kind, but all have one.
    instead: 'equals',
    shows: (seen) =>
      seen.requests.length > 0 && seen.lastError === null && seen.total('c') === 0 && seen.logs.length === 0,
  },
  'sources[].filters.drop[].any[].value': filters('drop', 'value', 'z'),
  'sources[].filters.keep[].all[].field': filters('keep', 'field', 'tag'),
  'sources[].filters.keep[].all[].matchType': {
    ...filters('keep', 'matchType', 'equals'),
    value: 'regex',
    having: { ...COUNTED, 'filters.keep': [{ all: [{ ...predicate, value: '^[aA]$' }] }] },
  },
  'sources[].filters.keep[].all[].value': filters('keep', 'value', 'z'),
  'sources[].filters.limits.maxRecordsPerScrape': { value: 1, having: COUNTED, shows: counts(1) },
  'sources[].deltaDetection.enabled': {
    value: true,
    having: { ...COUNTED, frequency: '1s' },
    shows: notAgain,
  },
  'sources[].deltaDetection.fingerprintMode': {
    value: 'keys',
    instead: 'full_record',
    ...repeated({ deltaDetection: BY_ID }),
    shows: notAgain,
  },
  'sources[].deltaDetection.fingerprintKeys': {
    value: ['id'],
    instead: ['id', 'n'],
    ...repeated({ deltaDetection: BY_ID }),
    shows: notAgain,
  },
  'sources[].deltaDetection.ttlSeconds': {
    value: 1,
    ...repeated({ deltaDetection: BY_ID }),
    shows: again,
  },
  'sources[].deltaDetection.maxEntries': {
    value: 1,
    ...repeated({ deltaDetection: BY_ID }),
    shows: again,
  },
});
