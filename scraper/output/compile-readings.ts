import { pythonFloat } from '../records/python-float.ts';
import { pythonStr } from '../records/python-text.ts';
import { compileRecordTime } from '../records/timestamp.ts';
import { compilePath, type ValuePath } from '../records/value-path.ts';
import type { AddReadings, Measured } from './add-readings.ts';
import { AttributeNode, type TreeSize } from './attribute-tree.ts';
import { metricAttribute, type Scalar } from './attribute-value.ts';
import { compileLogs } from './compile-logs.ts';
import { type Contribution, createMetric, type Metric, type MetricKind, type PointTable } from './contribution.ts';
import { MOST_CHARS } from './cut-text.ts';
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
  readonly labels: readonly Label[];
}

interface Label {
  readonly name: string;
  readonly valueOf: (record: unknown, root: unknown) => Scalar | undefined;
}

type ToLabel = (name: string, path: ValuePath) => Label;

/** Where the values of one contribution go. */
interface Begun {
  /** By place of the reading. They are asked for when there is a value, so that a metric without one does not show. */
  readonly tables: (PointTable | undefined)[];
  top: AttributeNode;
  size: TreeSize;
}

/** A tree that holds more has seen many different sets, and helps little: then another one is begun. */
const TREE_BYTES = 8 * 2 ** 20;

/**
 * Compiles the readings, attributes and logs of a source, with buckets, running totals, and nothing added for a
 * counter's missing field. `warn` is told once of what is left out because OpenTelemetry would refuse it, and of each
 * attribute with a value that is too long.
 */
export function compileReadings(source: Measured, warn: (message: string) => void): AddReadings {
  const onCut = cutting(warn);
  const toLabel: ToLabel = (name, path) => {
    const report = onCut(name);
    return { name, valueOf: (record, root) => metricAttribute(path(record, root), report) };
  };
  const readings = readingsOf(source, toLabel).filter(({ metric }) => {
    const why = refusal(metric.name, metric.unit);
    if (why !== undefined) warn(`this metric is left out: ${why}`);
    return why === undefined;
  });
  const paths = source.attributes.map(({ dataKey }) => compilePath(dataKey));
  const shared = source.attributes.map(({ name }, place) => toLabel(name, paths[place] as ValuePath));
  const names = ['source', ...source.attributes.map(({ name }) => name)];
  const timeOf = readings.some(({ metric }) => needsTime(metric.kind, source)) ? compileTime(source) : () => undefined;
  const addLogs = source.emitLogs ? compileLogs(source, names, paths, onCut) : undefined;

  // A window comes in parts; finding its points again for each of them would take longer than all the rest.
  const begun = new WeakMap<Contribution, Begun>();

  const add: AddReadings = (records, root, into, time) => {
    const { tables, top } = begunOf(into);
    const span = spanOf(time);
    for (const record of records) {
      let set = top;
      const recordTime = timeOf(record, root);
      for (const { valueOf } of shared) set = set.with(valueOf(record, root));
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
  add.end = (into) => void begun.delete(into);
  return add;

  function begunOf(into: Contribution): Begun {
    let one = begun.get(into);
    if (one === undefined) begun.set(into, (one = { tables: [], ...newTree() }));
    else if (one.size.bytes > TREE_BYTES) Object.assign(one, newTree());
    return one;
  }

  function newTree(): Pick<Begun, 'top' | 'size'> {
    const size = { bytes: 0 };
    return { top: new AttributeNode([source.name], size), size };
  }

  function ownSet(reading: Reading, place: number, set: AttributeNode, record: unknown, root: unknown): AttributeNode {
    let own = (set.own[place] ??= set.emptyCopy());
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

const limitsOf = ({ maxSeries, maxSeriesBytes }: Measured): Pick<Metric, 'maxSeries' | 'maxSeriesBytes'> => ({
  maxSeries,
  maxSeriesBytes,
});

/** What to call when a value of this attribute was cut, which is told once. */
function cutting(warn: (message: string) => void): (name: string) => () => void {
  const reported = new Set<string>();
  return (name) => () => {
    if (reported.has(name)) return;
    reported.add(name);
    warn(`values of the attribute ${JSON.stringify(name)} are longer than ${MOST_CHARS} characters, and are cut`);
  };
}

type Configured = Measured['gaugeReadings'][number];

function readingsOf(source: Measured, toLabel: ToLabel): Reading[] {
  const reading = (
    { name, unit, dataKey, fixedValue, labels }: Configured,
    kind: MetricKind,
    bounds: readonly number[] = [],
  ): Reading => {
    const path = dataKey === null ? undefined : compilePath(dataKey);
    const otherwise = fixedValue ?? (kind === 'counter' && path === undefined ? 1 : undefined);
    return {
      metric: createMetric({ source: source.name, name, unit, kind, bounds, ...limitsOf(source) }),
      valueOf:
        fixedValue === null && path !== undefined ? (record, root) => pythonFloat(path(record, root)) : () => otherwise,
      ...KINDS[kind],
      addTo: adding(kind, source),
      shared: true,
      labels: labels.map((label) => toLabel(label.name, compilePath(label.dataKey))),
    };
  };
  return [
    ...source.gaugeReadings.map((gauge) => reading(gauge, 'gauge')),
    ...source.counterReadings.map((counter) => reading(counter, counter.cumulative ? 'runningTotal' : 'counter')),
    ...source.histogramReadings.map((histogram) => reading(histogram, 'histogram', histogram.buckets)),
    ...source.attributes.flatMap((attribute) => statusReading(source, attribute, toLabel) ?? []),
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
function statusReading(
  source: Measured,
  { name, dataKey, asMetric }: Measured['attributes'][number],
  toLabel: ToLabel,
) {
  if (asMetric === null) return undefined;
  const metric = createMetric({
    source: source.name,
    name: asMetric.metricName ?? name,
    unit: asMetric.unit,
    kind: 'counter',
    bounds: [],
    ...limitsOf(source),
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
    labels: [toLabel(name, path)],
  };
  return reading;
}
