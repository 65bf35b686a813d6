import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CommitQueue } from './commit-queue.ts';
import type { Transactions } from './commit-queue.ts';
import { StoreUnavailable } from '../state-store.ts';

/** Transactions over an array: what was pushed since `begin` is undone by `abort`. */
class ArrayTransactions implements Transactions {
  committed: string[] = [];
  begins = 0;
  commits = 0;
  written: string[] = [];
  /** What the next `begin`s raise. */
  failures: Error[] = [];
  commitFailures: Error[] = [];

  begin(): void {
    this.begins += 1;
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    this.written = [...this.committed];
  }

  commit(): void {
    const failure = this.commitFailures.shift();
    if (failure !== undefined) throw failure;
    this.committed = this.written;
    this.commits += 1;
  }

  abort(error: unknown): 'busy' | 'unavailable' | 'own' {
    this.written = [];
    if (!(error instanceof Error)) return 'own';
    return error.message === 'busy' ? 'busy' : error.message === 'disk' ? 'unavailable' : 'own';
  }
}

const busy = (times: number): Error[] => Array.from({ length: times }, () => new Error('busy'));

describe('CommitQueue', () => {
  let transactions: ArrayTransactions;
  let queue: CommitQueue;
  const write = (text: string) => () => {
    transactions.written.push(text);
    return text;
  };

  beforeEach(() => {
    transactions = new ArrayTransactions();
    queue = new CommitQueue(transactions);
  });
  afterEach(() => {
    vi.useRealTimers();
    queue.close();
  });

  test('steps of one turn share one commit, in order, each with its own result', async () => {
    const results = await Promise.all(['a', 'b', 'c'].map((text) => queue.run(write(text))));
    expect(results).toEqual(['a', 'b', 'c']);
    expect(transactions.committed).toEqual(['a', 'b', 'c']);
    expect(transactions.commits).toBe(1);
  });

  test('a promise resolves only after its commit', async () => {
    let committedWhenResolved: string[] = [];
    await queue.run(write('a')).then(() => (committedWhenResolved = transactions.committed));
    expect(committedWhenResolved).toEqual(['a']);
  });

  test('a relaxed step shares the commit of the next urgent one', async () => {
    const relaxed = queue.runRelaxed(write('relaxed'));
    await queue.run(write('urgent'));
    await relaxed;
    expect(transactions.committed).toEqual(['relaxed', 'urgent']);
    expect(transactions.commits).toBe(1);
  });

  test('a relaxed step alone is committed too', async () => {
    await queue.runRelaxed(write('relaxed'));
    expect(transactions.committed).toEqual(['relaxed']);
  });

  test('a step that fails is undone alone', async () => {
    const steps = [
      queue.run(write('a')),
      queue.run(() => {
        transactions.written.push('half');
        throw new TypeError('own fault');
      }),
      queue.run(write('b')),
    ];
    const outcomes = await Promise.allSettled(steps);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(steps[1]).rejects.toThrow(TypeError);
    expect(transactions.committed).toEqual(['a', 'b']);
  });

  test('when the file fails all steps are unavailable, and the next ones are tried again', async () => {
    transactions.failures = [new Error('disk')];
    const outcomes = await Promise.allSettled([queue.run(write('a')), queue.run(write('b'))]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) as unknown });
    }
    await queue.run(write('c'));
    expect(transactions.committed).toEqual(['c']);
  });

  test('an own fault outside of a step does not make it turn for ever', async () => {
    transactions.commitFailures = [new Error('strange')];
    await expect(queue.run(write('a'))).rejects.toThrow(StoreUnavailable);
  });

  test('a busy file is tried again, with what has come in between', async () => {
    transactions.failures = busy(1);
    transactions.commitFailures = busy(1);
    const first = queue.run(write('a'));
    await new Promise((resolve) => setImmediate(resolve));
    const second = queue.run(write('b'));
    await new Promise((resolve) => setImmediate(resolve));
    // What comes in does not make it try sooner.
    expect(transactions.begins).toBe(1);
    expect(await first).toBe('a');
    expect(await second).toBe('b');
    expect(transactions.committed).toEqual(['a', 'b']);
    expect(transactions.commits).toBe(1);
  });

  test('a file that stays busy is unavailable after two seconds', async () => {
    vi.useFakeTimers();
    transactions.failures = busy(1_000);
    const outcome = expect(queue.run(write('a'))).rejects.toThrow(StoreUnavailable);
    await vi.advanceTimersByTimeAsync(1_900);
    transactions.failures = busy(1_000);
    const late = expect(queue.run(write('b'))).rejects.toThrow(StoreUnavailable);
    await vi.advanceTimersByTimeAsync(200);
    await outcome;
    await late;
  });

  test('closing runs what waits and refuses the rest', async () => {
    const waiting = queue.run(write('a'));
    const relaxed = queue.runRelaxed(write('b'));
    queue.close();
    expect(transactions.committed).toEqual(['a', 'b']);
    await waiting;
    await relaxed;
    await expect(queue.run(write('c'))).rejects.toThrow(StoreUnavailable);
  });

  test('closing does not wait for a busy file', async () => {
    transactions.failures = busy(9);
    const waiting = expect(queue.run(write('a'))).rejects.toThrow(StoreUnavailable);
    queue.close();
    await waiting;
  });
});
