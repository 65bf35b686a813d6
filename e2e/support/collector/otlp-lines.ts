import { open } from 'node:fs/promises';
import type { Collected, CollectedLog, CollectedPoint, CollectedSpan } from './collected.ts';
import { type Line, logOf, plainMap, pointsOf, scopeOf, spanOf } from './otlp-json.ts';

/** Reads the file of the collector, which holds an export request as a line of OTLP's JSON; each line only once. */
export class OtlpLines {
  readonly #file: string;
  readonly #points: CollectedPoint[] = [];
  readonly #logs: CollectedLog[] = [];
  readonly #spans: CollectedSpan[] = [];
  #offset = 0;
  #reading: Promise<void> | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  async read(): Promise<Collected> {
    await (this.#reading ??= this.#readNew().finally(() => (this.#reading = undefined)));
    return { points: this.#points, logs: this.#logs, spans: this.#spans };
  }

  async #readNew(): Promise<void> {
    const file = await open(this.#file).catch(() => undefined);
    if (file === undefined) return;
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(size - this.#offset);
      await file.read(bytes, 0, bytes.length, this.#offset);
      // The last line may be half written.
      const end = bytes.lastIndexOf('\n') + 1;
      this.#offset += end;
      for (const line of bytes.toString('utf8', 0, end).split('\n')) if (line !== '') this.#take(line);
    } finally {
      await file.close();
    }
  }

  #take(line: string): void {
    const { resourceMetrics = [], resourceLogs = [], resourceSpans = [] } = JSON.parse(line) as Line;
    for (const { resource, scopeMetrics = [] } of resourceMetrics) {
      const of = plainMap(resource?.attributes);
      for (const { scope, metrics = [] } of scopeMetrics) {
        for (const metric of metrics) this.#points.push(...pointsOf(metric, scopeOf(scope), of));
      }
    }
    for (const { resource, scopeLogs = [] } of resourceLogs) {
      const of = plainMap(resource?.attributes);
      for (const { scope, logRecords = [] } of scopeLogs) {
        for (const record of logRecords) this.#logs.push(logOf(record, scopeOf(scope), of));
      }
    }
    for (const { resource, scopeSpans = [] } of resourceSpans) {
      const of = plainMap(resource?.attributes);
      for (const { scope, spans = [] } of scopeSpans) {
        for (const span of spans) this.#spans.push(spanOf(span, scopeOf(scope), of));
      }
    }
  }
}
