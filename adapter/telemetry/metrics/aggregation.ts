import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import type { MetricDefinition } from '../../../lib/metrics/metric-definition.ts';
import {
  attributesOf,
  type Counter,
  Distribution,
  type Histogram,
  type Labels,
  type Point,
  SeriesSet,
  Sum,
} from './series.ts';

/** Its attributes by name, so that a wrong one is seen when it is written. */
type Definition<Name extends string> = MetricDefinition & { readonly attributes: readonly Name[] };

/** Readings of a metric at the moment of a collection. */
export type Read<Name extends string> = () => Iterable<readonly [value: number, labels: Labels<Name>]>;

export interface AggregationOptions {
  /** Whose numbers these are: the program, and the part of it that counts. */
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
  /** How many series a metric has at most; what comes later is counted in one more, which says so. */
  readonly seriesPerMetric: number;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/**
 * Counts and distributions since the start, as OpenTelemetry's exporters want them. Instruments of its SDK sort and write
 * out the attributes of every single value, once for each reader, and bound the series of one interval but not those of all.
 */
export class Aggregation {
  readonly #options: AggregationOptions;
  readonly #now: () => number;
  readonly #start: HrTime;
  readonly #metrics = new Map<string, (at: HrTime) => MetricData | undefined>();

  constructor(options: AggregationOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#start = hrTime(this.#now());
  }

  /** @throws when there is a metric of that name, as the other two do */
  counter<Name extends string>(definition: Definition<Name>): Counter<Name> {
    const series = this.#seriesOf(definition, (attributes, startTime) => new Sum(attributes, startTime));
    this.#add(definition, (at) => sums(definition, pointsAt(series.all, at)));
    return {
      series: (labels) => series.of(labels),
      add: (value, labels) => series.of(labels).add(value),
    };
  }

  histogram<Name extends string>(definition: Definition<Name>): Histogram<Name> {
    const { bounds = [] } = definition;
    const series = this.#seriesOf(definition, (attributes, start) => new Distribution(attributes, start, bounds));
    this.#add(definition, (at) => ({
      ...described(definition),
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: pointsAt(series.all, at),
    }));
    return {
      series: (labels) => series.of(labels),
      record: (value, labels) => series.of(labels).record(value),
    };
  }

  /** A metric that is asked for its values: whatever is no histogram. */
  observe<Name extends string>(definition: Definition<Name>, read: Read<Name>): void {
    this.#add(definition, (endTime) => {
      const dataPoints: DataPoint<number>[] = [];
      for (const [value, labels] of read()) {
        if (dataPoints.length === this.#options.seriesPerMetric) break;
        const attributes = attributesOf(definition.attributes, labels);
        dataPoints.push({ attributes, startTime: this.#start, endTime, value });
      }
      if (definition.instrument !== 'gauge') return sums(definition, dataPoints);
      return { ...described(definition), dataPointType: DataPointType.GAUGE, dataPoints };
    });
  }

  /** The numbers as they are now. What is counted afterwards does not change them. */
  collect(): CollectionResult {
    const at = hrTime(this.#now());
    const metrics: MetricData[] = [];
    const errors: unknown[] = [];
    for (const metric of this.#metrics.values()) {
      try {
        const data = metric(at);
        if (data !== undefined && data.dataPoints.length > 0) metrics.push(data);
      } catch (error) {
        // One that cannot be read leaves the others.
        errors.push(error);
      }
    }
    const { resource, scope } = this.#options;
    return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors };
  }

  #add({ name }: MetricDefinition, collect: (at: HrTime) => MetricData | undefined): void {
    if (this.#metrics.has(name)) throw new Error(`there are two metrics ${name}`);
    this.#metrics.set(name, collect);
  }

  #seriesOf<P>({ attributes }: MetricDefinition, make: (attributes: Attributes, startTime: HrTime) => P): SeriesSet<P> {
    return new SeriesSet(attributes, this.#options.seriesPerMetric, (own) => make(own, hrTime(this.#now())));
  }
}

function pointsAt<T>(points: readonly Point<T>[], endTime: HrTime): DataPoint<T>[] {
  return points.map((point) => ({
    attributes: point.attributes,
    startTime: point.startTime,
    endTime,
    value: point.value(),
  }));
}

const described = ({ name, unit, description }: MetricDefinition) => ({
  descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
  aggregationTemporality: AggregationTemporality.CUMULATIVE,
});

const sums = (definition: MetricDefinition, dataPoints: DataPoint<number>[]): MetricData => ({
  ...described(definition),
  dataPointType: DataPointType.SUM,
  isMonotonic: definition.instrument === 'counter',
  dataPoints,
});

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
