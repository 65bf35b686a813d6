import { compare, estimate, metrics } from './samples.ts';
import type { Comparison, Estimate, Metric, Sample } from './samples.ts';

/** Something that must hold of the measurements of one experiment, or, without a bound, is only shown. */
export interface Goal {
  readonly case: string;
  readonly target: string;
  readonly metric: Metric;
  /** What the target is compared with; undefined: its own value counts. */
  readonly to?: { readonly target: string; readonly how: Comparison };
  readonly bound?: { readonly atLeast: number } | { readonly atMost: number };
}

/** `unclear`: there is a number, but its samples lie on both sides of the bound, are too few, or were all disturbed. */
export type Verdict = 'met' | 'missed' | 'unclear' | 'shown' | 'not measured';

export interface Judgement {
  readonly goal: Goal;
  readonly verdict: Verdict;
  readonly measured: Estimate | undefined;
}

/**
 * Holds a goal against the samples of its experiment. The bound itself meets the goal; a verdict needs the whole interval
 * of the estimate on one side of it, because even a quiet machine changes its speed between rounds.
 */
export function judge(goal: Goal, samples: readonly Sample[]): Judgement {
  const measured =
    goal.to === undefined
      ? estimate(samples, goal, goal.metric)
      : compare(samples, goal, { case: goal.case, target: goal.to.target }, goal.metric, goal.to.how);
  return { goal, measured, verdict: verdictOf(measured, goal) };
}

function verdictOf(measured: Estimate | undefined, { bound, metric }: Goal): Verdict {
  if (measured === undefined || Number.isNaN(measured.value)) return 'not measured';
  if (bound === undefined) return 'shown';
  if (measured.disturbed || measured.count < leastSamples(metric)) return 'unclear';
  const holds = (value: number): boolean => ('atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost);
  if (holds(measured.low) !== holds(measured.high)) return 'unclear';
  return holds(measured.value) ? 'met' : 'missed';
}

/** What a process holds in memory, and what has arrived. */
const STEADY: readonly Metric[] = [
  'sessionKib',
  'residentGrowth',
  'windowsGrowth',
  'peakGrowthMb',
  'settledMb',
  'callsCounted',
  'logsDelivered',
  'spansDelivered',
];

/** Speed differs from round to round, so one or two samples prove nothing. */
const leastSamples = (metric: Metric): number => (STEADY.includes(metric) ? 1 : 3);

/** The goal in words, such as `adapter-memory, c16: calls/s ≥ 0.80 × fastify-dispatch`. */
export function describeGoal(goal: Goal): string {
  const { title } = metrics[goal.metric];
  const bound = goal.bound;
  const limit =
    bound === undefined
      ? ''
      : 'atLeast' in bound
        ? `≥ ${number(goal, bound.atLeast)}`
        : `≤ ${number(goal, bound.atMost)}`;
  const of = goal.to === undefined ? '' : goal.to.how === 'ratio' ? ` × ${goal.to.target}` : ` over ${goal.to.target}`;
  const relation = bound === undefined ? of && `,${of}` : ` ${limit}${of}`;
  return `${goal.target}, ${goal.case}: ${title}${relation}`;
}

/** The measured number, with what weakens it; with more digits where rounding would make a miss look like a hit. */
export function describeMeasured({ goal, measured, verdict }: Judgement): string {
  if (measured === undefined) return '–';
  const limit = goal.bound === undefined ? undefined : Object.values(goal.bound)[0];
  const hides = verdict === 'missed' && number(goal, measured.value) === number(goal, Number(limit));
  const text = number(goal, measured.value, hides ? 2 : 0);
  const { digits } = goal.to?.how === 'ratio' ? { digits: 2 } : metrics[goal.metric];
  const spread = measured.count > 1 ? ` (${measured.low.toFixed(digits)} to ${measured.high.toFixed(digits)})` : '';
  return measured.disturbed ? `${text}${spread}, disturbed` : `${text}${spread}`;
}

function number(goal: Goal, value: number, moreDigits = 0): string {
  if (goal.to?.how === 'ratio') return value.toFixed(2 + moreDigits);
  const { unit, digits } = metrics[goal.metric];
  const text = value.toFixed(digits + moreDigits);
  return unit === '/s' ? `${text}/s` : `${text} ${unit}`;
}
