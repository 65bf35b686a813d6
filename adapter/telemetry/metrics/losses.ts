import type { Aggregation } from './aggregation.ts';
import type { Logger } from '../logs/logger.ts';
import { ADAPTER_METRICS } from './metric-catalog.ts';
import type { Counter } from './series.ts';

export type Signal = 'events' | 'metrics' | 'logs' | 'traces' | 'audit';

const SILENCE_MS = 60_000;

/**
 * What is said of telemetry that does not get through: everything is counted, and of each kind one line a minute is logged.
 *
 * @param local a logger whose lines are not exported: they would become what they tell of
 */
export class Losses {
  readonly #local: Pick<Logger, 'warn'>;
  readonly #dropped: Counter<'signal' | 'reason'>;
  readonly #failures: Counter<'signal'>;
  readonly #now: () => number;
  readonly #last = new Map<string, number>();

  constructor(aggregation: Aggregation, local: Pick<Logger, 'warn'>, now = (): number => performance.now()) {
    this.#dropped = aggregation.counter(ADAPTER_METRICS.dropped);
    this.#failures = aggregation.counter(ADAPTER_METRICS.exportFailures);
    this.#local = local;
    this.#now = now;
    // They begin with nothing lost: an increase is seen only of a series that was there before.
    for (const signal of ['metrics', 'logs', 'traces']) this.#failures.add(0, { signal });
  }

  /** For those who drop things of one kind. */
  readonly of = (signal: Signal): ((reason: string, count: number, error?: Error) => void) => {
    this.#dropped.add(0, { signal, reason: signal === 'audit' ? 'write_failed' : 'queue_full' });
    return (reason, count, error) => {
      this.#dropped.add(count, { signal, reason });
      if (reason === 'export_failed') this.failed(signal, error);
      else this.#log(`${signal} ${reason}`, { signal, reason, error: error?.message }, 'telemetry was dropped');
    };
  };

  /** An export that the collector has not accepted. */
  failed(signal: Signal, error: unknown): void {
    this.#failures.add(1, { signal });
    const text = error instanceof Error ? error.message : String(error);
    this.#log(signal, { signal, error: text }, 'the collector has not accepted an export');
  }

  /** What OpenTelemetry's libraries say themselves, such as that the collector has refused a part. */
  said(message: string): void {
    this.#log('', { message }, 'from the exporters');
  }

  #log(kind: string, fields: object, message: string): void {
    const now = this.#now();
    if (now - (this.#last.get(kind) ?? -Infinity) < SILENCE_MS) return;
    this.#last.set(kind, now);
    this.#local.warn(fields, message);
  }
}
