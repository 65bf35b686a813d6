import type { ReceivedPoint } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { type FieldCase, type FieldCases, type Seen } from './field-case.ts';

type Kind = 'gauge' | 'counter' | 'histogram';

const reading = (kind: Kind, fields: Record<string, unknown> = { dataKey: 'v' }) => ({
  [`${kind}Readings`]: [{ name: 'r', ...fields, ...(kind === 'histogram' ? { buckets: [5] } : {}) }],
});
const pointOf = ({ points }: Seen, metric = 'r'): ReceivedPoint | undefined =>
  points.findLast(({ name }) => name === metric);

/** What all kinds of readings have. The records have 1 and 2 at `v`, 10 and 20 at `w`. */
function common(kind: Kind): FieldCases {
  const at = `sources[].${kind}Readings[]`;
  const value = (seen: Seen): unknown => {
    const found = pointOf(seen)?.value;
    return kind === 'histogram' ? (found as { sum?: number } | undefined)?.sum : found;
  };
  const expected = { gauge: [20, 7], counter: [30, 14], histogram: [30, 14] }[kind];
  return {
    [`${at}.name`]: {
      value: 'own.name/of-it',
      instead: 'r',
      having: reading(kind),
      shows: (seen) => pointOf(seen, 'own.name/of-it') !== undefined,
    },
    [`${at}.dataKey`]: {
      value: 'w',
      instead: 'v',
      having: reading(kind),
      shows: (seen) => value(seen) === expected[0],
    },
    [`${at}.fixedValue`]: { value: 7, having: reading(kind), shows: (seen) => value(seen) === expected[1] },
    [`${at}.unit`]: { value: 'ms', having: reading(kind), shows: (seen) => pointOf(seen)?.unit === 'ms' },
    [`${at}.valueKey`]: {
      value: 'w',
      having: reading(kind, {}),
      shows: (seen) => value(seen) === expected[0],
    },
    [`${at}.labels[].name`]: {
      value: 'label',
      instead: 'other',
      having: reading(kind, { dataKey: 'v', labels: [{ dataKey: 'kind' }] }),
      shows: (seen) => pointOf(seen)?.attributes['label'] === 'b',
    },
    [`${at}.labels[].dataKey`]: {
      value: 'tag',
      instead: 'kind',
      having: reading(kind, { dataKey: 'v', labels: [{ name: 'label' }] }),
      shows: (seen) => pointOf(seen)?.attributes['label'] === 'y',
    },
  };
}

const attribute = (fields: Record<string, unknown>) => ({ attributes: [{ name: 'a', dataKey: 'kind', ...fields }] });
const mapped = attribute({ asMetric: { valueMapping: { a: 3, b: 4 } } });

/** A state as APIs have it; the same text is in it and is it. */
const states = () => ({
  body: [
    { id: 1, state: 'late' },
    { id: 2, state: 'very late' },
  ],
});
const severities = ({ logs }: Seen): string => logs.map(({ severityText }) => severityText).join();
const rule = (level: 'error' | 'warning', part: 'value' | 'matchType'): FieldCase => {
  const found = level.toUpperCase();
  return {
    value: part === 'value' ? 'late' : 'in',
    instead: part === 'value' ? 'other' : 'equals',
    having: { logStatusField: { name: 'state', [level]: { value: 'late' } } },
    answer: states,
    shows: (seen) => severities(seen) === (part === 'value' ? `${found},INFO` : `${found},${found}`),
  };
};

/** What becomes of records. */
export const readingFields = (): FieldCases => ({
  ...common('gauge'),
  ...common('counter'),
  'sources[].counterReadings[].cumulative': {
    value: true,
    having: { frequency: '1s', ...reading('counter', { dataKey: 'total' }) },
    answer: (_, count) => ({ body: [{ total: 10 * count }] }),
    // Growth only: less than the last total.
    shows: (seen) => seen.total('r') >= 20 && seen.total('r') < 10 * seen.requests.length,
  },
  ...common('histogram'),
  'sources[].histogramReadings[].buckets': {
    value: [15, 1.5],
    having: reading('histogram'),
    instead: [],
    shows: (seen) => {
      const { bounds, buckets } = (pointOf(seen)?.value ?? {}) as { bounds?: number[]; buckets?: number[] };
      return bounds?.join() === '1.5,15' && buckets?.join() === '1,1,0';
    },
  },
  'sources[].attributes[].name': {
    value: 'own name',
    instead: 'a',
    having: attribute({}),
    shows: ({ points }) => points[0]?.attributes['own name'] === 'a',
  },
  'sources[].attributes[].dataKey': {
    value: 'tag',
    instead: 'kind',
    having: attribute({}),
    shows: ({ points }) => points[0]?.attributes['a'] === 'x',
  },
  'sources[].attributes[].asMetric.metricName': {
    value: 'own',
    having: mapped,
    shows: (seen) => seen.total('own') === 7,
  },
  'sources[].attributes[].asMetric.valueMapping': {
    value: { b: 5 },
    instead: { b: 6 },
    having: attribute({ asMetric: {} }),
    shows: (seen) => seen.total('a') === 5,
  },
  'sources[].attributes[].asMetric.unit': {
    value: '{state}',
    having: mapped,
    shows: (seen) => pointOf(seen, 'a')?.unit === '{state}',
  },
  'sources[].maxSeries': {
    value: 1,
    having: attribute({}),
    shows: ({ points }) => points.some(({ attributes }) => attributes['otel.metric.overflow'] === true),
  },
  'sources[].maxSeriesBytes': {
    value: 700,
    having: attribute({}),
    shows: ({ points }) => points.some(({ attributes }) => attributes['otel.metric.overflow'] === true),
  },
  'sources[].emitLogs': { value: false, shows: ({ points, logs }) => points.length > 0 && logs.length === 0 },
  'sources[].timestampKey': {
    value: 'at',
    answer: () => ({ body: [{ at: '2025-01-01T00:00:00Z' }] }),
    shows: ({ logs }) => logs[0]?.time === '1735689600000000000' && logs[0].observed !== logs[0].time,
  },
  'sources[].timestampFormat': {
    value: '%d.%m.%Y',
    having: { timestampKey: 'at' },
    answer: () => ({ body: [{ at: '01.01.2025' }] }),
    shows: ({ logs }) => logs[0]?.time === '1735689600000000000',
  },
  'sources[].pointTime': {
    value: 'record',
    having: { ...reading('gauge'), timestampKey: 'at' },
    answer: () => ({ body: [{ v: 1, at: '2025-01-01T00:00:00Z' }] }),
    shows: (seen) => pointOf(seen)?.time === '1735689600000000000',
  },
  'sources[].logStatusField.name': {
    value: 'state',
    instead: 'other',
    having: { logStatusField: { error: { value: 'late' } } },
    answer: states,
    shows: (seen) => severities(seen) === 'ERROR,INFO',
  },
  'sources[].logStatusField.error.value': rule('error', 'value'),
  'sources[].logStatusField.error.matchType': rule('error', 'matchType'),
  'sources[].logStatusField.warning.value': rule('warning', 'value'),
  'sources[].logStatusField.warning.matchType': rule('warning', 'matchType'),
});
