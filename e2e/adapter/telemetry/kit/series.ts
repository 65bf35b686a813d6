import type { CollectedPoint, Histogram } from '../../../support/collector/collected.ts';
import type { Count } from './counts.ts';

/** The last point of each series of each metric. */
function latest(points: readonly CollectedPoint[]): CollectedPoint[] {
  const series = new Map<string, CollectedPoint>();
  for (const point of points) series.set(seriesOf(point), point);
  return [...series.values()];
}

const seriesOf = ({ name, attributes, resource }: CollectedPoint): string =>
  // A program writes them in the same order every time.
  JSON.stringify([name, attributes, resource['service.instance.id']]);

/** What a counter has come to, or how much a histogram holds, over the series that have these attributes. */
export const sumOf = (points: readonly CollectedPoint[], { metric, attributes }: Count): number =>
  latest(points.filter((point) => point.name === metric && has(point, attributes))).reduce(
    (sum, { value }) => sum + (typeof value === 'number' ? value : value.count),
    0,
  );

const has = (point: CollectedPoint, wanted: Count['attributes']): boolean =>
  Object.entries(wanted).every(([name, value]) => point.attributes[name] === value);

/** Those of these numbers that are others, with what they are. */
export function differences(points: readonly CollectedPoint[], counts: readonly Count[]): string[] {
  const byName = Map.groupBy(points, ({ name }) => name);
  return counts.flatMap((count) => {
    const found = sumOf(byName.get(count.metric) ?? [], count);
    const isRight = count.value === undefined ? found >= 1 : found === count.value;
    return isRight ? [] : [`${found} of ${JSON.stringify(count)}`];
  });
}

/** Whether a histogram's parts add up. */
export const isSound = ({ count, sum, min, max, bounds, buckets }: Histogram): boolean =>
  buckets.length === bounds.length + 1 &&
  buckets.reduce((all, one) => all + one, 0) === count &&
  count > 0 &&
  min <= max &&
  sum >= min * count - EPSILON &&
  sum <= max * count + EPSILON;

const EPSILON = 1e-6;
