import { pythonFloat } from '../records/python-float.ts';
import { pythonStr } from '../records/python-text.ts';
import { compileRecordTime } from '../records/timestamp.ts';
import { compilePath, type ValuePath } from '../records/value-path.ts';
import type { AddReadings, Measured } from './add-readings.ts';
import { AttributeNode } from './attribute-tree.ts';
import { compileLogs } from './compile-logs.ts';
import { type Contribution, createMetric, type Metric, type MetricKind, type PointTable } from './contribution.ts';
import { refusal } from './names.ts';
import type { Point, Span } from './point.ts';

/** A metric, and how a record's value gets into a point of it. */
interface Reading {
  readonly metric: Metric;
  readonly valueOf: (record: unknown, root: unknown) => number | undefined;
  readonly isAllowed: (value: number) => boolean;
  readonly addTo: (point: Point, value: number, time: bigint | undefined, span: Span) => void;
  /** Whether it has all attributes of the source; otherwise only those of `labels`. */
  readonly shared: boolean;
  readonly labels: readonly { readonly name: string; readonly valueOf: ValuePath }[];
}

/** Where the values of one contribution go. */
interface Begun {
  /** By place of the reading. They are asked for when there is a value, so that a metric without one does not show. */
  readonly tables: (PointTable | undefined)[];
  top: AttributeNode;
  /** How many records the tree has seen. */
  records: number;
}

/** A tree has no more sets than that, however many there are: then another one is begun. */
const RECORDS_PER_TREE = 20_000;

/**
 * Compiles the readings, attributes and logs of a source, with buckets, running totals, and nothing added for a
 * counter's missing field. `warn` is told once of what is left out because OpenTelemetry would refuse it.
 */
export function compileReadings(source: Measured, warn: (message: string) => void): AddReadings {
  const readings = readingsOf(source).filter(({ metric }) => {
    const why = refusal(metric.name, metric.unit);
    if (why !== undefined) warn(`this metric is left out: ${why}`);
    return why === undefined;
  });
  const paths = source.attributes.map(({ dataKey }) => compilePath(dataKey));
  const names = ['source', ...source.attributes.map(({ name }) => name)];
  const timeOf = readings.some(({ metric }) => needsTime(metric.kind, source)) ? compileTime(source) : () => undefined;
  const addLogs = source.emitLogs ? compileLogs(source, names, paths) : undefined;

  // A window comes in parts; finding its points again for each of them would take longer than all the rest.
  const begun = new WeakMap<Contribution, Begun>();

  return (records, root, into, time) => {
    const { tables, top } = begunOf(into, records.length);
    const span = spanOf(time);
    for (const record of records) {
      let set = top;
      const recordTime = timeOf(record, root);
      for (const path of paths) set = set.with(path(record, root));
      for (let place = 0; place < readings.length; place += 1) {
        const reading = readings[place] as Reading;
        const value = reading.valueOf(record, root);
        if (value === undefined || !reading.isAllowed(value)) continue;
        const node =
          reading.labels.length === 0 ? set : ownSet(reading, place, reading.shared ? set : top, record, root);
        const point = (node.points[place] ??= pointAt(reading, node, (tables[place] ??= into.table(reading.metric))));
        reading.addTo(point, value, recordTime, span);
      }
    }
    addLogs?.(records, root, into, time);
  };

  function begunOf(into: Contribution, count: number): Begun {
    let one = begun.get(into);
    if (one === undefined) begun.set(into, (one = { tables: [], top: new AttributeNode([source.name]), records: 0 }));
    if (one.records >= RECORDS_PER_TREE) Object.assign(one, { top: new AttributeNode([source.name]), records: 0 });
    one.records += count;
    return one;
  }

  function ownSet(reading: Reading, place: number, set: AttributeNode, record: unknown, root: unknown): AttributeNode {
    let own = (set.own[place] ??= new AttributeNode(set.values));
    for (const { valueOf } of reading.labels) own = own.with(valueOf(record, root));
    return own;
  }

  function pointAt({ shared, labels }: Reading, node: AttributeNode, table: PointTable): Point {
    const own = labels.map(({ name }) => name);
    const { attributes, key } = node.attributes(shared ? [...names, ...own] : ['source', ...own]);
    return table.at(attributes, key);
  }
}

