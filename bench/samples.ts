/** The quantities that experiments measure. */
export const metrics = {
  perSecond: { title: 'calls/s', unit: '/s', digits: 0 },
  p50: { title: 'p50', unit: 'ms', digits: 2 },
  p99: { title: 'p99', unit: 'ms', digits: 2 },
  cpuPer10k: { title: 'CPU per 10k calls', unit: 's', digits: 2 },
  helperCpuPer10k: { title: 'CPU of Redis or collector per 10k calls', unit: 's', digits: 2 },
  sessionKib: { title: 'resident memory per idle session', unit: 'KiB', digits: 2 },
  residentMib: { title: 'resident memory', unit: 'MiB', digits: 0 },
  residentGrowth: { title: 'resident memory after 1,000,000 calls over that after 100,000', unit: '×', digits: 2 },
  peakGrowthMb: { title: 'peak growth of resident memory', unit: 'MB', digits: 1 },
  mbPerSecond: { title: 'MB/s', unit: 'MB/s', digits: 0 },
  startSeconds: { title: 'start to first 200 of /livez', unit: 's', digits: 3 },
  recordsPerSecond: { title: 'records/s', unit: '/s', digits: 0 },
  callsCounted: { title: 'calls that metrics tell of, of those made', unit: '×', digits: 2 },
  logsDelivered: { title: 'log records delivered, of those expected', unit: '×', digits: 2 },
  spansDelivered: { title: 'spans delivered, of those expected', unit: '×', digits: 2 },
  firstRequestSeconds: { title: 'start to first request', unit: 's', digits: 3 },
  lateSeconds: { title: 'latest start of a source after its time', unit: 's', digits: 2 },
  windowsGrowth: { title: 'resident memory after 1,000 windows over that after 100', unit: '×', digits: 2 },
  reconcilesPerSecond: { title: 'reconciles/s', unit: '/s', digits: 1 },
  convergeSeconds: { title: 'start to converged', unit: 's', digits: 1 },
  requestsPerResource: { title: 'API requests per resource', unit: '×', digits: 2 },
  busySeconds: { title: 'CPU time', unit: 's', digits: 1 },
  settledMb: { title: 'resident memory, settled', unit: 'MB', digits: 0 },
  peakMb: { title: 'resident memory, peak', unit: 'MB', digits: 0 },
} as const;

export type Metric = keyof typeof metrics;

export const metricNames: readonly Metric[] = Object.keys(metrics).filter(isMetric);

function isMetric(name: string): name is Metric {
  return name in metrics;
}

/** One measurement of one case on one target. */
export interface Sample {
  readonly case: string;
  readonly target: string;
  readonly round: number;
  readonly values: Readonly<Partial<Record<Metric, number>>>;
  /** No other work disturbed it; undefined for memory, which is the same on a busy machine. */
  readonly calm?: boolean;
  /** Whatever else was seen, kept for the raw results. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The middle of a list, NaN when it is empty. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** A number with how far it can be trusted. */
export interface Estimate {
  readonly value: number;
  /** The true median lies between these with a probability of 90 % or, with less than five samples, less. */
  readonly low: number;
  readonly high: number;
  /** How many samples, or pairs of samples, it comes from. */
  readonly count: number;
  /** Calm samples were not to be had, so disturbed ones were used. */
  readonly disturbed: boolean;
}

/**
 * The interval that holds the median with at least 90 %, whatever the distribution: between the k-th smallest and the
 * k-th largest value (the sign test turned round). Below five values that is all of them, and the probability is smaller.
 */
export function medianInterval(values: readonly number[]): [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  let rank = 0; // how many values on each side may be left out
  let binomial = 1; // n over rank
  let tail = 0;
  while (rank < n) {
    tail += binomial / 2 ** n;
    if (2 * tail > 0.1) break;
    binomial = (binomial * (n - rank)) / (rank + 1);
    rank++;
  }
  const outside = Math.max(0, rank - 1);
  return [sorted[outside] ?? Number.NaN, sorted[n - 1 - outside] ?? Number.NaN];
}

/** The median of the calm samples of a case, or of all when none was calm; undefined without samples. */
export function estimate(
  samples: readonly Sample[],
  which: Pick<Sample, 'case' | 'target'>,
  metric: Metric,
): Estimate | undefined {
  return middle(pick(samples, which).map((sample) => ({ value: sample.values[metric], calm: sample.calm !== false })));
}

export type Comparison = 'ratio' | 'difference';

/**
 * Compares two targets round by round and takes the median: what both share in a round (a busy neighbour, a slower
 * clock) cancels out, which it would not in a ratio of two medians.
 */
export function compare(
  samples: readonly Sample[],
  which: Pick<Sample, 'case' | 'target'>,
  to: Pick<Sample, 'case' | 'target'>,
  metric: Metric,
  how: Comparison,
): Estimate | undefined {
  const others = new Map(pick(samples, to).map((sample) => [sample.round, sample]));
  return middle(
    pick(samples, which).map((sample) => {
      const other = others.get(sample.round);
      const [a, b] = [sample.values[metric], other?.values[metric]];
      if (a === undefined || b === undefined) return { value: undefined, calm: false };
      return { value: how === 'ratio' ? a / b : a - b, calm: sample.calm !== false && other?.calm !== false };
    }),
  );
}

function pick(samples: readonly Sample[], which: Pick<Sample, 'case' | 'target'>): Sample[] {
  return samples.filter((sample) => sample.case === which.case && sample.target === which.target);
}

function middle(all: readonly { value: number | undefined; calm: boolean }[]): Estimate | undefined {
  const known = all.filter((one): one is { value: number; calm: boolean } => one.value !== undefined);
  const calm = known.filter((one) => one.calm);
  const used = calm.length > 0 ? calm : known;
  if (used.length === 0) return undefined;
  const values = used.map((one) => one.value);
  const [low, high] = medianInterval(values);
  return { value: median(values), low, high, count: used.length, disturbed: calm.length === 0 };
}
