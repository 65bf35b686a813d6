import { emptyResource } from '@opentelemetry/resources';
import { expect, it } from 'vitest';
import { Aggregation } from './aggregation.ts';
import { inParts } from './metric-parts.ts';

function metricsOf(...series: readonly number[]) {
  const scope = { name: 'test', version: '1' };
  const aggregation = new Aggregation({ resource: emptyResource(), scope, seriesPerMetric: 1000 });
  for (const [place, count] of series.entries()) {
    const metric = { instrument: 'counter', unit: '1', description: '', attributes: ['n'] } as const;
    const counter = aggregation.counter({ ...metric, name: `m${place}` });
    for (let n = 0; n < count; n++) counter.add(1, { n });
  }
  return aggregation.collect().resourceMetrics;
}

const shapes = (...args: Parameters<typeof inParts>): Record<string, number>[] =>
  inParts(...args).map(({ scopeMetrics }) =>
    Object.fromEntries(
      scopeMetrics.flatMap(({ metrics }) => metrics.map((one) => [one.descriptor.name, one.dataPoints.length])),
    ),
  );

it('keeps together what fits', () => {
  expect(shapes(metricsOf(2, 3), 5)).toEqual([{ m0: 2, m1: 3 }]);
});

it('divides a metric with more points than fit', () => {
  expect(shapes(metricsOf(2, 9), 5)).toEqual([{ m0: 2, m1: 3 }, { m1: 5 }, { m1: 1 }]);
});

it('says nothing of nothing', () => {
  expect(shapes(metricsOf(), 5)).toEqual([]);
});
