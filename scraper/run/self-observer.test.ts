import { expect, test } from 'vitest';
import type { Contribution, Metric } from '../output/contribution.ts';
import { SCRAPER_METRICS } from '../output/metric-catalog.ts';
import { SelfTelemetry } from '../output/self-telemetry.ts';
import { selfObserver } from './self-observer.ts';
import type { PreparedSource } from '../window/prepared-source.ts';
import type { RunRecord } from '../status.ts';
import type { FailureReport } from '../window/window-failure.ts';

const START = new Date('2026-11-01T00:00:00Z');
const prepared = { source: { name: 's' }, isRange: true } as PreparedSource;
const run = { status: 'success', started: START, ended: START, records: 2, unchanged: 1 } as RunRecord;
const failure = { kind: 'export', isCollectors: true } as FailureReport;

function telemetryInto(sent: Contribution[]): SelfTelemetry {
  const emitter = {
    emit: (contributions: readonly Contribution[]) => Promise.resolve(void sent.push(...contributions)),
    giveUp: () => undefined,
    forget: () => undefined,
    close: () => Promise.resolve(),
  };
  return new SelfTelemetry(emitter, () => START);
}

test('every metric of the catalog is there, with its unit and its attributes, and no other', async () => {
  const sent: Contribution[] = [];
  const telemetry = telemetryInto(sent);
  const observer = selfObserver(telemetry);
  observer.ran(prepared, run);
  observer.failed('s', failure, true);
  observer.repeated('s', 3);
  observer.leftOut('s', 4);
  observer.notCaughtUp('s', 5_000);
  observer.skipped('s');
  observer.stateFailed();
  telemetry.cleanedUp({ job: 'fingerprint_cleanup', backend: 'sqlite', durationSeconds: 1, items: 2 });
  telemetry.gauge('scraper_windows_open', { source: 's' }, 1);
  telemetry.gauge('scraper_windows_dead', { source: 's' }, 1);
  await telemetry.flush(AbortSignal.timeout(1_000));

  const tables = sent.flatMap((contribution) => [...contribution.tables.values()]);
  const shape = (
    { name, kind, unit, bounds }: Omit<Metric, 'id' | 'source' | 'maxSeries' | 'maxSeriesBytes'>,
    attributes: readonly string[],
  ) => JSON.stringify([name, kind, unit, bounds, attributes]);
  const found = tables.map(({ metric, points }) =>
    shape(
      metric,
      [...points.values()].flatMap(({ attributes }) => Object.keys(attributes)),
    ),
  );
  const declared = Object.entries(SCRAPER_METRICS).map(([name, { instrument: kind, unit, attributes, ...rest }]) =>
    shape({ name, kind, unit, bounds: 'bounds' in rest ? rest.bounds : [] }, attributes),
  );
  expect(found.toSorted()).toEqual(declared.toSorted());
  const skipped = tables.find(({ metric }) => metric.name === 'scraper_catch_up_skipped_seconds_total');
  expect([...(skipped?.points.values() ?? [])].map(({ value }) => value)).toEqual([5]);
});

test('what is observed is read for each flush; of totals, what they have grown by counts', async () => {
  const sent: Contribution[] = [];
  const telemetry = telemetryInto(sent);
  let total = 10;
  const metric = { unit: 's', description: '', attributes: ['mode'] };
  telemetry.observe({ ...metric, name: 'time', instrument: 'counter' }, () => [[total, { mode: 'user' }]]);
  telemetry.observe({ ...metric, name: 'size', instrument: 'upDownCounter' }, () => [[total, {}]]);
  await telemetry.flush(AbortSignal.timeout(1_000));
  total = 25;
  await telemetry.flush(AbortSignal.timeout(1_000));
  const shown = sent.map(({ tables }) =>
    [...tables.values()].map(({ metric, points }) => [
      metric.name,
      metric.kind,
      [...points.values()].map(({ value }) => value),
    ]),
  );
  expect(shown).toEqual([
    [
      ['time', 'counter', [10]],
      ['size', 'gauge', [10]],
    ],
    [
      ['time', 'counter', [15]],
      ['size', 'gauge', [25]],
    ],
  ]);
});
