import type { ApiScrapeSource, ApiScrapeSourceSpec } from '../../../crds/v1alpha1/api-scrape-source.ts';

type Changes = Omit<Partial<ApiScrapeSourceSpec>, 'source'> & {
  readonly source?: Partial<ApiScrapeSourceSpec['source']>;
};

const entry = (name: string): ApiScrapeSourceSpec['source'] => ({
  name,
  frequency: '5m',
  baseUrl: 'https://api.example.com',
  endpoint: `/v1/${name}`,
  scrape: { type: 'instant' },
});

export const ENDPOINT = 'http://collector.observability:4317';

/** A resource that can run; `age` orders resources, the lowest is the oldest. */
export function source(name: string, { source: changes, ...spec }: Changes = {}, age = 0): ApiScrapeSource {
  return {
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'ApiScrapeSource',
    metadata: {
      name,
      namespace: 'team',
      uid: `uid-${name}`,
      generation: 1,
      creationTimestamp: new Date(Date.UTC(2026, 0, 1) + age * 1000).toISOString().replace('.000', ''),
    },
    spec: { ...spec, source: { ...entry(name), ...changes } },
  };
}

/** The same with the endpoint that a group needs. */
export const first = (name: string, { scraper, ...changes }: Changes = {}, age = -1): ApiScrapeSource =>
  source(name, { ...changes, scraper: { otelCollectorEndpoint: ENDPOINT, ...scraper } }, age);