/** When a record was, in nanoseconds since 1970. */
function compileTime({
  timestampKey,
  timestampFormat,
}: Measured): (record: unknown, root: unknown) => bigint | undefined {
  if (timestampKey === null) return () => undefined;
  const path = compilePath(timestampKey);
  const parse = compileRecordTime(timestampFormat);
  return (record, root) => parse(path(record, root));
}

const spanOf = ({ observed, window }: Parameters<AddReadings>[3]): Span =>
  window === undefined
    ? { start: Number(observed), end: Number(observed) }
    : { start: window.start.getTime() * 1e6, end: window.end.getTime() * 1e6 };

type Configured = Measured['gaugeReadings'][number];

function readingsOf(source: Measured): Reading[] {
  const reading = (
    { name, unit, dataKey, fixedValue, labels }: Configured,
    kind: MetricKind,
    bounds: readonly number[] = [],
  ): Reading => {
    const path = dataKey === null ? undefined : compilePath(dataKey);
    const otherwise = fixedValue ?? (kind === 'counter' && path === undefined ? 1 : undefined);
    return {
      metric: createMetric({ source: source.name, name, unit, kind, bounds, maxSeries: source.maxSeries }),
      valueOf:
        fixedValue === null && path !== undefined ? (record, root) => pythonFloat(path(record, root)) : () => otherwise,
      ...KINDS[kind],
      addTo: adding(kind, source),
      shared: true,
      labels: labels.map((label) => ({ name: label.name, valueOf: compilePath(label.dataKey) })),
    };
  };
  return [
    ...source.gaugeReadings.map((gauge) => reading(gauge, 'gauge')),
    ...source.counterReadings.map((counter) => reading(counter, counter.cumulative ? 'runningTotal' : 'counter')),
    ...source.histogramReadings.map((histogram) => reading(histogram, 'histogram', histogram.buckets)),
    ...source.attributes.flatMap((attribute) => statusReading(source, attribute) ?? []),
  ];
}

/** Sums and histograms only grow: one value that is none would spoil them for good. */
const isGrowth = (value: number): boolean => value >= 0 && value < Infinity;

const KINDS: Record<MetricKind, Pick<Reading, 'isAllowed' | 'addTo'>> = {
  gauge: { isAllowed: () => true, addTo: (point, value, time) => point.set(value, time) },
  counter: { isAllowed: isGrowth, addTo: (point, value) => point.add(value) },
  runningTotal: {
    isAllowed: isGrowth,
    addTo: (point, value, time, span) => point.addTotal(value, time === undefined ? undefined : Number(time), span),
  },
  histogram: { isAllowed: isGrowth, addTo: (point, value) => point.record(value) },
};

/** Running totals follow their records' times, and points that are dated by them, too. */
const needsTime = (kind: MetricKind, { pointTime }: Measured): boolean =>
  kind === 'runningTotal' || pointTime === 'record' || (kind === 'gauge' && pointTime === 'window');

/** How a value gets into a point, with the time of its record where the point is dated by it. */
function adding(kind: MetricKind, source: Measured): Reading['addTo'] {
  const { addTo } = KINDS[kind];
  if (kind === 'gauge') return needsTime(kind, source) ? addTo : (point, value) => point.set(value);
  if (source.pointTime !== 'record') return addTo;
  return (point, value, time, span) => {
    addTo(point, value, time, span);
    point.note(time);
  };
}

/** `asMetric`: a counter of what the values of an attribute are mapped to. */
function statusReading(source: Measured, { name, dataKey, asMetric }: Measured['attributes'][number]) {
  if (asMetric === null) return undefined;
  const metric = createMetric({
    source: source.name,
    name: asMetric.metricName ?? name,
    unit: asMetric.unit,
    kind: 'counter',
    bounds: [],
    maxSeries: source.maxSeries,
  });
  const path = compilePath(dataKey);
  const mapping = new Map(Object.entries(asMetric.valueMapping));
  const reading: Reading = {
    metric,
    valueOf: (record, root) => {
      const value = path(record, root);
      // The original only knows True and False, and its documentation only true and false.
      return mapping.get(pythonStr(value)) ?? (typeof value === 'boolean' ? mapping.get(String(value)) : undefined);
    },
    ...KINDS.counter,
    addTo: adding('counter', source),
    shared: false,
    labels: [{ name, valueOf: path }],
  };
  return reading;
}
