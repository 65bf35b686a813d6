import { ago, type FieldCases, HOUR, queryOf, RECORDS, type Seen, type World } from './field-case.ts';

const FROM = '2025-01-01T00:00:00Z';
const range = (keys: Record<string, unknown> = {}): Record<string, unknown> => ({
  'scrape.type': 'range',
  'scrape.rangeKeys': { startKey: 'from', endKey: 'to', firstScrapeStart: FROM, ...keys },
});
/** Five windows of an hour. */
const windows = (): Record<string, unknown> => ({
  ...range({ firstScrapeStart: ago(5 * HOUR - 60_000) }),
  'scrape.parallelWindow': { unit: 'hours', value: 1 },
});
const relative = { 'scrape.type': 'range', 'scrape.rangeKeys': { unit: 'minutes' } };
const every = (frequency: string): Record<string, unknown> => ({ frequency });
const slow = () => ({ body: RECORDS, delayMs: 300 });
const failing = () => ({ status: 500, body: 'no' });
const millisOf = (seen: Seen, name: string): number => Date.parse(queryOf(seen).get(name)?.replace(' ', '+') ?? '');
/** A page of many, named in the answer to the last. */
const threePages = (_: unknown, count: number) => ({ body: count < 3 ? RECORDS : [] });

/** When a source is scraped, and what it asks for. */
export const requestFields = ({ api }: World): FieldCases => ({
  'sources[].name': {
    value: 'a name of its own',
    instead: 'another name',
    shows: ({ points }) => points[0]?.attributes['source'] === 'a name of its own',
  },
  'sources[].frequency': { value: '1s', instead: '1h', shows: ({ requests }) => requests.length >= 3 },
  'sources[].cron': {
    value: '0 0 29 2 *',
    having: every('1s'),
    shows: ({ requests }) => requests.length <= 1,
  },
  'sources[].jitter': { value: '30d', having: every('1s'), shows: ({ requests }) => requests.length <= 1 },
  'sources[].baseUrl': {
    value: `${api}/baseUrl/v2/`,
    instead: `${api}/baseUrl.second`,
    having: { endpoint: '/items' },
    shows: ({ requests }) => requests[0]?.target === '/baseUrl/v2/items',
  },
  'sources[].endpoint': {
    value: 'endpoint/of/records?a=b',
    instead: '/endpoint.second',
    shows: ({ requests }) => requests[0]?.target === '/endpoint/of/records?a=b',
  },
  'sources[].runFirstScrape': { value: true, shows: ({ requests }) => requests.length === 1 },
  'sources[].allowOverlapScans': {
    value: true,
    having: every('1s'),
    answer: () => ({ body: RECORDS, delayMs: 2500 }),
    shows: ({ atOnce }) => atOnce >= 2,
  },
  'sources[].scrape.type': {
    value: 'instant',
    instead: 'range',
    having: range(),
    shows: (seen) => seen.requests.length === 1 && !queryOf(seen).has('from'),
  },
  'sources[].scrape.httpMethod': {
    value: 'POST',
    having: { 'scrape.extraArgs': { a: 1 } },
    shows: ({ requests }) => requests[0]?.method === 'POST' && requests[0].body === '{"a":1}',
  },
  'sources[].scrape.timeFormat': {
    value: '%d/%m/%Y',
    having: range(),
    shows: (seen) => queryOf(seen).get('from') === '01/01/2025',
  },
  'sources[].scrape.maxConcurrency': {
    value: 1,
    having: windows(),
    answer: slow,
    shows: ({ requests, atOnce }) => requests.length >= 5 && atOnce === 1,
  },
  'sources[].scrape.parallelWindow.unit': {
    value: 'hours',
    instead: 'days',
    having: windows(),
    shows: ({ requests }) => requests.length === 5,
  },
  'sources[].scrape.parallelWindow.value': {
    value: 2,
    instead: 1,
    having: windows(),
    shows: ({ requests }) => requests.length === 3,
  },
  'sources[].scrape.rangeKeys.startKey': {
    value: 'since',
    instead: 'from',
    having: range(),
    shows: (seen) => queryOf(seen).has('since'),
  },
  'sources[].scrape.rangeKeys.endKey': {
    value: 'until',
    instead: 'to',
    having: range(),
    shows: (seen) => queryOf(seen).has('until'),
  },
  'sources[].scrape.rangeKeys.firstScrapeStart': {
    value: '2024-02-29T12:00:00+0000',
    having: range(),
    shows: (seen) => queryOf(seen).get('from')?.startsWith('2024-02-29T12:00:00') === true,
  },
  'sources[].scrape.rangeKeys.unit': {
    value: 'minutes',
    having: relative,
    shows: (seen) => queryOf(seen).get('unit') === 'minutes',
  },
  'sources[].scrape.rangeKeys.value': {
    value: 7,
    having: relative,
    shows: (seen) => queryOf(seen).get('value') === '7',
  },
  'sources[].scrape.rangeKeys.takeNegative': {
    value: true,
    having: relative,
    shows: (seen) => queryOf(seen).get('value') === '-60',
  },
  'sources[].scrape.rangeKeys.dateFormat': {
    value: '%s',
    having: { ...range(), 'scrape.timeFormat': '%Y' },
    shows: (seen) => queryOf(seen).get('from') === '1735689600',
  },
  'sources[].scrape.urlEncodeTimeKeys': {
    value: true,
    having: range(),
    shows: ({ requests }) => requests[0]?.target.includes('from=2025-01-01T00%3A00%3A00%2B0000') === true,
  },
  'sources[].scrape.extraHeaders': {
    value: { 'X-Extra': 'yes' },
    shows: ({ requests }) => requests[0]?.headers['x-extra'] === 'yes',
  },
  'sources[].scrape.extraArgs': {
    value: { limit: 5, order: { noEncodeValue: 'a:b' } },
    shows: ({ requests }) => requests[0]?.target.endsWith('?limit=5&order=a:b') === true,
  },
  'sources[].scrape.timeout': {
    value: '1s',
    answer: () => ({ body: RECORDS, delayMs: 3000 }),
    shows: ({ lastError }) => lastError?.includes('no answer within 1 s') === true,
  },
  'sources[].scrape.maxResponseBytes': {
    value: 10,
    shows: ({ lastError }) => lastError?.includes('larger than 10 bytes') === true,
  },
  'sources[].scrape.minBytesPerSecond': {
    value: '1Ki',
    instead: 0,
    having: { 'scrape.retry': { maxAttempts: 1 } },
    answer: () => ({ begun: '[' }),
    shows: ({ lastError }) => lastError?.includes('less than 1024 bytes a second') === true,
  },
  'sources[].scrape.maxWindowBytes': {
    value: 10,
    having: { 'scrape.pagination': { type: 'page' }, 'scrape.retry': { maxAttempts: 1 } },
    answer: threePages,
    shows: ({ lastError }) => lastError?.includes('more than 10 bytes (maxWindowBytes)') === true,
  },
  'sources[].scrape.retry.maxAttempts': {
    value: 1,
    answer: failing,
    shows: ({ requests }) => requests.length === 1,
  },
  'sources[].scrape.retry.initialDelay': {
    value: '30d',
    having: { 'scrape.retry.maxDelay': '30d' },
    answer: failing,
    shows: ({ requests }) => requests.length === 1,
  },
  'sources[].scrape.retry.maxDelay': {
    value: '1s',
    answer: failing,
    // Eight waits of at most a second; the second source waits longer each time.
    shows: ({ requests }) => requests.length >= 9,
  },
  'sources[].scrape.rateLimit.requests': {
    value: 1,
    instead: 1000,
    having: { 'scrape.rateLimit': { per: '1h' }, 'scrape.pagination': { type: 'page' } },
    ownHost: true,
    answer: threePages,
    shows: ({ requests }) => requests.length === 1,
  },
  'sources[].scrape.rateLimit.per': {
    value: '1h',
    having: { 'scrape.rateLimit': { requests: 1 }, 'scrape.pagination': { type: 'page' } },
    ownHost: true,
    answer: threePages,
    shows: ({ requests }) => requests.length === 1,
  },
  'sources[].scrape.rateLimit.burst': {
    value: 1,
    having: { 'scrape.rateLimit': { requests: 10, per: '1h' }, 'scrape.pagination': { type: 'page' } },
    ownHost: true,
    answer: threePages,
    shows: ({ requests }) => requests.length === 1,
  },
  'sources[].scrape.lag': {
    value: '2h',
    having: range(),
    shows: (seen) => millisOf(seen, 'to') <= Date.now() - 2 * HOUR,
  },
  'sources[].scrape.overlap': {
    value: '1h',
    having: range(),
    shows: (seen) => millisOf(seen, 'from') === Date.parse(FROM) - HOUR,
  },
  'sources[].scrape.maxCatchUp': {
    // Both were last scraped a week ago.
    value: '1h',
    having: range(),
    shows: (seen) => millisOf(seen, 'from') > Date.now() - 2 * HOUR,
  },
  'sources[].scrape.maxConcurrentWindows': {
    value: 1,
    having: { ...windows(), 'scrape.maxConcurrency': 3 },
    answer: slow,
    shows: ({ requests, atOnce }) => requests.length >= 5 && atOnce === 1,
  },
  'sources[].scrape.runFirstScrape': {
    value: true,
    having: { runFirstScrape: undefined },
    shows: ({ requests }) => requests.length === 1,
  },
  'sources[].scrape.frequency': {
    value: '1s',
    instead: '1h',
    having: { frequency: undefined },
    shows: ({ requests }) => requests.length >= 3,
  },
  'sources[].scrape.dateFormat': {
    value: '%s',
    having: range(),
    shows: (seen) => queryOf(seen).get('from') === '1735689600',
  },
});

/** The source of this case, and its second, have a past: they were last scraped a week ago. */
export const WITH_A_PAST = 'sources[].scrape.maxCatchUp';
