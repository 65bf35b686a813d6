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
import type { PendingPoint } from './cumulative-state.ts';

/** The original's scope. */
const METER = { name: 'otel_api_scraper.telemetry', version: '0.1.0' };

export interface Times {
  /** Since when sums count. */
  readonly startOf: (metric: Metric) => HrTime;
  readonly now: HrTime;
  /** Per kind: whether sums since the start are sent, or only what is added. */
  readonly isDelta: (kind: Metric['kind']) => boolean;
}

/** Points as the exporters want them: one entry per metric, with the points of all sources. */
export function resourceMetrics(resource: Resource, points: readonly PendingPoint[], times: Times): ResourceMetrics {
  const metrics = new Map<string, MetricData>();
  for (const pending of points) {
    const { name, unit, kind, bounds } = pending.metric;
    const id = JSON.stringify([name, unit, kind === 'runningTotal' ? 'counter' : kind, bounds]);
    let metric = metrics.get(id);
    if (metric === undefined) {
      metric = metricData(pending.metric, times);
      metrics.set(id, metric);
    }
    addPoint(metric, pending, times);
  }
  return { resource, scopeMetrics: [{ scope: METER, metrics: [...metrics.values()] }] };
}

function metricData({ name, unit, kind }: Metric, { isDelta }: Times): MetricData {
  const shared = {
    descriptor: { name, unit, description: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: isDelta(kind) ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
  };
  if (kind === 'gauge') return { ...shared, dataPointType: DataPointType.GAUGE, dataPoints: [] };
  if (kind === 'histogram') return { ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints: [] };
  return { ...shared, dataPointType: DataPointType.SUM, dataPoints: [], isMonotonic: true };
}

function addPoint(data: MetricData, { metric, total, added }: PendingPoint, { startOf, now, isDelta }: Times): void {
  const delta = isDelta(metric.kind);
  const point = delta && metric.kind !== 'gauge' ? added : total;
  const shared = { attributes: point.attributes, startTime: startOf(metric), endTime: now };
  if (data.dataPointType === DataPointType.HISTOGRAM) {
    const { count, value: sum, min, max, buckets } = point;
    const value = { count, sum, min, max, buckets: { boundaries: [...metric.bounds], counts: buckets } };
    data.dataPoints.push({ ...shared, value });
  } else if (data.dataPointType !== DataPointType.EXPONENTIAL_HISTOGRAM) {
    data.dataPoints.push({ ...shared, value: point.value });
  }
}

const BILLION = 1_000_000_000n;

export const hrTime = (nanoseconds: bigint): HrTime => [Number(nanoseconds / BILLION), Number(nanoseconds % BILLION)];

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
