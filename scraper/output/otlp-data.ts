import { type HrTime, ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { LogEntry, Metric } from './contribution.ts';
import type { TimedPoint } from './point-times.ts';

/** The original's scope. */
const METER = { name: 'otel_api_scraper.telemetry', version: '0.1.0' };

/** Points as the exporters want them: one entry per metric, with the points of all sources. */
export function resourceMetrics(
  resource: Resource,
  points: readonly TimedPoint[],
  isDelta: (kind: Metric['kind']) => boolean,
): ResourceMetrics {
  const timeOf = { start: lastTimeKept(), end: lastTimeKept() };
  const metrics = new Map<string, MetricData>();
  for (const timed of points) {
    const { name, unit, kind, bounds } = timed.metric;
    const id = JSON.stringify([name, unit, kind === 'runningTotal' ? 'counter' : kind, bounds]);
    let metric = metrics.get(id);
    if (metric === undefined) {
      metric = metricData(timed.metric, isDelta(kind));
      metrics.set(id, metric);
    }
    const shared = { startTime: timeOf.start(timed.time.start), endTime: timeOf.end(timed.time.end) };
    addPoint(metric, timed, isDelta(kind), shared);
  }
  return { resource, scopeMetrics: [{ scope: METER, metrics: [...metrics.values()] }] };
}

function metricData({ name, unit, kind }: Metric, isDelta: boolean): MetricData {
  const shared = {
    descriptor: { name, unit, description: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: isDelta ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
  };
  if (kind === 'gauge') return { ...shared, dataPointType: DataPointType.GAUGE, dataPoints: [] };
  if (kind === 'histogram') return { ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints: [] };
  return { ...shared, dataPointType: DataPointType.SUM, dataPoints: [], isMonotonic: true };
}

function addPoint(
  data: MetricData,
  { metric, total, added }: TimedPoint,
  isDelta: boolean,
  times: { readonly startTime: HrTime; readonly endTime: HrTime },
): void {
  const point = isDelta ? added : total;
  const shared = { attributes: point.attributes, ...times };
  if (data.dataPointType === DataPointType.HISTOGRAM) {
    const { count, value: sum, min, max, buckets } = point;
    const value = { count, sum, min, max, buckets: { boundaries: [...metric.bounds], counts: buckets } };
    data.dataPoints.push({ ...shared, value });
  } else if (data.dataPointType !== DataPointType.EXPONENTIAL_HISTOGRAM) {
    data.dataPoints.push({ ...shared, value: point.value });
  }
}

const BILLION = 1_000_000_000n;

const hrTime = (nanoseconds: bigint): HrTime => [Number(nanoseconds / BILLION), Number(nanoseconds % BILLION)];

/** As `hrTime`: many in a row are the same, and large integers are slow. */
function lastTimeKept(): (nanoseconds: bigint) => HrTime {
  let last: { readonly nanoseconds: bigint; readonly time: HrTime } | undefined;
  return (nanoseconds) => {
    if (last?.nanoseconds !== nanoseconds) last = { nanoseconds, time: hrTime(nanoseconds) };
    return last.time;
  };
}

/** Log records as the exporters want them. Scopes are told apart by identity, so one per logger. */
export function logRecords(resource: Resource, entries: readonly LogEntry[]): ReadableLogRecord[] {
  const scopes = new Map<string, { readonly name: string }>();
  const [timeOf, observedOf] = [lastTimeKept(), lastTimeKept()];
  return entries.map(({ logger, time, observed, severity, body, attributes }) => {
    const scope = scopes.get(logger) ?? { name: logger };
    scopes.set(logger, scope);
    return {
      hrTime: timeOf(time),
      hrTimeObserved: observedOf(observed),
      severityNumber: severity.number,
      severityText: severity.text,
      body,
      attributes,
      resource,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
    };
  });
}
