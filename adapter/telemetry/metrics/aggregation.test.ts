import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  DataPointType,
  MeterProvider,
  type MetricData,
  MetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { decode } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { metricsMessage } from '../../../lib/otlp/otlp-protobuf.ts';
import { Aggregation } from './aggregation.ts';

const resource = resourceFromAttributes({ 'service.name': 'adapter' });
const scope = { name: 'm', version: '1' };

const calls = {
  name: 'calls',
  instrument: 'counter',
  unit: '1',
  description: 'Calls.',
  attributes: ['server', 'result'],
} as const;
const seconds = {
  name: 'seconds',
  instrument: 'histogram',
  unit: 's',
  description: 'Time.',
  attributes: ['server'],
  bounds: [0.25, 0.5, 1],
} as const;

const aggregation = (seriesPerMetric = 2000, now?: () => number): Aggregation =>
  new Aggregation({ resource, scope, seriesPerMetric, now });

/** All metrics by name. */
function collected(from: Aggregation): Record<string, MetricData> {
  const { resourceMetrics, errors } = from.collect();
  expect(errors).toEqual([]);
  const metrics = resourceMetrics.scopeMetrics.flatMap((one) => one.metrics);
  return Object.fromEntries(metrics.map((metric) => [metric.descriptor.name, metric]));
}

const values = (data: MetricData | undefined): unknown[] =>
  (data?.dataPoints ?? []).map(({ attributes, value }) => [attributes, value]);

class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** What a collector gets, without the times. */
function received(metrics: ResourceMetrics): unknown {
  const message = JSON.stringify(decode('MetricsRequest', metricsMessage(metrics, 1024)));
  return JSON.parse(message, (name, value: unknown) => (name === 'start' || name === 'time' ? undefined : value));
}

describe('the same events', () => {
  test('give the same metrics as the instruments of the SDK', async () => {
    const reader = new Reader();
    const meter = new MeterProvider({ resource, readers: [reader] }).getMeter(scope.name, scope.version);
    const theirCalls = meter.createCounter('calls', { unit: '1', description: 'Calls.' });
    const advice = { explicitBucketBoundaries: [...seconds.bounds] };
    const theirSeconds = meter.createHistogram('seconds', { unit: 's', description: 'Time.', advice });

    const own = aggregation();
    const ownCalls = own.counter(calls);
    const ownSeconds = own.histogram(seconds);
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < 500; index += 1) {
        const server = `s${index % 3}`;
        const result = index % 7 === 0 ? undefined : index % 2 === 0 ? 'success' : 'error';
        const labels = result === undefined ? { server } : { server, result };
        theirCalls.add(index % 5, labels);
        ownCalls.add(index % 5, { server, result });
        // Among them the bounds, which belong to the lower bucket. All have exact sums, in whatever order they are added.
        const duration = [0, 0.25, 0.375, 0.5, 0.75, 1, 1.5, 30][index % 8] as number;
        theirSeconds.record(duration, { server });
        ownSeconds.series({ server }).record(duration);
      }
      const theirs = (await reader.collect()).resourceMetrics;
      expect(received(own.collect().resourceMetrics)).toEqual(received(theirs));
    }
    await reader.shutdown();
  });
});

describe('a series', () => {
  test('has the attributes of its definition in their order, and no others', () => {
    const own = aggregation();
    const labels: object = { path: '/secret', result: 'success', server: 'a' };
    own.counter(calls).add(2, labels);
    expect(values(collected(own)['calls'])).toEqual([[{ server: 'a', result: 'success' }, 2]]);
  });

  test('may be kept', () => {
    const own = aggregation();
    const counter = own.counter(calls);
    const kept = counter.series({ server: 'a' });
    kept.add(1);
    counter.add(1, { server: 'a' });
    collected(own);
    kept.add(1);
    expect(values(collected(own)['calls'])).toEqual([[{ server: 'a' }, 3]]);
  });

  test('tells since when it counts', () => {
    let now = 1_770_000_000_000;
    const own = aggregation(2000, () => now);
    const counter = own.counter(calls);
    now += 1500;
    counter.add(1, {});
    now += 250;
    const [point] = collected(own)['calls']?.dataPoints ?? [];
    expect(point).toMatchObject({ startTime: [1_770_000_001, 500_000_000], endTime: [1_770_000_001, 750_000_000] });
  });

  test.each([-1, Number.NaN])('takes no %d', (value) => {
    const own = aggregation();
    own.counter(calls).add(value, {});
    own.histogram(seconds).record(value, {});
    const { calls: sum, seconds: distribution } = collected(own);
    expect(values(sum)).toEqual([[{}, 0]]);
    expect(distribution?.dataPoints[0]?.value).toMatchObject({ count: 0, sum: 0 });
  });
});

test('series beyond the limit are one', () => {
  const own = aggregation(2);
  const counter = own.counter(calls);
  const histogram = own.histogram(seconds);
  for (let index = 0; index < 10_000; index += 1) {
    counter.add(1, { server: `s${index}` });
    histogram.record(1, { server: `s${index}` });
  }
  counter.add(1, { server: 's0' });
  const metrics = collected(own);
  expect(values(metrics['calls'])).toEqual([
    [{ server: 's0' }, 2],
    [{ server: 's1' }, 1],
    [{ 'otel.metric.overflow': true }, 9998],
  ]);
  expect(values(metrics['seconds'])).toHaveLength(3);
});

test('what has been collected does not change', () => {
  const own = aggregation();
  const histogram = own.histogram(seconds);
  histogram.record(0.05, {});
  const before = collected(own);
  const copy = structuredClone(before);
  histogram.record(0.05, {});
  expect(before).toEqual(copy);
});

test('a metric without values is left out, and one name is one metric', () => {
  const own = aggregation();
  own.counter(calls);
  expect(collected(own)).toEqual({});
  expect(() => own.histogram({ ...seconds, name: 'calls' })).toThrow('two metrics calls');
});

describe('what is observed', () => {
  const depth = { name: 'depth', unit: '{event}', description: 'Depth.', attributes: ['signal'] } as const;

  test.each([
    ['gauge', { dataPointType: DataPointType.GAUGE }],
    ['counter', { dataPointType: DataPointType.SUM, isMonotonic: true }],
    ['upDownCounter', { dataPointType: DataPointType.SUM, isMonotonic: false }],
  ] as const)('is read at each collection: %s', (instrument, expected) => {
    const own = aggregation();
    let value = 1;
    own.observe({ ...depth, instrument }, () => [[value, { signal: 'logs' }]]);
    expect(collected(own)['depth']).toMatchObject(expected);
    value = 5;
    expect(values(collected(own)['depth'])).toEqual([[{ signal: 'logs' }, 5]]);
  });

  test('is bounded too', () => {
    const own = aggregation(3);
    own.observe({ ...depth, instrument: 'gauge' }, function* endless() {
      for (let index = 0; ; index += 1) yield [index, { signal: `s${index}` }];
    });
    expect(values(collected(own)['depth'])).toHaveLength(3);
  });

  test('and cannot be read takes nothing from the others', () => {
    const own = aggregation();
    const failure = new Error('no');
    own.observe({ ...depth, instrument: 'gauge' }, () => {
      throw failure;
    });
    own.counter(calls).add(1, {});
    const { resourceMetrics, errors } = own.collect();
    expect(errors).toEqual([failure]);
    expect(resourceMetrics.scopeMetrics[0]?.metrics).toHaveLength(1);
  });
});
