import { loadScraperConfig } from '../load/load.ts';
import { ConfigError, type Problem } from '../load/problem.ts';
import type { Environment } from '../../../lib/references/reference.ts';
import type { ScraperConfig } from '../scraper-file/scraper.ts';
import { put, toYaml } from './adapter-config.ts';

/** What the tests of the scraper's file share. */

/** A small valid file: the first source reads a range of time, the second how things are now. */
export function scraperSample(): Record<string, unknown> {
  return {
    scraper: { otelCollectorEndpoint: 'http://collector:4317' },
    sources: [
      {
        name: 'events',
        frequency: '5m',
        baseUrl: 'https://api.example.com',
        endpoint: '/v1/events',
        scrape: { type: 'range', rangeKeys: { startKey: 'from', endKey: 'to' } },
        gaugeReadings: [{ name: 'g', dataKey: 'v' }],
        counterReadings: [{ name: 'c' }],
        histogramReadings: [{ name: 'h', dataKey: 'v', buckets: [1, 2] }],
        attributes: [{ name: 'a', dataKey: 'x', asMetric: {} }],
      },
      {
        name: 'status',
        frequency: '30s',
        baseUrl: 'https://api.example.com',
        endpoint: '/v1/status',
        scrape: { type: 'instant' },
      },
    ],
  };
}

/** The sample with some values changed; `undefined` removes one. A path below `source` is one of the first source. */
export function scraperSampleWith(values: Record<string, unknown>): Record<string, unknown> {
  const document = scraperSample();
  for (const [path, value] of Object.entries(values)) put(document, path.replace(/^source\b/, 'sources[0]'), value);
  return document;
}

/** Loads a document; JSON is YAML. */
export function loadScraper(document: unknown, env: Environment = {}): ScraperConfig {
  return loadScraperConfig(toYaml(document), env);
}

/** What is wrong with a file. */
export function scraperProblems(text: string, env: Environment = {}): readonly Problem[] {
  try {
    loadScraperConfig(text, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
