/**
 * Exports as OTLP's protobuf messages (opentelemetry-proto 1.x, whose field numbers stand here as tags). OpenTelemetry's own
 * serializer goes over everything twice and byte by byte, which takes longer than all the rest of a scrape with logs.
 */
import type { SpanContext } from '@opentelemetry/api';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import {
  block,
  fixed,
  fixed32,
  number,
  scopedMessage,
  writeAttributes,
  writeDouble,
  writeResource,
  writeScope,
  writeTime,
  writeValue,
} from './otlp-values.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** ExportLogsServiceRequest. All records are of one resource. @param size a guess in bytes */
export const logsMessage = (records: readonly ReadableLogRecord[], size: number): Uint8Array =>
  scopedMessage(records, size, writeLog);

/** ExportMetricsServiceRequest. @param size a guess in bytes */
export function metricsMessage({ resource, scopeMetrics }: ResourceMetrics, size: number): Uint8Array {
  const out = new ProtobufWriter(size);
  for (const { scope, metrics } of scopeMetrics.toReversed()) {
    const atScope = out.length;
    for (const metric of metrics.toReversed()) writeMetric(out, metric);
    writeScope(out, scope);
    out.close(block(2), atScope);
  }
  writeResource(out, resource);
  out.close(block(1), 0);
  return out.finish();
}

function writeLog(out: ProtobufWriter, record: ReadableLogRecord): void {
  const at = out.length;
  writeTime(out, fixed(11), record.hrTimeObserved);
  if (record.spanContext !== undefined) writeSpan(out, record.spanContext);
  writeAttributes(out, block(6), record.attributes);
  if (record.body !== undefined) {
    const atBody = out.length;
    writeValue(out, record.body);
    out.close(block(5), atBody);
  }
  if (record.severityText !== undefined) out.text(block(3), record.severityText);
  if (record.severityNumber !== undefined) {
    out.varint(record.severityNumber);
    out.byte(number(2));
  }
  writeTime(out, fixed(1), record.hrTime);
  out.close(block(2), at);
}

/** Which span a record belongs to. */
function writeSpan(out: ProtobufWriter, { traceId, spanId, traceFlags }: SpanContext): void {
  out.hex(block(10), spanId);
  out.hex(block(9), traceId);
  if (traceFlags === 0) return;
  out.fixed32(traceFlags);
  out.byte(fixed32(8));
}

function writeMetric(out: ProtobufWriter, data: MetricData): void {
  const at = out.length;
  const atPoints = out.length;
  switch (data.dataPointType) {
    case DataPointType.GAUGE:
      for (const point of data.dataPoints.toReversed()) writeNumber(out, point);
      out.close(block(5), atPoints);
      break;
    case DataPointType.SUM:
      if (data.isMonotonic) {
        out.byte(1);
        out.byte(number(3));
      }
      writeTemporality(out, data);
      for (const point of data.dataPoints.toReversed()) writeNumber(out, point);
      out.close(block(7), atPoints);
      break;
    case DataPointType.HISTOGRAM:
      writeTemporality(out, data);
      for (const point of data.dataPoints.toReversed()) writeHistogram(out, point);
      out.close(block(9), atPoints);
      break;
    default:
      throw new TypeError(`no points of type ${String(data.dataPointType)} are made here`);
  }
  const { name, description, unit } = data.descriptor;
  if (unit !== '') out.text(block(3), unit);
  if (description !== '') out.text(block(2), description);
  out.text(block(1), name);
  out.close(block(2), at);
}

function writeTemporality(out: ProtobufWriter, { aggregationTemporality }: MetricData): void {
  out.byte(aggregationTemporality === AggregationTemporality.DELTA ? 1 : 2);
  out.byte(number(2));
}

function writeNumber(out: ProtobufWriter, point: DataPoint<number>): void {
  const at = out.length;
  writeAttributes(out, block(7), point.attributes);
  writeDouble(out, fixed(4), point.value);
  writeTime(out, fixed(3), point.endTime);
  writeTime(out, fixed(2), point.startTime);
  out.close(block(1), at);
}

function writeHistogram(out: ProtobufWriter, { attributes, value, startTime, endTime }: DataPoint<Histogram>): void {
  const { count, sum, min, max, buckets } = value;
  const at = out.length;
  if (max !== undefined) writeDouble(out, fixed(12), max);
  if (min !== undefined) writeDouble(out, fixed(11), min);
  writeAttributes(out, block(9), attributes);
  const atBounds = out.length;
  for (const bound of buckets.boundaries.toReversed()) out.double(bound);
  if (buckets.boundaries.length > 0) out.close(block(7), atBounds);
  const atCounts = out.length;
  for (const inBucket of buckets.counts.toReversed()) writeCount(out, inBucket);
  out.close(block(6), atCounts);
  if (sum !== undefined) writeDouble(out, fixed(5), sum);
  writeCount(out, count);
  out.byte(fixed(4));
  writeTime(out, fixed(3), endTime);
  writeTime(out, fixed(2), startTime);
  out.close(block(1), at);
}

const HALF = 2 ** 32;

const writeCount = (out: ProtobufWriter, count: number): void => out.fixed64(count % HALF, Math.floor(count / HALF));
