import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { SqliteLedger } from '../../../scraper/state/sqlite-ledger.ts';
import { type Collector, type CollectorOptions, startCollector } from '../../support/collector/collector.ts';
import { type JsonApi, startJsonApi } from '../../support/json-api.ts';
import { type RunningScraper, startScraper } from '../../support/scraper-process.ts';

type Settings = Readonly<Record<string, unknown>>;

/** Times with milliseconds, so that windows begin and end where the ledger says. */
const MILLISECONDS = '%Y-%m-%dT%H:%M:%S.%fZ';

/** An API, a collector, and a folder for what scrapers between them keep. */
export class Workshop implements AsyncDisposable {
  readonly api: JsonApi;
  readonly collector: Collector;
  readonly folder: string;
  readonly #running = new Set<RunningScraper>();

  private constructor(api: JsonApi, collector: Collector, folder: string) {
    this.api = api;
    this.collector = collector;
    this.folder = folder;
  }

  static async open(options: CollectorOptions = {}): Promise<Workshop> {
    const collector = await startCollector(options);
    return new Workshop(await startJsonApi(), collector, await mkdtemp(join(tmpdir(), 'scraper-')));
  }

  /** A source of the API's events of a time; `more` overrides. */
  source(name: string, { scrape = {}, ...more }: Settings & { scrape?: Settings } = {}): Settings {
    return {
      name,
      frequency: '1s',
      baseUrl: this.api.url,
      endpoint: '/events',
      dataKey: 'data.items',
      runFirstScrape: true,
      timestampKey: 'at',
      counterReadings: [{ name: 'events' }],
      attributes: [{ name: 'host', dataKey: 'host' }],
      ...more,
      scrape: {
        type: 'range',
        timeFormat: MILLISECONDS,
        // The name of the source, and of the pod that asks.
        extraHeaders: { 'X-Source': name, 'X-Pod': '${POD:-only}' },
        retry: { maxAttempts: 1000, initialDelay: '1s', maxDelay: '1s' },
        ...scrape,
        rangeKeys: { startKey: 'from', endKey: 'to', ...(scrape['rangeKeys'] as Settings | undefined) },
      },
    };
  }

  /** Writes a configuration and returns its path. */
  async configure(sources: readonly Settings[], scraper: Settings = {}): Promise<string> {
    const file = join(this.folder, 'config.yaml');
    const settings = {
      otelCollectorEndpoint: this.collector.grpc,
      enforceTls: false,
      logLevel: 'info',
      fingerprintStore: { sqlite: { path: this.stateFile } },
      ...scraper,
    };
    await writeFile(file, stringify({ scraper: settings, sources }));
    return file;
  }

  /** A scraper that does not outlive the workshop. */
  async start(file: string, env: NodeJS.ProcessEnv = {}): Promise<RunningScraper> {
    const scraper = await startScraper(file, { env });
    this.#running.add(scraper);
    void scraper.exited.then(() => this.#running.delete(scraper));
    return scraper;
  }

  /** What health says of a source. */
  async status(scraper: RunningScraper, source: string): Promise<Record<string, unknown>> {
    const response = await fetch(`${scraper.url}/healthz`, { signal: AbortSignal.timeout(5000) });
    const { sources } = (await response.json()) as { readonly sources: readonly Record<string, unknown>[] };
    const found = sources.find(({ name }) => name === source);
    if (found === undefined) throw new Error(`health does not know ${source}`);
    return found;
  }

  get stateFile(): string {
    return join(this.folder, 'state.db');
  }

  /** Looks into the state file, which no scraper may have meanwhile. */
  async ledger<T>(look: (ledger: SqliteLedger) => Promise<T>): Promise<T> {
    const ledger = new SqliteLedger({ path: this.stateFile, lockRetries: 5, lockBackoffMs: 100 });
    try {
      return await look(ledger);
    } finally {
      await ledger.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api.release();
    this.collector.thaw();
    for (const scraper of this.#running) {
      scraper.kill();
      await scraper.exited;
    }
    await this.api[Symbol.asyncDispose]();
    await this.collector[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}
