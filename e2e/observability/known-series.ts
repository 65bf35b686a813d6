/** Every series that the programs can make, by its name in Prometheus, with its labels. */
import { METRIC_CATALOG } from '../../adapter/telemetry/metrics/metric-catalog.ts';
import { type MetricDefinition, prometheusLabel, prometheusNames } from '../../lib/metrics/metric-definition.ts';
import { NODE_METRICS } from '../../lib/metrics/node-metrics.ts';
import { OPERATOR_METRICS } from '../../operator/metrics/metric-catalog.ts';
import { SCRAPER_METRICS } from '../../scraper/output/metric-catalog.ts';

/** Labels that Prometheus adds: of the target, or of the resource in OTLP. */
export const TARGET_LABELS = ['namespace', 'job', 'instance'];

export interface Series {
  readonly labels: ReadonlySet<string>;
  /** All names that the metric can have, depending on its way into Prometheus. */
  readonly names: readonly string[];
}

const scraper = Object.entries(SCRAPER_METRICS).map(([name, metric]) => ({ name, ...metric }));
const all: readonly MetricDefinition[] = [
  ...METRIC_CATALOG,
  ...Object.values(OPERATOR_METRICS),
  ...scraper,
  ...NODE_METRICS,
];

export const KNOWN_SERIES: ReadonlyMap<string, Series> = new Map(all.flatMap(seriesOf));

function seriesOf(metric: MetricDefinition): [string, Series][] {
  const parts = metric.instrument === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  const labels = [...metric.attributes.map(prometheusLabel), ...TARGET_LABELS];
  return parts.flatMap((part) => {
    const names = prometheusNames(metric).map((name) => `${name}${part}`);
    const series = { names, labels: new Set(part === '_bucket' ? [...labels, 'le'] : labels) };
    return names.map((name): [string, Series] => [name, series]);
  });
}
