import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { readExport } from './otlp.ts';

/** As much of opentelemetry/proto as is read. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Metrics { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { string schema_url = 3; repeated ScopeMetrics scope_metrics = 2; }
  message ScopeMetrics { repeated Metric metrics = 2; }
  message Metric { string name = 1; string unit = 3; Points gauge = 5; Points sum = 7; Histogram histogram = 9; }
  message Points { repeated Point data_points = 1; bool is_monotonic = 3; }
  message Point { fixed64 time = 3; double as_double = 4; sfixed64 as_int = 6; }
  message Histogram { repeated HistogramPoint data_points = 1; }
  message HistogramPoint { fixed64 count = 4; double sum = 5; repeated fixed64 bucket_counts = 6; }
  message Logs { repeated ResourceLogs resource_logs = 1; }
  message ResourceLogs { repeated ScopeLogs scope_logs = 2; }
  message ScopeLogs { repeated LogRecord log_records = 2; }
  message Traces { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span { string name = 5; }
  message LogRecord { fixed64 time = 1; string severity_text = 3; }
`);
const encode = (type: string, value: object): Buffer => {
  const message = root.lookupType(type);
  return Buffer.from(message.encode(message.fromObject(value)).finish());
};

describe('an export', () => {
  test('of metrics as protobuf has their points and values', () => {
    const metrics = [
      { name: 'g', unit: '1', gauge: { dataPoints: [{ time: 5, asDouble: 1.5 }, { asDouble: 2 }] } },
      { name: 'c', sum: { dataPoints: [{ asInt: 40 }, { asDouble: 2 }], isMonotonic: true } },
      { name: 'h', histogram: { dataPoints: [{ count: 300, sum: 9, bucketCounts: [100, 200] }] } },
    ];
    const body = encode('Metrics', { resourceMetrics: [{ schemaUrl: 'x', scopeMetrics: [{ metrics }] }] });
    expect(Object.fromEntries(readExport('metrics', body, false).metrics)).toEqual({
      g: { points: 2, total: 3.5 },
      c: { points: 2, total: 42 },
      h: { points: 1, total: 300 },
    });
  });

  test('of logs as protobuf has their number', () => {
    const scope = (count: number): object => ({
      logRecords: Array.from({ length: count }, () => ({ time: 1, severityText: 'INFO' })),
    });
    const body = encode('Logs', { resourceLogs: [{ scopeLogs: [scope(2), scope(200)] }, { scopeLogs: [scope(1)] }] });
    expect(readExport('logs', body, false).logs).toBe(203);
  });

  test('of traces as protobuf has the number of their spans', () => {
    const scope = (count: number): object => ({ spans: Array.from({ length: count }, () => ({ name: 'x' })) });
    const body = encode('Traces', { resourceSpans: [{ scopeSpans: [scope(3), scope(1)] }] });
    expect(readExport('traces', body, false)).toEqual({ logs: 0, spans: 4, metrics: new Map() });
  });

  test('as JSON has the same', () => {
    const metrics = [{ name: 'c', sum: { dataPoints: [{ asInt: '40' }, { asDouble: 2 }] } }];
    const body = Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }));
    expect(Object.fromEntries(readExport('metrics', body, true).metrics)).toEqual({ c: { points: 2, total: 42 } });
    const logs = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{}, {}] }] }] }));
    expect(readExport('logs', logs, true).logs).toBe(2);
    const spans = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{}] }] }] }));
    expect(readExport('traces', spans, true).spans).toBe(1);
  });

  test('that is cut off is an error', () => {
    const body = encode('Logs', { resourceLogs: [{ scopeLogs: [{ logRecords: [{ severityText: 'INFO' }] }] }] });
    expect(() => readExport('logs', body.subarray(0, -1), false)).toThrow('not a protobuf message');
  });
});
