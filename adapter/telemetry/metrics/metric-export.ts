import type { PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { inParts } from './metric-parts.ts';

/** About 1 MiB of histograms; gRPC servers take 4 MiB unless they are told otherwise. */
const POINTS_PER_REQUEST = 5_000;

interface ExportResult {
  /** 0 when the collector has accepted it. */
  readonly code: number;
  readonly error?: Error;
}

export interface MetricExportOptions {
  readonly exporter: Pick<PushMetricExporter, 'export' | 'shutdown'>;
  readonly collect: () => ResourceMetrics;
  readonly intervalMs: number;
  /** Time limit of one request in all: that of the exporter counts from one sign of life to the next. */
  readonly timeoutMs: number;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Exports metrics every so often, one export at a time. They are sums since the start, so one that fails loses nothing
 * that the next would not bring.
 */
export class MetricExport {
  readonly #options: MetricExportOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(options: MetricExportOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.export(), this.#options.intervalMs);
    this.#timer.unref();
  }

  /** Exports now, or waits for the export that is under way. Never rejects. */
  export(): Promise<void> {
    this.#running ??= this.#exportAll()
      .catch(this.#options.onFailure)
      .finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Stops, after the numbers as they are now have been exported if that is wanted. */
  async stop(isLastWanted: boolean): Promise<void> {
    clearInterval(this.#timer);
    // What runs has begun before the last events.
    await this.#running;
    if (isLastWanted) await this.export();
    await this.#options.exporter.shutdown();
  }

  async #exportAll(): Promise<void> {
    for (const part of inParts(this.#options.collect(), POINTS_PER_REQUEST)) await this.#exportOnce(part);
  }

  async #exportOnce(metrics: ResourceMetrics): Promise<void> {
    const { exporter, timeoutMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    try {
      exporter.export(metrics, ({ code, error }: ExportResult) => {
        if (code === 0) resolve();
        else reject(error ?? new Error('the export failed'));
      });
      await promise;
    } finally {
      clearTimeout(timer);
    }
  }
}
