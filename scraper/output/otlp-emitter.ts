import { diag, DiagLogLevel } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { AggregationTemporality, InstrumentType } from '@opentelemetry/sdk-metrics';
import type { Contribution, LogEntry, Metric } from './contribution.ts';
import { CumulativeState } from './cumulative-state.ts';
import { type Emitter, ExportFailure } from './emitter.ts';
import { exportOnce } from './export-once.ts';
import type { Exporters } from './otlp-exporters.ts';
import { logRecords, resourceMetrics } from './otlp-data.ts';
import { PointTimes, type TimedPoint } from './point-times.ts';
import { RetryAfterListener } from './retry-after-listener.ts';
import { batches, sendInParts, sendRest } from './send-in-parts.ts';

export interface OtlpEmitterOptions {
  readonly exporters: Exporters;
  readonly resource: Resource;
  readonly now: () => Date;
  /** Milliseconds between exports of all sums, which tell the collector that they still hold; 0: none. */
  readonly refreshMs: number;
  /** What the sets of attributes of all sums may hold in memory. */
  readonly maxSeriesBytes?: number;
  /** Told of what nobody waits for: parts that the collector has refused, and refreshes that have failed. */
  readonly warn: (message: string) => void;
}

interface Waiting {
  readonly contributions: readonly Contribution[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Nobody waits any more, and its window will be scraped again. */
  givenUp: boolean;
}

/** Points and log records of one request; gRPC takes 4 MiB unless it is told otherwise. */
const POINTS_PER_REQUEST = 5000;
const LOGS_PER_REQUEST = 512;
const LOG_REQUESTS_AT_A_TIME = 4;

/** Sends contributions to a collector, one export at a time; what waits meanwhile goes together. */
export class OtlpEmitter implements Emitter {
  readonly #options: OtlpEmitterOptions;
  readonly #state: CumulativeState;
  readonly #retryAfter: RetryAfterListener;
  readonly #times: PointTimes;
  /** Sent, and neither acknowledged nor given up: they may be part of the sums that the collector has. */
  readonly #inDoubt = new Set<Contribution>();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #deltas: Record<Metric['kind'], boolean>;
  readonly #isDelta = (kind: Metric['kind']): boolean => this.#deltas[kind];
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #refreshDue = false;

