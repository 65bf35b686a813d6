import { type HrTime, SeverityNumber, ValueType } from '@opentelemetry/api';
import { ProtobufLogsSerializer, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { AggregationTemporality, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { logsMessage, metricsMessage } from './otlp-protobuf.ts';
import { decode } from './testing/otlp-receiver.ts';

const decodeLogs = (bytes: Uint8Array | undefined): unknown => decode('LogsRequest', bytes ?? Buffer.alloc(0));
const decodeMetrics = (bytes: Uint8Array | undefined): unknown => decode('MetricsRequest', bytes ?? Buffer.alloc(0));

const resource = resourceFromAttributes({ 'service.name': 'shöp', port: 80 });
const SCOPE = { name: 'orders' };
const time: HrTime = [1_770_000_000, 123_456_789];
/** Texts and numbers whose length changes the bytes around them. */
const VALUES: readonly ReadableLogRecord['body'][] = [
  '',
  'a',
  'x'.repeat(32),
  'x'.repeat(33),
  'x'.repeat(127),
  'x'.repeat(128),
  'x'.repeat(20_000),
  'zoë',
  '中'.repeat(60),
  '😀 and \u0000',
  'half \uD83D of one',
  `${'long '.repeat(20)}\uDC00`,
  0,
  -0,
  1,
  127,
  128,
  16_383,
  16_384,
  -1,
  -300,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  2 ** 62,
  2 ** 63,
  1e300,
  0.1,
  -1.5,
  Number.NaN,
  Infinity,
  true,
  false,
  null,
  [],
  [1, 'two', [3], null],
  {},
  { a: { b: { c: [{ d: 'x'.repeat(200) }] } }, '': 1, é: 'ü' },
];

const log = (body: ReadableLogRecord['body'], own: Partial<ReadableLogRecord> = {}): ReadableLogRecord => ({
  hrTime: time,
  hrTimeObserved: [1_770_000_001, 0],
  severityNumber: SeverityNumber.WARN,
  severityText: 'WARNING',
  body,
  attributes: { source: 's', list: ['a', 1], n: 5 },
  resource,
  instrumentationScope: SCOPE,
  droppedAttributesCount: 0,
  ...own,
});

describe('our messages are those that OpenTelemetry writes', () => {
  test.each(VALUES.map((value) => [JSON.stringify(value)?.slice(0, 40), value]))('a log with %s', (_, value) => {
    const records = [log(value), log({ source: 's', record: { value } }, { hrTime: [0, 1] })];
    expect(decodeLogs(logsMessage(records, 8))).toEqual(decodeLogs(ProtobufLogsSerializer.serializeRequest(records)));
  });

  test.each([0, 1, 255])('a log of a span with flags %i', (traceFlags) => {
    const spanContext = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '00f067aa0ba902b7', traceFlags };
    const records = [log('x', { spanContext }), log('y')];
    const ours = decodeLogs(logsMessage(records, 8));
    expect(ours).toEqual(decodeLogs(ProtobufLogsSerializer.serializeRequest(records)));
    expect(JSON.stringify(ours)).toContain('spanId');
  });

  test('logs of several scopes', () => {
    const other = { instrumentationScope: { name: 'other', version: '1' } };
    const records = [log(1), log(2, other), log(3), log(4, other), ...VALUES.map((value) => log(value))];
    expect(decodeLogs(logsMessage(records, 8))).toEqual(decodeLogs(ProtobufLogsSerializer.serializeRequest(records)));
  });

  test.each([AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA])(
    'metrics, temporality %s',
    (temporality) => {
      const shared = (name: string, unit = '') => ({
        descriptor: { name, unit, description: '', valueType: ValueType.DOUBLE },
        aggregationTemporality: temporality,
      });
      const point = { startTime: time, endTime: [1_770_000_009, 999_999_999] satisfies HrTime };
      const numbers = [0, -1.5, 1e300, 5].map((value) => ({ ...point, value, attributes: { source: 's', v: value } }));
      const histogram = {
        count: 2 ** 33,
        sum: 1.5,
        min: 0,
        max: 9,
        buckets: { boundaries: [1, 2.5], counts: [1, 0, 2 ** 33] },
      };
      const unbounded = { count: 1, sum: 0, buckets: { boundaries: [], counts: [1] } };
      const metrics: MetricData[] = [
        { ...shared('g', '%'), dataPointType: DataPointType.GAUGE, dataPoints: numbers },
        { ...shared('s'), dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers },
        { ...shared('t'), dataPointType: DataPointType.SUM, isMonotonic: false, dataPoints: [] },
        {
          ...shared('h', 'ms'),
          dataPointType: DataPointType.HISTOGRAM,
          dataPoints: [histogram, unbounded].map((value) => ({ ...point, value, attributes: {} })),
        },
      ];
      const all = {
        resource,
        scopeMetrics: [
          { scope: { name: 'm', version: '2' }, metrics },
          { scope: SCOPE, metrics: [] },
        ],
      };
      expect(decodeMetrics(metricsMessage(all, 8))).toEqual(
        decodeMetrics(ProtobufMetricsSerializer.serializeRequest(all)),
      );
    },
  );
});
