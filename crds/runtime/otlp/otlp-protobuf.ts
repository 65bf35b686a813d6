/**
 * Exports as OTLP's protobuf messages (opentelemetry-proto 1.x, whose field numbers stand here as tags). OpenTelemetry's own
 * serializer goes over everything twice and byte by byte, which takes longer than all the rest of a scrape with logs.
 */
import type { HrTime, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Tag of a message, a text or packed numbers: length-delimited. */
const block = (field: number): number => field * 8 + 2;
const number = (field: number): number => field * 8;
const fixed = (field: number): number => field * 8 + 1;
const fixed32 = (field: number): number => field * 8 + 5;

/** ExportLogsServiceRequest. All records are of one resource. @param size a guess in bytes */
export function logsMessage(records: readonly ReadableLogRecord[], size: number): Uint8Array {
  const out = new ProtobufWriter(size);
  for (const [scope, own] of [...Map.groupBy(records, (record) => record.instrumentationScope)].toReversed()) {
    const atScope = out.length;
    for (let index = own.length - 1; index >= 0; index -= 1) writeLog(out, own[index] as ReadableLogRecord);
    writeScope(out, scope);
    out.close(block(2), atScope);
  }
  if (records[0] !== undefined) writeResource(out, records[0].resource);
  out.close(block(1), 0);
  return out.finish();
}

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

function writeResource(out: ProtobufWriter, { attributes }: Resource): void {
  const at = out.length;
  writeAttributes(out, block(1), attributes);
  out.close(block(1), at);
}

function writeScope(
  out: ProtobufWriter,
  { name, version }: { readonly name: string; readonly version?: string },
): void {
  const at = out.length;
  if (version !== undefined) out.text(block(2), version);
  out.text(block(1), name);
  out.close(block(1), at);
}

function writeAttributes(out: ProtobufWriter, tag: number, attributes: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(attributes);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    const name = names[index] as string;
    if (attributes[name] !== undefined) writePair(out, tag, name, attributes[name]);
  }
}

function writePair(out: ProtobufWriter, tag: number, name: string, value: unknown): void {
  const at = out.length;
  const atValue = out.length;
  writeValue(out, value);
  out.close(block(2), atValue);
  out.text(block(1), name);
  out.close(tag, at);
}

const MAX_INT64 = 2 ** 63;

/** AnyValue. Null has none of its fields. */
function writeValue(out: ProtobufWriter, value: unknown): void {
  switch (typeof value) {
    case 'string':
      return out.text(block(1), value);
    case 'boolean':
      out.byte(value ? 1 : 0);
      return out.byte(number(2));
    case 'number':
      if (!Number.isInteger(value) || value < -MAX_INT64 || value >= MAX_INT64)
        return writeDouble(out, fixed(4), value);
      out.int64(value);
      return out.byte(number(3));
    case 'object':
      if (value !== null) writeCompound(out, value);
      break;
    default:
  }
}

function writeCompound(out: ProtobufWriter, value: object): void {
  const at = out.length;
  if (Array.isArray(value)) {
    for (let index = value.length - 1; index >= 0; index -= 1) {
      const atElement = out.length;
      writeValue(out, value[index]);
      out.close(block(1), atElement);
    }
    out.close(block(5), at);
    return;
  }
  const names = Object.keys(value);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    const name = names[index] as string;
    writePair(out, block(1), name, (value as Readonly<Record<string, unknown>>)[name]);
  }
  out.close(block(6), at);
}

function writeDouble(out: ProtobufWriter, tag: number, value: number): void {
  out.double(value);
  out.byte(tag);
}

function writeTime(out: ProtobufWriter, tag: number, [seconds, nanoseconds]: HrTime): void {
  out.time(tag, seconds, nanoseconds);
}

const HALF = 2 ** 32;

const writeCount = (out: ProtobufWriter, count: number): void => out.fixed64(count % HALF, Math.floor(count / HALF));
