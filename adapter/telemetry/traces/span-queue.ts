import { TraceFlags } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';

import { LONGEST_TIMER_MS } from '../../../lib/timer-ms.ts';

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
/**
 * The exporter gives up by itself, and says then what was wrong; but its time begins anew with each sign of life of a
 * collector.
 */
const MARGIN_MS = 1_000;

interface Batch {
  readonly spans: ReadableSpan[];
  readonly done: (result: ExportResult) => void;
}

/**
 * OpenTelemetry's batches, one after the other, with every span counted that does not get through: the processor itself drops
 * without a word, and a flush of it begins all exports at once, of which the exporter would refuse most.
 */
export class SpanQueue implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #exporter: SpanExporter;
  readonly #max: number;
  readonly #limitMs: number;
  readonly #onDropped: OnDropped;
  /** Batches that have left the processor and wait for the export before them. */
  readonly #waiting: Batch[] = [];
  #isExporting = false;
  #onIdle: (() => void) | undefined;
  #length = 0;
  #isClosed = false;

  constructor({ exporter, maxQueueSize, delayMs, exportTimeoutMs, onDropped }: SpanQueueOptions) {
    this.#exporter = exporter;
    this.#max = maxQueueSize;
    this.#limitMs = Math.min(exportTimeoutMs * 2 + MARGIN_MS, LONGEST_TIMER_MS);
    this.#onDropped = onDropped;
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => {
          this.#waiting.push({ spans, done });
          this.#exportNext();
        },
        shutdown: async () => {
          await this.#idle();
          await exporter.shutdown();
        },
      },
      maxQueueSize,
      maxExportBatchSize: Math.min(BATCH, maxQueueSize),
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: this.#limitMs,
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

  /** Resolves when all that has left the processor has been exported, or has failed. */
  #idle(): Promise<void> {
    if (!this.#isExporting && this.#waiting.length === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    return promise;
  }

  #exportNext(): void {
    if (this.#isExporting) return;
    const batch = this.#waiting.shift();
    if (batch === undefined) return this.#onIdle?.();
    const { spans, done } = batch;
    this.#isExporting = true;
    this.#length -= spans.length;
    let isOver = false;
    const onResult = (result: ExportResult): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#isExporting = false;
      if (result.code !== ExportResultCode.SUCCESS) this.#onDropped('export_failed', spans.length, result.error);
      done(result);
      this.#exportNext();
    };
    const onLate = (): void => {
      onResult({ code: ExportResultCode.FAILED, error: new Error(`no answer within ${this.#limitMs} ms`) });
    };
    const timer = setTimeout(onLate, this.#limitMs).unref();
    try {
      this.#exporter.export(spans, onResult);
    } catch (error) {
      onResult({ code: ExportResultCode.FAILED, error: error as Error });
    }
  }
}
