import { expect, test } from 'vitest';
import { compileReadings } from './compile-readings.ts';
import { Contribution } from './contribution.ts';
import { DryRunEmitter, type Shown } from './dry-run-emitter.ts';
import { measuredSource } from './testing/measured-source.ts';

const never = new AbortController().signal;

function contribution(...records: unknown[]): Contribution {
  const into = new Contribution();
  const source = measuredSource({
    gaugeReadings: [{ name: 'g', dataKey: 'v' }],
    counterReadings: [{ name: 'c', dataKey: 'v' }],
    histogramReadings: [{ name: 'h', dataKey: 'v', buckets: [2] }],
    attributes: [{ name: 'a', dataKey: 'a' }],
    emitLogs: true,
    maxSeries: 2,
  });
  compileReadings(source, () => undefined)(records, {}, into, { observed: 1_000_000_000n });
  return into;
}

test('a dry run shows the values of all windows', async () => {
  const shown: Shown[] = [];
  const emitter = new DryRunEmitter((values) => shown.push(values));
  await emitter.emit([], never);
  await emitter.emit([contribution({ v: 1 }, { v: 2 }), contribution({ v: 5 })], never);
  const attributes = { source: 's' };
  expect(shown).toMatchObject([
    {
      metrics: [
        { name: 'g', kind: 'gauge', attributes, value: 5 },
        { name: 'c', kind: 'counter', attributes, value: 8 },
        { name: 'h', kind: 'histogram', attributes, count: 3, sum: 8, bounds: [2], buckets: [2, 1] },
      ],
      logs: [1, 2, 5].map((v) => ({
        severity: 'INFO',
        time: '1970-01-01T00:00:01.000Z',
        body: { source: 's', record: { v } },
        attributes,
      })),
    },
  ]);
});

test('windows that go together have one overflow between them', async () => {
  const shown: Shown[] = [];
  const windows = [1, 2, 3, 4].map((a) => contribution({ v: a, a }));
  await new DryRunEmitter((values) => shown.push(values)).emit(windows, never);
  const of = (wanted: string) => shown[0]?.metrics.filter((point) => 'name' in point && point.name === wanted);
  expect(of('g')).toMatchObject([
    { value: 1 },
    { value: 2 },
    { value: 4, attributes: { 'otel.metric.overflow': true } },
  ]);
  expect(of('c')).toMatchObject([
    { value: 1 },
    { value: 2 },
    { value: 7, attributes: { 'otel.metric.overflow': true } },
  ]);
});
