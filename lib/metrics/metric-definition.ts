/** A metric of one of the programs, as its catalog declares it. */
export interface MetricDefinition {
  /** As OpenTelemetry has it. */
  readonly name: string;
  readonly instrument: 'counter' | 'upDownCounter' | 'gauge' | 'histogram';
  /** UCUM; `1` is a ratio or a plain number, `{thing}` a number of things. */
  readonly unit: string;
  /** One sentence. */
  readonly description: string;
  /** Names of its attributes; no point has others, and a point need not have all. */
  readonly attributes: readonly string[];
  /** Upper bounds of a histogram's buckets, ascending. */
  readonly bounds?: readonly number[];
}

/** Words that OTLP receivers put behind a name for its unit. */
const UNIT_WORDS: Readonly<Record<string, string>> = { s: 'seconds', ms: 'milliseconds', By: 'bytes' };

/**
 * What a metric is called in Prometheus: read from a Prometheus endpoint of ours, and received over OTLP, where the unit
 * becomes part of the name. The two are mostly the same. Histograms have these names with `_bucket`, `_sum` and `_count`.
 */
export function prometheusNames(metric: Pick<MetricDefinition, 'name' | 'instrument' | 'unit'>): readonly string[] {
  const { name, instrument, unit } = metric;
  const scraped = name.replaceAll(/[^a-z0-9_]/gi, '_').replaceAll(/_{2,}/g, '_');
  const total = instrument === 'counter' && !scraped.endsWith('_total') ? `${scraped}_total` : scraped;
  const words = name.split(/[^a-z0-9]+/i).filter((word) => word !== '');
  const ofUnit = UNIT_WORDS[unit];
  const withUnit = ofUnit === undefined || words.includes(ofUnit) ? words : [...words, ofUnit];
  const last = instrument === 'counter' ? 'total' : instrument === 'gauge' && unit === '1' ? 'ratio' : undefined;
  const received = last === undefined ? withUnit : [...withUnit.filter((word) => word !== last), last];
  return [...new Set([total, received.join('_')])];
}

/** The name of an attribute as a label of Prometheus. */
export const prometheusLabel = (attribute: string): string => attribute.replaceAll(/[^a-z0-9_]/gi, '_');
