import { expect, test } from 'vitest';
import { InFlightSet } from './in-flight-set.ts';
import { RecordBudget } from './record-budget.ts';
import { RetryBuffer } from './retry-buffer.ts';
import { WindowResult } from './window-result.ts';
import { MemoryBudget } from '../limits/memory-budget.ts';

const never = new AbortController().signal;

const resultOf = (logBytes: number): WindowResult => Object.assign(new WindowResult(new Date()), { logBytes });

test('a record is one window’s until that lets it go', () => {
  const claims = new InFlightSet();
  expect([claims.claim('a'), claims.claim('a'), claims.claim('b')]).toEqual([true, false, true]);
  claims.release(['a']);
  expect([claims.claim('a'), claims.claim('b')]).toEqual([true, false]);
});

test('a budget gives what is left of it', () => {
  const budget = new RecordBudget(5);
  expect([budget.take(3), budget.take(3), budget.take(1)]).toEqual([3, 2, 0]);
  budget.giveBack(2);
  expect(budget.take(3)).toBe(2);
  expect(new RecordBudget(null).take(1e9)).toBe(1e9);
});

test('kept windows are taken once', () => {
  const kept = new RetryBuffer();
  const released: string[] = [];
  const one = resultOf(1);
  kept.keep('a', '1', one, () => released.push('a1'));
  expect([kept.has('a', '1'), kept.has('b', '1')]).toEqual([true, false]);
  expect([kept.take('a', '1'), kept.take('a', '1')]).toEqual([one, undefined]);
  expect(released).toEqual([]);
});

test('the oldest go when there are too many, or too large ones', () => {
  const kept = new RetryBuffer();
  const released: string[] = [];
  for (let id = 0; id < 201; id += 1) kept.keep('a', `${id}`, resultOf(1), () => released.push(`${id}`));
  expect(released).toEqual(['0']);
  kept.keep('b', 'large', resultOf(32 * 1024 * 1024 - 100), () => released.push('large'));
  expect(kept.has('b', 'large')).toBe(true);
  expect(released).toHaveLength(101);
  kept.keep('b', 'too large', resultOf(33 * 1024 * 1024), () => released.push('too large'));
  expect(released.at(-1)).toBe('too large');
  kept.keep('b', 'small', resultOf(1), () => undefined);
  expect(kept.has('b', 'small')).toBe(true);
});

test('what is counted stays known when the window is let go, until it is committed or the sums begin anew', () => {
  const kept = new RetryBuffer();
  for (const id of ['1', '2']) {
    kept.keep('a', id, resultOf(1), () => undefined);
    kept.noteCounted('a', id);
  }
  kept.noteCounted('b', '1');
  kept.forget('a');
  kept.committed('a', '1');
  expect([kept.isCounted('a', '1'), kept.isCounted('a', '2'), kept.isCounted('b', '1')]).toEqual([false, true, true]);
  kept.forgetSums('a');
  expect([kept.isCounted('a', '2'), kept.isCounted('b', '1')]).toEqual([false, true]);
  for (let id = 0; id < 10_000; id += 1) kept.noteCounted('c', `${id}`);
  expect([kept.isCounted('b', '1'), kept.isCounted('c', '0')]).toEqual([false, true]);
});

test('all of a source are let go', () => {
  const kept = new RetryBuffer();
  const released: string[] = [];
  for (const source of ['a', 'b'])
    for (const id of ['1', '2']) kept.keep(source, id, resultOf(1), () => released.push(source + id));
  kept.drop('b', '1');
  kept.forget('a');
  expect(released).toEqual(['b1', 'a1', 'a2']);
  expect(kept.has('b', '2')).toBe(true);
});

test('H6 T17: what is kept goes when others need its memory', async () => {
  const memory = new MemoryBudget(100);
  const kept = new RetryBuffer();
  const released: string[] = [];
  for (const id of ['1', '2']) {
    const share = memory.share();
    await share.take(40, never);
    kept.keep('a', id, new WindowResult(new Date(), { memory: share }), () => {
      released.push(id);
      share[Symbol.dispose]();
    });
  }
  const other = memory.share();
  await other.take(60, never);
  expect(released).toEqual(['1']);
  // What is being sent again does not go.
  expect(kept.take('a', '2')).toBeDefined();
  const more = other.take(40, AbortSignal.abort(new Error('waits')));
  await expect(more).rejects.toThrow('waits');
  expect(released).toEqual(['1']);
});
