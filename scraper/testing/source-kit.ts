import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScraper } from '../../crds/config/testing/scraper-sample.ts';
import type { ScraperConfig } from '../../crds/config/scraper-file/scraper.ts';
import { RetryBuffer } from '../window/retry-buffer.ts';
import { MemoryBudget, memoryForAnswers } from '../limits/memory-budget.ts';
import { Semaphore } from '../limits/semaphore.ts';
import { createLogger, type Logger } from '../logger.ts';
import { OtlpEmitter } from '../output/otlp-emitter.ts';
import { createExporters } from '../output/otlp-exporters.ts';
import { createResource } from '../../lib/otlp/resource.ts';
import { OtlpReceiver } from '../../lib/otlp/testing/otlp-receiver.ts';
import { HostRateLimiter, LocalCounter } from '../requests/rate-limit.ts';
import { json, TestServer } from '../requests/testing/test-server.ts';
import { TokenCache } from '../requests/token-cache.ts';
import { UndiciClient } from '../requests/undici-client.ts';
import { type RunObserver, unobserved } from '../run/run-observer.ts';
import { ScrapedSource } from '../source/scraped-source.ts';
import type { Fence, Ledger } from '../state/ledger.ts';
import { SqliteLedger } from '../state/sqlite-ledger.ts';

export const FENCE: Fence = { token: 0n };
export const PERIOD_MS = 60_000;

export type LogLine = Readonly<Record<string, unknown>>;

/** A logger whose lines can be read. */
export function readableLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const logger = createLogger('trace', () => [], { write: (line) => void lines.push(JSON.parse(line) as LogLine) });
  return { logger, lines };
}

/** The configuration of one source, `events`, that asks for a range, with these fields of it and of its `scrape`. */
function rangeConfig(
  api: string,
  collector: string,
  fields: Readonly<Record<string, unknown>> = {},
  scrape: Readonly<Record<string, unknown>> = {},
): ScraperConfig {
  return loadScraper({
    scraper: { otelCollectorEndpoint: collector, otelTransport: 'http', enforceTls: false },
    sources: [
      {
        name: 'events',
        frequency: '1m',
        baseUrl: api,
        endpoint: '/events',
        scrape: {
          type: 'range',
          timeFormat: 'unix',
          rangeKeys: { startKey: 'from', endKey: 'to' },
          ...scrape,
        },
        ...fields,
      },
    ],
  });
}

/**
 * One source that is run by hand: a real API, a real collector, a real state file. Only time stands still until it is
 * moved, and nobody heeds what the source asks to be woken for.
 */
export class SourceKit implements AsyncDisposable {
  readonly api: TestServer;
  readonly collector: OtlpReceiver;
  readonly ledger: Ledger;
  readonly lines: LogLine[];
  readonly source: ScrapedSource;
  readonly wakes: Date[] = [];
  readonly #clock: { now: Date };
  random = 1;
  fence: Fence | undefined = FENCE;
  readonly #close: () => Promise<void>;

  private constructor(
    parts: Pick<SourceKit, 'api' | 'collector' | 'ledger' | 'lines'>,
    make: {
      clock: { now: Date };
      source: (kit: SourceKit) => ScrapedSource;
      close: () => Promise<void>;
    },
  ) {
    this.api = parts.api;
    this.collector = parts.collector;
    this.ledger = parts.ledger;
    this.lines = parts.lines;
    this.#clock = make.clock;
    this.source = make.source(this);
    this.#close = make.close;
  }

  static async start({
    fields,
    scrape,
    observer = unobserved,
    env = {},
    memory = new MemoryBudget(memoryForAnswers()),
  }: {
    readonly fields?: Readonly<Record<string, unknown>>;
    readonly scrape?: Readonly<Record<string, unknown>>;
    readonly observer?: RunObserver;
    readonly env?: Readonly<Record<string, string>>;
    readonly memory?: MemoryBudget;
  } = {}): Promise<SourceKit> {
    const folder = await mkdtemp(join(tmpdir(), 'runner-'));
    const api = await TestServer.start(json([{ id: 1 }]));
    const collector = new OtlpReceiver();
    const config = rangeConfig(api.url, await collector.listen(), fields, scrape);
    const settings = config.scraper;
    const ledger = new SqliteLedger({ path: join(folder, 'state.db'), lockRetries: 0, lockBackoffMs: 0 });
    const { logger, lines } = readableLogger();
    const http = new UndiciClient({ proxies: {}, userAgent: 'test' });
    const tokens = new TokenCache(() => performance.now());
    const clock = { now: new Date('2026-01-01T00:00:00Z') };
    const time = (): Date => clock.now;
    const [source] = config.sources;
    if (source === undefined) throw new Error('no source');
    const emitter = new OtlpEmitter({
      exporters: await createExporters(settings, env),
      resource: createResource('test', 'instance', {}),
      now: time,
      refreshMs: 0,
      warn: (text) => logger.warn(text),
    });
    const rateLimiter = new HostRateLimiter(new Map(), new LocalCounter());
    const kit: SourceKit = new SourceKit(
      { api, collector, ledger, lines },
      {
        clock,
        source: (made) =>
          new ScrapedSource(source, {
            emitter,
            retryBuffer: new RetryBuffer(),
            memory,
            suspects: new Semaphore(1),
            fetchOf: ({ auth, parse, records }) => ({
              settings,
              http,
              auth,
              rateLimiter,
              parse,
              records,
              secrets: () => [],
              now: time,
            }),
            contextOf: (warn) => ({ settings, http, tokens, now: time, warn }),
            fenceOf: () => made.fence,
            scheduler: {
              set: (_, at) => void made.wakes.push(new Date(at)),
              at: () => undefined,
              delete: () => undefined,
            },
            allowOverlap: settings.allowOverlapScans,
            observer,
            logger,
            now: time,
            random: () => made.random,
          }),
        async close() {
          await kit.source.close(0);
          await collector[Symbol.asyncDispose]();
          await emitter.close();
          await ledger.close();
          await http.close();
          await api.close();
          await rm(folder, { recursive: true });
        },
      },
    );
    kit.source.take(ledger);
    return kit;
  }

  get now(): Date {
    return this.#clock.now;
  }

  /** So many milliseconds later. */
  pass(milliseconds: number): void {
    this.#clock.now = new Date(this.now.getTime() + milliseconds);
  }

  /** The windows that the API was asked for, in seconds since `from`. */
  windowsSince(from: Date): [number, number][] {
    const base = from.getTime() / 1000;
    return this.api.targets.map((target) => {
      const query = new URL(target, this.api.url).searchParams;
      return [Number(query.get('from')) - base, Number(query.get('to')) - base];
    });
  }

  /** The ids of the records that the collector has acknowledged. */
  get delivered(): unknown[] {
    return this.collector.accepted.flatMap(({ logs }) =>
      logs.map(({ body }) => (body as { record: { id: unknown } }).record.id),
    );
  }

  failures(): LogLine[] {
    return this.lines.filter(({ msg }) => msg === 'window failed');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}
