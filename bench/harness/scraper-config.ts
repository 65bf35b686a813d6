import { BUCKETS, type ScrapeJob } from './scrape-job.ts';

export interface ScraperStore {
  readonly folder: string;
  /** Undefined: SQLite in the folder. */
  readonly redisPort?: number | undefined;
}

/** Minutes that a window of a job covers. */
const WINDOW_MINUTES = 60;

/** The configuration of a measured scraper with one source: 3 readings and 4 attributes a record. JSON is YAML. */
export function scraperConfig(job: ScrapeJob, port: number, redisPort?: number, now = Date.now()): string {
  const start = new Date(Math.floor(now / 1000) * 1000 - job.windows * WINDOW_MINUTES * 60_000);
  const instant = { type: 'instant', extraArgs: { n: job.records, wait: job.wait } };
  const range = {
    type: 'range',
    rangeKeys: { startKey: 'start', endKey: 'end', firstScrapeStart: start.toISOString().replace('.000', '') },
    parallelWindow: { unit: 'minutes', value: WINDOW_MINUTES },
    extraArgs: instant.extraArgs,
  };
  return JSON.stringify({
    scraper: settings(job.sink, port, { folder: job.folder, redisPort }),
    sources: [
      {
        name: 'page',
        baseUrl: job.sink,
        endpoint: job.windows === 0 ? '/page' : '/window',
        frequency: '1d',
        runFirstScrape: true,
        scrape: job.windows === 0 ? instant : range,
        dataKey: 'items',
        ...READINGS,
        emitLogs: job.logs,
        deltaDetection: {
          enabled: job.fingerprints,
          fingerprintMode: 'keys',
          fingerprintKeys: ['id', 'kind'],
          ttlSeconds: 3600,
        },
      },
    ],
  });
}

const READINGS = {
  gaugeReadings: [{ name: 'bench.usage', dataKey: 'usage.percent', unit: '%' }],
  counterReadings: [{ name: 'bench.events' }],
  histogramReadings: [{ name: 'bench.duration', dataKey: 'timing.totalMs', unit: 'ms', buckets: BUCKETS }],
  attributes: [
    { name: 'kind', dataKey: 'kind' },
    { name: 'site', dataKey: 'site' },
    { name: 'outcome', dataKey: 'outcome' },
    { name: 'plan', dataKey: 'account.plan' },
  ],
};

/** The configuration of a scraper with many sources, half of them status and half of them events with logs. */
export function fleetConfig(sink: string, count: number, every: string, port: number, store: ScraperStore): string {
  return JSON.stringify({
    scraper: settings(sink, port, store),
    sources: Array.from({ length: count }, (_, number) => ({
      name: `source-${number}`,
      baseUrl: sink,
      endpoint: `/fleet/source-${number}`,
      frequency: every,
      runFirstScrape: true,
      scrape:
        number % 2 === 0
          ? { type: 'instant' }
          : { type: 'range', rangeKeys: { startKey: 'start', endKey: 'end' }, extraArgs: { limit: 100 } },
      dataKey: 'items',
      ...READINGS,
      emitLogs: number % 2 === 1,
    })),
  });
}

function settings(sink: string, port: number, { folder, redisPort }: ScraperStore): object {
  return {
    otelCollectorEndpoint: sink,
    otelTransport: 'http',
    enforceTls: false,
    serviceName: 'bench',
    logLevel: 'warning',
    servicePort: port,
    defaultTimeFormat: '%Y-%m-%dT%H:%M:%SZ',
    fingerprintStore: {
      maxEntriesPerSource: 200_000,
      ...(redisPort === undefined
        ? { backend: 'sqlite', sqlite: { path: `${folder}/scraper.db` } }
        : { backend: 'redis', redis: { host: '127.0.0.1', port: redisPort } }),
    },
  };
}
