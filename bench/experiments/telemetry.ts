import type { Goal } from '../goals.ts';
import { LOGGED, observedAdapter } from '../harness/observed.ts';
import type { ObservedTarget } from '../harness/observed.ts';
import { adapter } from '../harness/targets.ts';
import type { Target } from '../harness/targets.ts';
import type { Metric, Sample } from '../samples.ts';
import type { Experiment, Recorder } from './experiment.ts';
import { runLoad } from './load.ts';
import type { LoadCase } from './load.ts';

const silent = adapter({ name: 'off, no log', state: 'memory' });
const off = adapter({ name: 'off', state: 'memory', extra: LOGGED });
const metrics = observedAdapter('metrics', { metrics: true });
const logs = observedAdapter('metrics, logs', { metrics: true, logs: true });
const traces = observedAdapter('metrics, logs, traces', { metrics: true, logs: true, traces: true });
const prometheus = observedAdapter('prometheus', { prometheus: true });
const observed: readonly ObservedTarget[] = [metrics, logs, traces, prometheus];

const echoCase = (connections: number): LoadCase => ({
  name: `echo c${connections}`,
  mount: 'main',
  scenario: 'echo',
  connections,
});
const cases = [echoCase(1), echoCase(16)];

/** Everything that was measured of a target, all cases together. */
const DELIVERY = 'delivery';
/** Of a call: what the client asked for, and what was asked of the upstream. */
const SPANS_OF_A_CALL = 2;

const toOff = (target: Target, metric: Metric, bound?: Goal['bound']): Goal => ({
  case: 'echo c16',
  target: target.name,
  metric,
  to: { target: off.name, how: 'ratio' },
  bound,
});

const delivered = ({ name: target }: ObservedTarget, metric: Metric, bound?: Goal['bound']): Goal => ({
  case: DELIVERY,
  target,
  metric,
  bound,
});
const all = { atLeast: 1 };

/** What it costs a call to be told of. */
export const telemetry: Experiment = {
  name: 'telemetry',
  summary: 'small tool calls with metrics, logs and traces to a collector, against the log alone',
  targets: [silent, off, ...observed],
  goals: [
    toOff(silent, 'perSecond'),
    toOff(metrics, 'perSecond'),
    toOff(logs, 'perSecond', { atLeast: 0.9 }),
    toOff(traces, 'perSecond'),
    toOff(prometheus, 'perSecond'),
    ...observed.map((target) => toOff(target, 'cpuPer10k')),
    ...[metrics, logs].map((target): Goal => ({
      case: 'echo c1',
      target: target.name,
      metric: 'p50',
      to: { target: off.name, how: 'difference' },
    })),
    ...observed.map((target) => delivered(target, 'callsCounted', all)),
    delivered(logs, 'logsDelivered', all),
    delivered(traces, 'logsDelivered'),
    delivered(traces, 'spansDelivered'),
  ],
  async run(bench, record, present) {
    await runLoad(bench, record, present, cases);
    for (const target of observed.filter((one) => present.includes(one))) recordDelivery(record, target);
  },
};

/** Telemetry that does not arrive costs nothing, so a target whose own is missing has not been measured. */
function recordDelivery(record: Recorder, { name: target, told, arrived }: ObservedTarget): void {
  const calls = record.samples.reduce((sum, sample) => sum + callsOf(sample, target), 0);
  // Calls to get warm count too, but nobody knows how many they were.
  const least = (count: number): number => Math.min(1, count / calls);
  if (arrived === undefined || calls === 0) return;
  const values: Partial<Record<Metric, number>> = { callsCounted: least(arrived.calls) };
  if (told.logs === true) values.logsDelivered = Math.min(1, arrived.logs / arrived.calls);
  if (told.traces === true) values.spansDelivered = Math.min(1, arrived.spans / (SPANS_OF_A_CALL * arrived.calls));
  record.sample({ case: DELIVERY, target, round: 0, values, details: { made: calls, ...arrived } });
  if (arrived.calls < calls) record.failure(target, new Error(`${calls} calls were made, ${arrived.calls} counted`));
}

const callsOf = ({ target, details }: Sample, of: string): number => (target === of ? Number(details?.['calls']) : 0);
