import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Environment } from '../lib/references/reference.ts';
import type { ScraperConfig, ScraperSettings } from '../crds/config/scraper-file/scraper.ts';
import { connectRulesFrom } from '../lib/net/guarded-connect.ts';
import { observeNode } from '../lib/metrics/node-metrics.ts';
import { KnownSecrets } from './known-secrets.ts';
import { RetryBuffer } from './window/retry-buffer.ts';
import { MemoryBudget, memoryForAnswers, memoryForSeries } from './limits/memory-budget.ts';
import { Scraper } from './scraper.ts';
import type { Logger } from './logger.ts';
import { DryRunEmitter } from './output/dry-run-emitter.ts';
import type { Emitter } from './output/emitter.ts';
import { OtlpEmitter } from './output/otlp-emitter.ts';
import { createExporters } from './output/otlp-exporters.ts';
import { createResource } from '../lib/otlp/resource.ts';
import { SelfTelemetry } from './output/self-telemetry.ts';
import { FairSemaphore } from './limits/fair-semaphore.ts';
import { limited } from './requests/limited-client.ts';
import { HostRateLimiter, limitsOf, LocalCounter, type RequestCounter } from './requests/rate-limit.ts';
import { sourceUrl } from './requests/parameters.ts';
import { TokenCache } from './requests/token-cache.ts';
import { proxiesFrom, UndiciClient } from './requests/undici-client.ts';
import { type RunObserver, unobserved } from './run/run-observer.ts';
import { Scheduler } from './source/scheduler.ts';
import { selfObserver } from './run/self-observer.ts';
import { openDryRunState } from './state/dry-run-state.ts';
import { openState } from './state/open-state.ts';
import { Semaphore } from './limits/semaphore.ts';
import { StateHolder, type StateHolderOptions } from './state/state-holder.ts';
import { Maintenance } from './maintenance.ts';

export interface ScraperOptions {
  readonly config: ScraperConfig;
  readonly env: Environment;
  readonly logger: Logger;
  readonly version: string;
  /** Name of the pods that have the same sources; undefined: all pods that share the state. */
  readonly shard?: string | undefined;
}

const METRICS_MS = 60_000;

/** Puts everything together that scrapes; `start` sets it going. @throws RequestFailure: a certificate cannot be read */
export async function createScraper(options: ScraperOptions): Promise<Scraper> {
  const { config, env, logger, version, shard } = options;
  const settings = config.scraper;
  const now = (): Date => new Date();
  const clock = (): number => performance.now();
  const random = Math.random;
  const pod = `${shard === undefined ? '' : `${shard}/`}${hostname()}-${randomUUID()}`;
  const metricsMs = Number(env['OTEL_METRIC_EXPORT_INTERVAL']) || METRICS_MS;

  // Closed in the reverse order, at the end or when something below cannot be opened.
  await using opening = new AsyncDisposableStack();
  const client = new UndiciClient({
    proxies: proxiesFrom(env),
    userAgent: `otel-api-scraper/${version}`,
    rules: connectRulesFrom(env),
  });
  opening.defer(() => client.close());
  const permits = new FairSemaphore(settings.maxGlobalConcurrency, clock);
  const tokens = new TokenCache(clock);
  opening.defer(() => tokens.close());
  const emitter = await createEmitter(settings, { env, logger, now, refreshMs: metricsMs });
  const telemetry = settings.enableSelfTelemetry && !settings.dryRun ? new SelfTelemetry(emitter, now) : undefined;
  if (telemetry !== undefined) opening.use(observeNode(telemetry));
  const scheduler = new Scheduler(() => Date.now());
  const state = stateHolder(settings, { pod, logger, clock, random });
  const maintenance = new Maintenance({
    scheduler,
    logger,
    now,
    random,
    backend: settings.fingerprintStore.backend,
    cleanUpMs: settings.fingerprintStore.cleanupIntervalSeconds * 1000,
    telemetry,
    telemetryMs: metricsMs,
    sources: () => scraper.sources(),
  });
  const secrets = new KnownSecrets(() => tokens.secrets());
  const counter = sharedCounter(state);
  let rateLimiter = new HostRateLimiter(new Map(), counter);

  const scraper: Scraper = new Scraper({
    config,
    pod,
    state,
    emitter,
    retryBuffer: new RetryBuffer(),
    memory: new MemoryBudget(memoryForAnswers()),
    suspects: new Semaphore(1),
    scheduler,
    maintenance,
    observer: observerOf(telemetry, state),
    logger,
    now,
    random,
    contextOf: (warn) => ({ settings, http: client, tokens, now, warn }),
    fetchOf: ({ source, host, auth, parse, records }) => ({
      settings,
      http: limited(client, permits, { source: source.name, host }),
      auth,
      rateLimiter,
      parse,
      records,
      secrets: secrets.all,
      now,
    }),
    onConfig(next) {
      secrets.add(next);
      const sources = usable(next);
      rateLimiter = new HostRateLimiter(limitsOf(sources), counter);
      permits.setSources(sources.map((source) => ({ source: source.name, host: new URL(sourceUrl(source)).host })));
    },
    secrets: secrets.all,
    close: () => opened.disposeAsync(),
  });
  const opened = opening.move();
  return scraper;
}

function observerOf(telemetry: SelfTelemetry | undefined, state: StateHolder): RunObserver {
  const observer = telemetry === undefined ? unobserved : selfObserver(telemetry);
  return {
    ...observer,
    stateFailed() {
      state.noteTrouble();
      observer.stateFailed();
    },
  };
}

async function createEmitter(
  settings: ScraperSettings,
  { env, logger, now, refreshMs }: { env: Environment; logger: Logger; now: () => Date; refreshMs: number },
): Promise<Emitter> {
  if (settings.dryRun) return new DryRunEmitter((shown) => logger.info(shown, 'dry run: this would be sent'));
  return new OtlpEmitter({
    exporters: await createExporters(settings, env),
    resource: createResource(settings.serviceName, randomUUID(), env),
    now,
    refreshMs,
    maxSeriesBytes: memoryForSeries(),
    warn: (message) => logger.warn({ error: message }, 'export'),
  });
}

function stateHolder(
  { dryRun, fingerprintStore: store }: ScraperSettings,
  options: Omit<StateHolderOptions, 'openState'> & { readonly pod: string },
): StateHolder {
  const { pod, clock } = options;
  const holder: StateHolder = new StateHolder({
    ...options,
    openState: () =>
      dryRun
        ? openDryRunState(store, { pod })
        : openState(store, { pod, clock, onError: (error) => holder.onError(error) }),
  });
  return holder;
}

/** Counts here until the state is open. */
function sharedCounter(state: StateHolder): RequestCounter {
  const own = new LocalCounter();
  return { reserve: (host, limit) => (state.requestCounter ?? own).reserve(host, limit) };
}

/** Sources whose address is one; the others never send. */
const usable = ({ sources }: ScraperConfig): ScraperConfig['sources'] =>
  sources.filter((source) => {
    try {
      return URL.canParse(sourceUrl(source));
    } catch {
      return false;
    }
  });
