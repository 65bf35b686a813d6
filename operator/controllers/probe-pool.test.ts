import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ProbePool, type Lane } from './probe-pool.ts';

let probePool: ProbePool;
let errors: unknown[];
let begun: string[];
let answers: Map<string, () => void>;

beforeEach(() => {
  errors = [];
  begun = [];
  answers = new Map();
  probePool = new ProbePool({ onError: (error) => errors.push(error), places: { prompt: 2, slow: 1 } });
});
afterEach(() => probePool.close());

/** Starts a probe that ends when its answer comes, or with the pool. */
function startProbe(id: string, lane: Lane = 'prompt'): void {
  probePool.start(id, lane, async (signal) => {
    begun.push(id);
    await new Promise<void>((resolve) => {
      answers.set(id, resolve);
      signal.addEventListener('abort', () => resolve());
    });
  });
}

it('runs so many at a time, in their order', async () => {
  for (const id of ['a', 'b', 'c', 'd']) startProbe(id);
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b']));
  answers.get('b')?.();
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b', 'c']));
});

it('T23: those who are slow wait only for each other', async () => {
  for (const id of ['slow-1', 'slow-2', 'slow-3']) startProbe(id, 'slow');
  for (const id of ['a', 'b']) startProbe(id);
  await vi.waitFor(() => expect(begun).toEqual(['slow-1', 'a', 'b']));
});

it('runs no id twice at a time, and again when that is over', async () => {
  startProbe('a');
  startProbe('a');
  await vi.waitFor(() => expect(begun).toEqual(['a']));
  answers.get('a')?.();
  await vi.waitFor(() => expect(probePool.size).toBe(0));
  startProbe('a');
  await vi.waitFor(() => expect(begun).toEqual(['a', 'a']));
});

it('reports a probe that failed, and goes on', async () => {
  for (const id of ['a', 'b', 'c']) probePool.start(id, 'slow', () => Promise.reject(new Error(id)));
  await vi.waitFor(() => expect(errors.map(String)).toEqual(['Error: a', 'Error: b', 'Error: c']));
});

it('ends with the operator: what is under way, and what waits', async () => {
  for (const id of ['a', 'b', 'c']) startProbe(id);
  const stopped = Promise.withResolvers<void>();
  probePool.start('e', 'slow', (signal) => {
    signal.addEventListener('abort', () => stopped.reject(signal.reason));
    return stopped.promise;
  });
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b']));
  await probePool.close();
  startProbe('d');
  expect(begun).toEqual(['a', 'b']);
  expect(probePool.size).toBe(0);
  expect(errors).toEqual([]);
});
