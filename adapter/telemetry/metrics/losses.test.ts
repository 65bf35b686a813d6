import { emptyResource } from '@opentelemetry/resources';
import { expect, it } from 'vitest';
import { Aggregation } from './aggregation.ts';
import { Losses } from './losses.ts';
import { pointsOf } from '../testing/points.ts';

function setUp() {
  const aggregation = new Aggregation({
    resource: emptyResource(),
    scope: { name: 'test', version: '1' },
    seriesPerMetric: 10,
  });
  const lines: object[] = [];
  const clock = { now: 0 };
  const warn = (fields: object, message: string): void => void lines.push({ ...fields, message });
  const losses = new Losses(aggregation, { warn } as ConstructorParameters<typeof Losses>[1], () => clock.now);
  return {
    losses,
    lines,
    clock,
    points: () => pointsOf(aggregation).filter(({ value }) => value !== 0),
    all: () => pointsOf(aggregation),
  };
}

it('counts everything that is dropped, and says so once a minute for each kind', () => {
  const { losses, lines, clock, points } = setUp();
  const events = losses.of('events');
  for (let i = 0; i < 100; i++) events('queue_full', 2);
  losses.of('audit')('write_failed', 1);
  const message = 'telemetry was dropped';
  expect(lines).toEqual([
    { signal: 'events', reason: 'queue_full', error: undefined, message },
    { signal: 'audit', reason: 'write_failed', error: undefined, message },
  ]);
  clock.now = 59_999;
  events('queue_full', 1);
  expect(lines).toHaveLength(2);
  clock.now = 60_000;
  events('queue_full', 1);
  expect(lines).toHaveLength(3);
  expect(points()).toEqual([
    { name: 'adapter_telemetry_dropped_total', attributes: { signal: 'events', reason: 'queue_full' }, value: 202 },
    { name: 'adapter_telemetry_dropped_total', attributes: { signal: 'audit', reason: 'write_failed' }, value: 1 },
  ]);
});

it('counts failed exports, and what was lost with them', () => {
  const { losses, lines, points } = setUp();
  losses.failed('metrics', new Error('refused'));
  losses.of('logs')('export_failed', 512, new Error('no answer'));
  const message = 'the collector has not accepted an export';
  expect(lines).toEqual([
    { signal: 'metrics', error: 'refused', message },
    { signal: 'logs', error: 'no answer', message },
  ]);
  expect(points()).toEqual([
    { name: 'adapter_telemetry_dropped_total', attributes: { signal: 'logs', reason: 'export_failed' }, value: 512 },
    { name: 'adapter_telemetry_export_failures_total', attributes: { signal: 'metrics' }, value: 1 },
    { name: 'adapter_telemetry_export_failures_total', attributes: { signal: 'logs' }, value: 1 },
  ]);
});

it('begins with nothing lost', () => {
  const { losses, all } = setUp();
  losses.of('events');
  expect(all().map(({ attributes, value }) => [attributes, value])).toEqual([
    [{ signal: 'events', reason: 'queue_full' }, 0],
    ...['metrics', 'logs', 'traces'].map((signal) => [{ signal }, 0]),
  ]);
});
