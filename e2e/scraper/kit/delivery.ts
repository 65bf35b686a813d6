import { expect } from 'vitest';
import type { Collected, CollectedPoint } from '../../support/collector/collected.ts';
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

/** Records of windows that are committed: of those before the watermark, and of those that did not wait for earlier ones. */
export function committed(
  records: readonly ApiRecord[],
  windows: readonly (Range & { readonly state: string })[],
  watermark: Date | undefined,
): ApiRecord[] {
  const before = { start: new Date(0), end: watermark ?? new Date(0) };
  const done = [before, ...windows.filter(({ state }) => state === 'committed')];
  return records.filter((record) => done.some((range) => within(record, range)));
}

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
 * What a counter has counted in all, over all processes: the last sum of each series. A series begins anew where a source
 * comes back to a process. Its sums never fall, which is checked too: whoever stores them would take that for a restart.
 */
export function counted({ points }: Collected, source: string, name: string): number {
  const series = new Map<string, CollectedPoint[]>();
  for (const point of points) {
    if (point.name !== name || point.attributes['source'] !== source) continue;
    const key = JSON.stringify([point.resource['service.instance.id'], point.start, point.attributes]);
    series.set(key, [...(series.get(key) ?? []), point]);
  }
  const sums = [...series].map(([key, sent]) => {
    // After a collector has hung, requests may be written in another order.
    const values = sent.sort((a, b) => Number(BigInt(a.time) - BigInt(b.time))).map(({ value }) => Number(value));
    expect([key, values]).toEqual([key, [...values].sort((a, b) => a - b)]);
    return values.at(-1) ?? 0;
  });
  return sums.reduce((sum, value) => sum + value, 0);
}
