import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScraper } from '../../crds/config/testing/scraper-sample.ts';
import type { ScraperConfig } from '../../crds/config/scraper-file/scraper.ts';
import { createScraper } from '../create-scraper.ts';
import type { Scraper } from '../scraper.ts';
import { OtlpReceiver } from '../../lib/otlp/testing/otlp-receiver.ts';
import { json, TestServer } from '../requests/testing/test-server.ts';
import { type LogLine, readableLogger } from './source-kit.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A real API and a real collector, and as many scrapers as one likes, with a state file or a Redis of their own. */
export class ScraperKit implements AsyncDisposable {
  readonly folder: string;
  readonly api: TestServer;
  readonly collector: OtlpReceiver;
  readonly lines: LogLine[] = [];
  readonly #collectorUrl: string;
  readonly #scrapers: Scraper[] = [];

  private constructor(folder: string, api: TestServer, collector: OtlpReceiver, collectorUrl: string) {
    this.folder = folder;
    this.api = api;
    this.collector = collector;
    this.#collectorUrl = collectorUrl;
  }

  static async start(): Promise<ScraperKit> {
    const folder = await mkdtemp(join(tmpdir(), 'scraping-'));
    const collector = new OtlpReceiver();
    return new ScraperKit(folder, await TestServer.start(json([{ id: 1 }])), collector, await collector.listen());
  }

  get statePath(): string {
    return join(this.folder, 'state.db');
  }

  /** The configuration of these sources, each of which is scraped every second unless it says something else. */
  config(sources: readonly Fields[], settings: Fields = {}): ScraperConfig {
    return loadScraper({
      scraper: {
        otelCollectorEndpoint: this.#collectorUrl,
        otelTransport: 'http',
        enforceTls: false,
        shutdownGrace: '2s',
        fingerprintStore: { sqlite: { path: this.statePath } },
        ...settings,
      },
      sources: sources.map((source) => ({
        frequency: '1s',
        baseUrl: this.api.url,
        endpoint: `/${String(source['name'])}`,
        scrape: { type: 'instant' },
        runFirstScrape: true,
        ...source,
      })),
    });
  }

  async create(config: ScraperConfig): Promise<Scraper> {
    const { logger, lines } = readableLogger();
    const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '1000' };
    const scraper = await createScraper({ config, env, logger, version: '0' });
    // One list for all of them.
    lines.push = (...added) => this.lines.push(...added);
    this.#scrapers.push(scraper);
    return scraper;
  }

  /** How often each source was asked for. */
  requests(source: string): number {
    return this.api.requests.filter(({ target }) => target.split('?')[0] === `/${source}`).length;
  }

  /** The log records that the collector has acknowledged, by source. */
  delivered(source: string): unknown[] {
    return this.collector.accepted.flatMap(({ logs }) => logs.filter(({ scope }) => scope === source));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#scrapers.map((scraper) => scraper.stop()));
    await this.collector[Symbol.asyncDispose]();
    await this.api.close();
    await rm(this.folder, { recursive: true });
  }
}

export const loaded = (config: ScraperConfig) => ({ config, hash: '', warnings: [] });

const RANGE = { type: 'range', timeFormat: 'unix', rangeKeys: { startKey: 'from', endKey: 'to' } };
export const range = (fields: Fields = {}): Fields => ({ ...RANGE, ...fields });
