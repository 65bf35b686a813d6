import { type MetricDefinition, prometheusNames } from '../../../lib/metrics/metric-definition.ts';
import type { Target } from './grafana.ts';

/** Picks series: a matcher of labels, as it stands in braces. */
type Matchers = readonly string[];

type Named = Pick<MetricDefinition, 'name' | 'instrument' | 'unit'>;

/** What `find` gives, by a name in the catalog; @throws for one that is not there */
function finder(metrics: readonly Named[]): (name: string) => Named {
  const all = new Map(metrics.map((metric) => [metric.name, metric]));
  return (name) => {
    const found = all.get(name);
    if (found === undefined) throw new Error(`no catalog has a metric ${name}`);
    return found;
  };
}

/** Expressions over the metrics of one program. Every series is of the targets that the dashboard's variables choose. */
export class PromQl {
  readonly #find: (name: string) => Named;
  readonly #chosen: Matchers;

  constructor(metrics: readonly Named[], chosen: Matchers) {
    this.#find = finder(metrics);
    this.#chosen = chosen;
  }

  /** The series of a metric, whichever way it came into Prometheus. */
  series(name: string, matchers: Matchers = [], part: '' | '_bucket' | '_sum' | '_count' = ''): string {
    const names = prometheusNames(this.#find(name)).map((one) => `${one}${part}`);
    const all = [...this.#chosen, ...matchers];
    if (names.length === 1) return `${names[0]}{${all.join(',')}}`;
    return `{${[`__name__=~"${names.join('|')}"`, ...all].join(',')}}`;
  }

  /** Per second, added up over pods. */
  rate(name: string, by: readonly string[] = [], matchers: Matchers = []): string {
    return sum(`rate(${this.series(name, matchers)}[$__rate_interval])`, by);
  }

  /** Per second, of how many values a histogram was made. */
  countRate(name: string, by: readonly string[] = [], matchers: Matchers = []): string {
    return sum(`rate(${this.series(name, matchers, '_count')}[$__rate_interval])`, by);
  }

  /** Share of what `matchers` pick among what `among` picks; nothing where nothing happens. */
  share(name: string, matchers: Matchers, among: Matchers = []): string {
    const all = this.rate(name, [], among);
    // Where none is picked there is no series, but a share of nought.
    return `(${this.rate(name, [], [...among, ...matchers])} or 0 * ${all}) / (${all} > 0)`;
  }

  quantile(q: number, name: string, by: readonly string[] = [], matchers: Matchers = []): string {
    const buckets = `rate(${this.series(name, matchers, '_bucket')}[$__rate_interval])`;
    return `histogram_quantile(${q}, ${sum(buckets, ['le', ...by])})`;
  }

  /** Median, 95th and 99th percentile. */
  quantiles(name: string, matchers: Matchers = []): Target[] {
    return [0.5, 0.95, 0.99].map((q) => ({ expr: this.quantile(q, name, [], matchers), legend: `p${q * 100}` }));
  }
}

const sum = (what: string, by: readonly string[]): string =>
  by.length === 0 ? `sum(${what})` : `sum by (${by.join(', ')}) (${what})`;
