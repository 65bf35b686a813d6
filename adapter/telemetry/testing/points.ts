import type { Aggregation } from '../metrics/aggregation.ts';

export interface ReadPoint {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** A number, or how many values a histogram has. */
  readonly value: number;
}

/** All points of an aggregation as they are now. */
export function pointsOf(aggregation: Aggregation): ReadPoint[] {
  const { resourceMetrics, errors } = aggregation.collect();
  if (errors.length > 0) throw new AggregateError(errors, 'metrics that cannot be read');
  return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ descriptor: { name }, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => ({
        name,
        attributes,
        value: typeof value === 'number' ? value : value.count,
      })),
    ),
  );
}
