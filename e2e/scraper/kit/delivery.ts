import { expect } from 'vitest';
import type { Collected } from '../../support/collector/otlp-lines.ts';
import type { ApiRecord } from '../../support/json-api.ts';

/** How often the collector has each record of a source, by its id. */
export function deliveries({ logs }: Collected, source: string): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { scope, body } of logs) {
    if (scope.name !== source) continue;
    const { id } = (body as { readonly record: ApiRecord }).record;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

export interface Range {
  readonly start: Date;
  readonly end: Date;
}

export const within = ({ at }: ApiRecord, { start, end }: Range): boolean =>
  Date.parse(at) >= start.getTime() && Date.parse(at) < end.getTime();

/** Every record has come. */
export function expectAll(collected: Collected, source: string, wanted: readonly ApiRecord[]): void {
  const counts = deliveries(collected, source);
  expect(wanted.filter(({ id }) => !counts.has(id)).map(({ id }) => id)).toEqual([]);
}

/**
 * Every record has come, and none twice but in windows where that is allowed. Returns how many came again, each time
 * counted.
 */
export function expectDelivery(
  collected: Collected,
  source: string,
  wanted: readonly ApiRecord[],
  mayRepeat: readonly Range[] = [],
): number {
  expectAll(collected, source, wanted);
  const counts = deliveries(collected, source);
  const known = new Map(wanted.map((record) => [record.id, record]));
  const repeated = [...counts].filter(([, count]) => count > 1);
  const unexpected = [...counts].filter(([id, count]) => {
    const record = known.get(id);
    return record === undefined || (count > 1 && !mayRepeat.some((range) => within(record, range)));
  });
  expect(unexpected).toEqual([]);
  return repeated.reduce((sum, [, count]) => sum + count - 1, 0);
}

/**
 * What a counter has counted in all, over all processes: the last sum of each series. Sums never fall while a process
 * lives, which is checked too.
 */
export function counted({ points }: Collected, source: string, name: string): number {
  const last = new Map<string, number>();
  for (const point of points) {
    if (point.name !== name || point.attributes['source'] !== source || typeof point.value !== 'number') continue;
    const series = JSON.stringify([point.resource['service.instance.id'], point.attributes]);
    expect(point.value).toBeGreaterThanOrEqual(last.get(series) ?? 0);
    last.set(series, point.value);
  }
  return [...last.values()].reduce((sum, value) => sum + value, 0);
}
