import { setImmediate as nextTurn } from 'node:timers/promises';

import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
import { describe, expect, test, vi } from 'vitest';

import { SpanQueue } from './span-queue.ts';

interface Scene {
  readonly queue: SpanQueue;
  /** Ends so many spans. */
  readonly end: (spans: number) => void;
  /** Exports that have begun, and how they are answered. */
  readonly exports: { readonly spans: readonly ReadableSpan[]; readonly done: (result: ExportResult) => void }[];
  readonly dropped: string[];
  readonly isShutDown: () => boolean;
}

const OK: ExportResult = { code: ExportResultCode.SUCCESS };

function scene(maxQueueSize: number, onExport: () => void = () => {}): Scene {
  const exports: Scene['exports'] = [];
  const dropped: string[] = [];
  let isShutDown = false;
  const queue = new SpanQueue({
    exporter: {
      export: (spans, done) => {
        exports.push({ spans, done });
        onExport();
      },
      shutdown: async () => void (isShutDown = true),
    },
    maxQueueSize,
    delayMs: 60_000,
    exportTimeoutMs: 60_000,
    onDropped: (reason, spans, error) => dropped.push(`${reason} ${spans}${error ? ` ${error.message}` : ''}`),
  });
  const tracer = new TracerProvider({ spanProcessors: [queue] }).getTracer('test');
  const end = (spans: number): void => {
    for (let i = 0; i < spans; i++) tracer.startSpan(`span ${i}`).end();
  };
  return { queue, end, exports, dropped, isShutDown: () => isShutDown };
}

describe('spans on their way to the collector', () => {
  test('leave together, and the queue is empty then', async () => {
    const { queue, end, exports, dropped } = scene(10);
    end(3);
    expect(queue.length).toBe(3);
    const flushed = queue.forceFlush();
    expect(exports.map(({ spans }) => spans.map(({ name }) => name))).toEqual([['span 0', 'span 1', 'span 2']]);
    expect(queue.length).toBe(0);
    exports[0]?.done(OK);
    await flushed;
    expect(dropped).toEqual([]);
  });

  test('are dropped and counted when the queue is full, also while a batch is out', () => {
    const { queue, end, exports, dropped } = scene(4);
    // The fourth fills a batch, which is exported at once and not answered.
    end(4);
    expect(exports).toHaveLength(1);
    end(4);
    expect(dropped).toEqual([]);
    end(3);
    expect(queue.length).toBe(4);
    expect(dropped).toEqual(['queue_full 1', 'queue_full 1', 'queue_full 1']);
  });

  test('wait for the export before theirs, and count as waiting until then', async () => {
    const { queue, end, exports, dropped } = scene(1_000);
    end(1_000);
    const flushed = queue.forceFlush();
    expect(exports).toHaveLength(1);
    expect(queue.length).toBe(488);
    exports[0]?.done(OK);
    expect(exports).toHaveLength(2);
    expect(queue.length).toBe(0);
    exports[1]?.done(OK);
    await flushed;
    expect(dropped).toEqual([]);
  });

  test('are counted when their export fails', async () => {
    const { queue, end, exports, dropped } = scene(10);
    end(2);
    const flushed = queue.forceFlush();
    exports[0]?.done({ code: ExportResultCode.FAILED, error: new Error('refused') });
    await expect(flushed).rejects.toThrow('refused');
    expect(dropped).toEqual(['export_failed 2 refused']);
  });

  test('are counted when the exporter throws', async () => {
    const { queue, end, dropped } = scene(10, () => {
      throw new Error('broken');
    });
    end(2);
    await expect(queue.forceFlush()).rejects.toThrow('broken');
    expect(dropped).toEqual(['export_failed 2 broken']);
  });

  test('are all awaited at the end, also those of an earlier flush', async () => {
    const { queue, end, exports, isShutDown } = scene(2_000);
    end(1_500);
    const flushed = queue.forceFlush();
    const closed = queue.shutdown();
    for (let i = 0; i < 3; i++) {
      await nextTurn();
      expect(isShutDown()).toBe(false);
      exports[i]?.done(OK);
    }
    await Promise.all([flushed, closed]);
    expect(exports.reduce((sum, { spans }) => sum + spans.length, 0)).toBe(1_500);
    expect(isShutDown()).toBe(true);
  });

  test('do not wait for an exporter that says nothing', async () => {
    vi.useFakeTimers();
    try {
      const { queue, end, exports, dropped } = scene(1_000);
      end(1_000);
      const flushed = expect(queue.forceFlush()).rejects.toThrow('Timeout');
      await vi.advanceTimersByTimeAsync(121_000);
      expect(dropped).toEqual(['export_failed 512 no answer within 121000 ms']);
      expect(exports).toHaveLength(2);
      exports[0]?.done(OK);
      expect(dropped).toHaveLength(1);
      exports[1]?.done(OK);
      await flushed;
    } finally {
      vi.useRealTimers();
    }
  });

  test('are counted when they come after the end', async () => {
    const { queue, end, exports, dropped } = scene(10);
    end(1);
    const closed = queue.shutdown();
    await Promise.resolve();
    end(1);
    await expect.poll(() => exports.length).toBe(1);
    exports[0]?.done(OK);
    await closed;
    expect(dropped).toEqual(['shutdown 1']);
  });
});
