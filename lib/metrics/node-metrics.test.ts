import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { NODE_METRICS, observeNode } from './node-metrics.ts';

test('the process tells of its event loop, its memory and its processor time', async () => {
  const readers = new Map<string, () => Iterable<readonly [value: number, attributes: object]>>();
  using observing = observeNode({ observe: ({ name }, read) => void readers.set(name, read) });
  expect(observing).toBeDefined();
  // The timer that measures must have come round before and after.
  await delay(50);
  const until = performance.now() + 200;
  while (performance.now() < until) void 0;
  await delay(50);

  const found = NODE_METRICS.map(({ name, attributes }) => ({
    name,
    attributes,
    points: [...(readers.get(name)?.() ?? [])],
  }));
  for (const { name, attributes, points } of found) {
    expect([name, points.length > 0]).toEqual([name, true]);
    for (const [value, labels] of points)
      expect([name, value >= 0, Object.keys(labels)]).toEqual([name, true, attributes]);
  }
  const valueOf = (name: string): number => found.find((metric) => metric.name === name)?.points[0]?.[0] ?? Number.NaN;
  expect(valueOf('nodejs.eventloop.delay.max')).toBeGreaterThan(0.1);
  expect(valueOf('nodejs.eventloop.delay.p50')).toBeLessThan(0.1);
  expect(valueOf('nodejs.eventloop.utilization')).toBeLessThanOrEqual(1);
  expect(valueOf('process.memory.usage')).toBeGreaterThan(10_000_000);
});
