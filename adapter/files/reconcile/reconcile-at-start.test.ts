import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { ReconciliationAtStart } from './reconcile-at-start.ts';
import type { ReconcileResult } from './reconcile-storage.ts';

const DONE: ReconcileResult = { status: 'skipped', mode: 'always', reason: 'no_files_found' };

describe('the reconciliation at the start', () => {
  beforeEach(() => vi.useFakeTimers({ fakeNodeBuiltins: true }));
  afterEach(() => vi.useRealTimers());

  const failures: unknown[] = [];
  const start = (
    reconcile: (signal: AbortSignal, onDecided: () => void) => Promise<ReconcileResult>,
    mustDecide = false,
  ): ReconciliationAtStart =>
    new ReconciliationAtStart(reconcile, {
      mode: 'always',
      mustDecide,
      patienceMs: 120_000,
      onError: (error) => failures.push(error),
      onResult: () => undefined,
    });

  test('holds the replica back until it is done', async () => {
    const { promise, resolve } = Promise.withResolvers<ReconcileResult>();
    const started = start(() => promise);
    expect(started).toMatchObject({ pending: true, settled: false, result: undefined });
    resolve(DONE);
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toMatchObject({ pending: false, settled: true, result: DONE });
    expect(vi.getTimerCount()).toBe(0);
    await started.stop();
  });

  test('holds it back for two minutes at most, and goes on after that', async () => {
    const { promise, resolve } = Promise.withResolvers<ReconcileResult>();
    const started = start(() => promise);
    await vi.advanceTimersByTimeAsync(119_999);
    expect(started.pending).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(started).toMatchObject({ pending: false, settled: false });
    resolve(DONE);
    await vi.advanceTimersByTimeAsync(0);
    expect(started.settled).toBe(true);
    await started.stop();
  });

  test('is tried again after a failure, which stops no start', async () => {
    const started_ = Date.now();
    const at: number[] = [];
    const started = start(async () => {
      at.push((Date.now() - started_) / 1000);
      if (at.length < 8) throw new Error('no disk');
      return DONE;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toMatchObject({
      pending: false,
      settled: false,
      result: { status: 'error', mode: 'always', reason: 'startup_reconciliation_failed', detail: 'no disk' },
    });
    await vi.advanceTimersByTimeAsync(200_000);
    expect(at).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    expect(failures).toHaveLength(7);
    expect(started).toMatchObject({ settled: true, result: DONE });
    await started.stop();
  });

  test('holds the replica back after a failure where sessions of clients could hide what was lost', async () => {
    let attempts = 0;
    const { promise, resolve } = Promise.withResolvers<ReconcileResult>();
    const started = start(async (_signal, onDecided) => {
      attempts += 1;
      if (attempts < 3) throw new Error('no store');
      onDecided();
      return promise;
    }, true);
    expect(started).toMatchObject({ pending: true, decided: false });
    await started.attempted;
    expect(started).toMatchObject({ pending: true, decided: false });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(started).toMatchObject({ pending: true, decided: true, settled: false });
    resolve(DONE);
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toMatchObject({ pending: false, decided: true, settled: true });
    await started.stop();
  });

  test('ends with the adapter, also between two attempts', async () => {
    const hanging = start(
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    );
    await hanging.stop();
    expect(hanging).toMatchObject({ pending: false, settled: false, result: undefined });
    const failing = start(async () => {
      throw new Error('x');
    });
    await vi.advanceTimersByTimeAsync(10);
    await failing.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
