import { type HrTime, SeverityNumber, type SpanContext, TraceFlags } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import {
  BatchLogRecordProcessor,
  type LogRecordExporter,
  type ReadableLogRecord,
  type ReadWriteLogRecord,
} from '@opentelemetry/sdk-logs';
import type { Telemetry as TelemetrySettings } from '../../../crds/config/adapter-file/telemetry.ts';
import type { LineFields, LineSink } from './log-output.ts';

export interface OtelLogsOptions {
  readonly exporter: LogRecordExporter;
  readonly resource: Resource;
  /** Who writes: name and version of the instrumentation scope. */
  readonly scope: { readonly name: string; readonly version: string };
  readonly settings: Pick<
    TelemetrySettings,
    | 'log_batch_max_queue_size'
    | 'log_batch_max_export_batch_size'
    | 'log_batch_schedule_delay_millis'
    | 'log_batch_export_timeout_millis'
  >;
  readonly onDropped: (reason: 'queue_full' | 'export_failed' | 'shutdown', records: number, error?: Error) => void;
}

/** Where nothing is configured: OpenTelemetry's default. */
const MAX_QUEUE_SIZE = 2048;

/** pino's levels, as OpenTelemetry counts them (Logs Data Model, severity fields) and by the words of the log. */
const SEVERITIES: ReadonlyMap<number, { readonly number: SeverityNumber; readonly text: string }> = new Map([
  [20, { number: SeverityNumber.DEBUG, text: 'debug' }],
  [30, { number: SeverityNumber.INFO, text: 'info' }],
  [40, { number: SeverityNumber.WARN, text: 'warning' }],
  [50, { number: SeverityNumber.ERROR, text: 'error' }],
  [60, { number: SeverityNumber.FATAL, text: 'critical' }],
]);

/**
 * Lines of the log as OpenTelemetry's log records, in its batches. The values are those of the line, so nothing gets past
 * redaction. Every record that does not get through is counted: the processor drops without a word, but takes a batch out
 * of its queue just when it exports it, so the length of the queue is known here.
 */
export class OtelLogs implements LineSink {
  readonly #options: OtelLogsOptions;
  readonly #processor: BatchLogRecordProcessor;
  readonly #max: number;
  #length = 0;
  #isClosed = false;
  #flushing: Promise<void> | undefined;

  constructor(options: OtelLogsOptions) {
    this.#options = options;
    const { settings } = options;
    this.#max = settings.log_batch_max_queue_size ?? MAX_QUEUE_SIZE;
    const batch = settings.log_batch_max_export_batch_size ?? undefined;
    this.#processor = new BatchLogRecordProcessor({
      exporter: this.#counting(options.exporter),
      maxQueueSize: this.#max,
      maxExportBatchSize: batch === undefined ? undefined : Math.min(batch, this.#max),
      scheduledDelayMillis: settings.log_batch_schedule_delay_millis ?? undefined,
      exportTimeoutMillis: settings.log_batch_export_timeout_millis ?? undefined,
    });
  }

  /** Records that wait. */
  get length(): number {
    return this.#length;
  }

  take(level: number, fields: LineFields, message: string | undefined): void {
    if (this.#isClosed) return this.#options.onDropped('shutdown', 1);
    if (this.#length >= this.#max) return this.#options.onDropped('queue_full', 1);
    this.#length++;
    const { resource, scope } = this.#options;
    const time = timeOf(Date.now());
    const severity = SEVERITIES.get(level);
    const spanContext = contextIn(fields);
    const record: ReadableLogRecord = {
      hrTime: time,
      hrTimeObserved: time,
      severityNumber: severity?.number,
      severityText: severity?.text,
      body: message,
      attributes: spanContext === undefined ? fields : withoutContext(fields),
      spanContext,
      resource,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
    };
    // What the processor is given by the SDK can be changed; it only keeps it.
    this.#processor.onEmit(record as ReadWriteLogRecord);
  }

  /** Waits for the exporter, which has time limits of its own. */
  forceFlush(): Promise<void> {
    return (this.#flushing ??= this.#processor.forceFlush().finally(() => (this.#flushing = undefined)));
  }

  async shutdown(): Promise<void> {
    this.#isClosed = true;
    // Otherwise the processor would leave what a flush still has to send.
    await this.#flushing;
    await this.#processor.shutdown();
  }

  #counting(exporter: LogRecordExporter): LogRecordExporter {
    const { onDropped } = this.#options;
    return {
      export: (records, done) => {
        this.#length -= records.length;
        const onResult = (result: ExportResult): void => {
          if (result.code !== ExportResultCode.SUCCESS) onDropped('export_failed', records.length, result.error);
          done(result);
        };
        try {
          exporter.export(records, onResult);
        } catch (error) {
          onResult({ code: ExportResultCode.FAILED, error: error as Error });
        }
      },
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    };
  }
}

/** Whether the trace is sampled is no matter of the line: where it is not, nobody has its spans. */
function contextIn({ trace_id: traceId, span_id: spanId }: LineFields): SpanContext | undefined {
  if (typeof traceId !== 'string' || typeof spanId !== 'string') return undefined;
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

function withoutContext(fields: LineFields): LineFields {
  const { trace_id: _traceId, span_id: _spanId, ...others } = fields;
  return others;
}

const timeOf = (ms: number): HrTime => [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