  constructor(options: OtlpEmitterOptions) {
    this.#options = options;
    this.#state = new CumulativeState(options.maxSeriesBytes);
    this.#retryAfter = new RetryAfterListener(options.exporters.urls, options.now);
    this.#deltas = deltas(options.exporters);
    this.#times = new PointTimes(this.#now(), this.#isDelta);
    if (options.refreshMs > 0) this.#timer = setInterval(() => this.#refresh(), options.refreshMs).unref();
    // The exporters tell nobody else when a collector has taken only a part.
    const ignore = (): void => undefined;
    const warn = (message: string, ...more: unknown[]): void =>
      options.warn([message, ...more].join(' ').slice(0, 500));
    diag.setLogger(
      { verbose: ignore, debug: ignore, info: ignore, warn, error: warn },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
  }

  async emit(contributions: readonly Contribution[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const filled = contributions.filter(({ isEmpty }) => !isEmpty);
    if (filled.length === 0) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { contributions: filled, resolve, reject, givenUp: false };
    const giveUp = (): void => {
      waiting.givenUp = true;
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.push(waiting);
    this.#wake();
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  giveUp(contribution: Contribution): void {
    if (this.#inDoubt.delete(contribution)) this.#restart(contribution);
  }

  forget(source: string): void {
    this.#state.forget(source);
    this.#times.restart(source, this.#now());
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    this.#retryAfter.close();
    const { metrics, logs } = this.#options.exporters;
    await Promise.all([metrics.shutdown(), logs.shutdown()]);
  }

  #refresh(): void {
    this.#refreshDue = true;
    this.#wake();
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // Something may have come between the last look and now.
      if (this.#waiting.length > 0) this.#wake();
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 || this.#refreshDue) {
      const together = this.#waiting;
      this.#waiting = [];
      if (together.length > 0) await this.#sendTogether(together);
      if (this.#refreshDue) await this.#sendAll();
    }
  }

  async #sendTogether(all: readonly Waiting[]): Promise<void> {
    const wanted = all.filter(({ givenUp }) => !givenUp);
    if (wanted.length === 0) return;
    try {
      await this.#send(wanted);
    } catch (error) {
      if (wanted.length > 1 && error instanceof ExportFailure && !error.retryable) {
        // One of them holds what the collector refuses; the others must not suffer for it.
        for (const each of wanted) await this.#sendTogether([each]);
        return;
      }
      for (const { reject } of wanted) reject(error);
    }
  }

  async #send(wanted: readonly Waiting[]): Promise<void> {
    const contributions = wanted.flatMap((each) => each.contributions);
    try {
      // Metrics first: sums may be sent again without being added again, log records may not.
      await this.#count(contributions);
      await this.#sendLogs(contributions);
    } finally {
      // Their windows will be scraped again, whatever has arrived.
      const givenUp = wanted.filter((each) => each.givenUp).flatMap((each) => each.contributions);
      for (const contribution of givenUp) if (contribution.isCounted) this.#restart(contribution);
      for (const contribution of givenUp) this.giveUp(contribution);
    }
    for (const { resolve } of wanted) resolve();
  }

  /** Sends the sums with what is not part of them yet, and takes it in. */
  async #count(contributions: readonly Contribution[]): Promise<void> {
    // Whoever has got the sums would take lower ones for a restart.
    const uncounted = [...new Set([...this.#inDoubt, ...contributions])].filter(({ isCounted }) => !isCounted);
    try {
      const now = this.#now();
      await this.#sendPoints(this.#times.of(this.#state.preview(uncounted), now), now);
    } catch (error) {
      if (!(error instanceof ExportFailure)) throw error;
      if (!error.retryable && this.#inDoubt.size > 0) {
        // One of those may be what the collector refuses, and these must not suffer for it.
        for (const contribution of this.#inDoubt) this.giveUp(contribution);
        return this.#count(contributions);
      }
      if (error.mayHaveArrived) for (const contribution of uncounted) this.#inDoubt.add(contribution);
      throw error;
    }
    this.#state.take(uncounted);
    for (const contribution of uncounted) contribution.isCounted = true;
    this.#inDoubt.clear();
  }

  /** Sums without these, under a new start, so that they are no fall. */
  #restart(contribution: Contribution): void {
    for (const source of contribution.sources) this.forget(source);
  }

  async #sendAll(): Promise<void> {
    this.#refreshDue = false;
    // Where only what is added is sent, there is nothing to say again; and what is in doubt may have raised its sums.
    const inDoubt = new Set([...this.#inDoubt].flatMap(({ sources }) => [...sources]));
    const lasting = this.#state.all().filter(({ metric }) => !this.#deltas[metric.kind] && !inDoubt.has(metric.source));
    const now = this.#now();
    try {
      await this.#sendPoints(this.#times.timed(lasting, now), now);
    } catch (error) {
      this.#options.warn(error instanceof Error ? error.message : String(error));
    }
  }

  async #sendPoints(points: readonly TimedPoint[], now: bigint): Promise<void> {
    const { exporters, resource } = this.#options;
    const send = (batch: readonly TimedPoint[]): Promise<void> =>
      sendInParts(batch, (part) =>
        exportOnce(exporters.metrics, resourceMetrics(resource, part, this.#isDelta), this.#limits),
      );
    const [first = [], ...rest] = batches(points, POINTS_PER_REQUEST);
    try {
      if (first.length > 0) await send(first);
      for (const batch of rest) await sendRest(() => send(batch));
    } catch (error) {
      if (!(error instanceof ExportFailure) || error.mayHaveArrived) this.#times.exported(points);
      throw error;
    }
    this.#times.exported(points);
    if (points.length > 0) this.#times.sent(now);
  }

  async #sendLogs(contributions: readonly Contribution[]): Promise<void> {
    const entries = contributions.flatMap((contribution) =>
      contribution.logs.slice(contribution.acknowledgedLogs).map((entry) => ({ entry, contribution })),
    );
    for (const wave of batches(batches(entries, LOGS_PER_REQUEST), LOG_REQUESTS_AT_A_TIME)) {
      const results = await Promise.allSettled(wave.map((batch) => this.#sendBatch(batch.map(({ entry }) => entry))));
      for (const [place, result] of results.entries()) {
        if (result.status === 'rejected') {
          const others = results.slice(place + 1).some(({ status }) => status === 'fulfilled');
          throw others && result.reason instanceof ExportFailure ? result.reason.ofRest() : result.reason;
        }
        for (const { contribution } of wave[place] ?? []) contribution.acknowledgedLogs += 1;
      }
    }
  }

  #sendBatch(entries: readonly LogEntry[]): Promise<void> {
    const { exporters, resource } = this.#options;
    return sendInParts(entries, (part) => exportOnce(exporters.logs, logRecords(resource, part), this.#limits));
  }

  get #limits() {
    return {
      timeoutMs: this.#options.exporters.timeoutMs,
      retryAfterMs: () => this.#retryAfter.remaining(),
    };
  }

  /** In nanoseconds since 1970. */
  #now(): bigint {
    return BigInt(this.#options.now().getTime()) * 1_000_000n;
  }
}

function deltas({ metrics }: Exporters): Record<Metric['kind'], boolean> {
  const isDelta = (type: InstrumentType): boolean =>
    metrics.selectAggregationTemporality(type) === AggregationTemporality.DELTA;
  const counter = isDelta(InstrumentType.COUNTER);
  return { gauge: false, counter, runningTotal: counter, histogram: isDelta(InstrumentType.HISTOGRAM) };
}
