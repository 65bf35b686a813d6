import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { toYaml } from '../../../crds/config/testing/adapter-config.ts';
import { OtlpReceiver, type ReceivedRequest } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { type SeenRequest, TestServer } from '../../../scraper/requests/testing/test-server.ts';
import { freePort } from '../../support/ports.ts';
import { type RunningProcess, startProcess } from '../../support/processes.ts';
import { programPath } from '../../support/programs/program-path.ts';
import { ago, HOUR } from './field-case.ts';

const MAIN = programPath(fileURLToPath(new URL('../../../scraper/main.ts', import.meta.url)));
const READY_MS = 20_000;
/** How long the API takes for answers to `/long` and to each window of `/slow`. */
const LONG_MS = 1500;
const SLOW_MS = 150;

export interface Surroundings {
  readonly env?: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  /** Of the section `fingerprintStore`. */
  readonly store?: (run: OwnRun) => Record<string, unknown>;
}

/** A scraper with settings of its own, what it scrapes and what it exports to. */
export class OwnRun implements AsyncDisposable {
  readonly folder: string;
  readonly receiver: OtlpReceiver;
  /** What `servicePort` says. */
  readonly port: number;
  /** Where it listens. */
  url = '';
  readonly requests: SeenRequest[] = [];
  /** Most requests at a time: of a path, or of all. */
  readonly atOnce = new Map<string, number>();
  #scraper: RunningProcess | undefined;
  readonly #open = new Map<string, number>();
  readonly #stack: AsyncDisposableStack;
  /** Milliseconds from SIGTERM to the end. */
  stopMs: number | undefined;

  private constructor(folder: string, receiver: OtlpReceiver, port: number, stack: AsyncDisposableStack) {
    this.folder = folder;
    this.receiver = receiver;
    this.port = port;
    this.#stack = stack;
  }

  /** @param settings the section `scraper`, which takes the place of what a test needs */
  static async start(settings: Record<string, unknown>, more: Surroundings = {}): Promise<OwnRun> {
    const { env = {}, args = [], store = () => ({}) } = more;
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'scraper-settings-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const receiver = stack.use(new OtlpReceiver());
    const endpoint = await receiver.listen();
    const run = new OwnRun(folder, receiver, await freePort(), stack.move());
    const api = await TestServer.start((request, response) => run.#answer(request, response));
    run.#stack.defer(() => api.close());
    const scraper = {
      otelCollectorEndpoint: endpoint,
      otelTransport: 'http',
      enforceTls: false,
      servicePort: run.port,
      fingerprintStore: { sqlite: { path: run.stateFile }, ...store(run) },
      ...settings,
    };
    const file = join(folder, 'config.yaml');
    await writeFile(file, toYaml({ scraper, sources: sourcesOf(api.url) }));
    const command = [MAIN, '--config', file, '--host', '127.0.0.1', ...args];
    run.#scraper = run.#stack.use(
      startProcess(process.execPath, command, { OTEL_METRIC_EXPORT_INTERVAL: '500', ...env }),
    );
    const [, url = ''] = await run.#scraper.waitForStdout(/"msg":"listening","url":"([^"]+)"/, READY_MS);
    run.url = url;
    return run;
  }

  get stateFile(): string {
    return join(this.folder, 'state.db');
  }

  get ownFile(): string {
    return `${this.stateFile}.own`;
  }

  hasState(path = this.stateFile): boolean {
    return existsSync(path);
  }

  get output(): string {
    return `${this.#scraper?.stdout() ?? ''}${this.#scraper?.stderr() ?? ''}`;
  }

  get exports(): readonly ReceivedRequest[] {
    return this.receiver.accepted;
  }

  /** The last value of a counter of a source. */
  total(source: string, metric = 'c'): number {
    const points = this.exports.flatMap((request) => request.points);
    const last = points.findLast(({ name, attributes }) => name === metric && attributes['source'] === source);
    return Number(last?.value ?? 0);
  }

  asked(path: string): number {
    return this.requests.filter(({ target }) => target.split('?')[0] === path).length;
  }

  /** Fingerprints of a source in the state file. */
  fingerprints(source: string): number {
    if (!this.hasState()) return 0;
    const file = new DatabaseSync(this.stateFile, { readOnly: true });
    try {
      return Number(file.prepare('SELECT count(*) AS n FROM fingerprints WHERE source = ?').get(source)?.['n']);
    } finally {
      file.close();
    }
  }

  /** The status of an answer of the program itself; undefined when nobody answers. */
  async status(path: string, token?: string): Promise<number | undefined> {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    return await fetch(this.url + path, { headers, signal: AbortSignal.timeout(5000) }).then(
      ({ status }) => status,
      () => undefined,
    );
  }

  async lastError(source: string): Promise<string> {
    const response = await fetch(`${this.url}/healthz`, { signal: AbortSignal.timeout(5000) });
    const { sources } = (await response.json()) as { sources: { name: string; last_error: string | null }[] };
    return sources.find(({ name }) => name === source)?.last_error ?? '';
  }

  /** Ends it while an answer to `/long` is awaited. */
  async stopInTheMiddle(): Promise<void> {
    const before = this.asked('/long');
    while (this.asked('/long') === before || this.#open.get('/long') === 0) await delay(20);
    const started = performance.now();
    await this.#scraper?.stop(20_000);
    this.stopMs = performance.now() - started;
  }

  async #answer(request: SeenRequest, response: Parameters<TestServer['answer']>[1]): Promise<void> {
    const [path = ''] = request.target.split('?');
    this.requests.push(request);
    for (const key of [path, 'all']) {
      const open = (this.#open.get(key) ?? 0) + 1;
      this.#open.set(key, open);
      this.atOnce.set(key, Math.max(this.atOnce.get(key) ?? 0, open));
    }
    await delay({ '/long': LONG_MS, '/slow': SLOW_MS }[path] ?? 0);
    const body = path === '/same' || path === '/once' ? [{ id: 1 }, { id: 2 }] : [{ id: 1, v: 7 }];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    for (const key of [path, 'all']) this.#open.set(key, (this.#open.get(key) ?? 1) - 1);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Their names are their paths: for time formats and concurrency, overlapping runs, repetitions, clean-up. */
function sourcesOf(baseUrl: string): object[] {
  const source = (name: string, more: Record<string, unknown>): object => ({
    name,
    baseUrl,
    endpoint: name,
    frequency: '1h',
    runFirstScrape: true,
    scrape: { type: 'instant' },
    counterReadings: [{ name: 'c' }],
    ...more,
  });
  const rangeKeys = { startKey: 'from', endKey: 'to', firstScrapeStart: ago(5 * HOUR - 60_000) };
  const byId = { enabled: true, fingerprintMode: 'keys', fingerprintKeys: ['id'] };
  return [
    source('slow', { scrape: { type: 'range', rangeKeys, parallelWindow: { unit: 'hours', value: 1 } } }),
    source('long', { frequency: '1s' }),
    source('same', { frequency: '1s', deltaDetection: byId }),
    source('once', { deltaDetection: { ...byId, ttlSeconds: 1 } }),
  ];
}
