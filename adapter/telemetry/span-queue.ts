import { TraceFlags } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';

export interface SpanQueueOptions {
  readonly exporter: SpanExporter;
  /** Spans that wait at most. */
  readonly maxQueueSize: number;
  /** Milliseconds that a span waits for others at most. */
  readonly delayMs: number;
  /** Time limit of one export, in milliseconds. */
  readonly exportTimeoutMs: number;
  readonly onDropped: OnDropped;
}

export type OnDropped = (reason: 'queue_full' | 'export_failed' | 'shutdown', spans: number, error?: Error) => void;

const BATCH = 512;
/** The exporter gives up by itself; what it says then is better than that nothing came. */
const MARGIN_MS = 1_000;

/**
 * OpenTelemetry's batches, with every span counted that does not get through: the processor itself drops without a word. It
 * takes a batch out of its queue just when it exports it, so the length of the queue is known here.
 */
export class SpanQueue implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #max: number;
  readonly #onDropped: OnDropped;
  #length = 0;
  #isClosed = false;

  constructor({ exporter, maxQueueSize, delayMs, exportTimeoutMs, onDropped }: SpanQueueOptions) {
    this.#max = maxQueueSize;
    this.#onDropped = onDropped;
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => {
          this.#length -= spans.length;
          const onResult = (result: ExportResult): void => {
            if (result.code !== ExportResultCode.SUCCESS) onDropped('export_failed', spans.length, result.error);
            done(result);
          };
          try {
            exporter.export(spans, onResult);
          } catch (error) {
            onResult({ code: ExportResultCode.FAILED, error: error as Error });
          }
        },
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize,
      maxExportBatchSize: Math.min(BATCH, maxQueueSize),
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: exportTimeoutMs + MARGIN_MS,
    });
  }

  /** Spans that wait. */
  get length(): number {
    return this.#length;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (this.#isClosed) return this.#onDropped('shutdown', 1);
    if (this.#length >= this.#max) return this.#onDropped('queue_full', 1);
    this.#length++;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    this.#isClosed = true;
    return this.#batches.shutdown();
  }
}
