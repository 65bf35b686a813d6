import { getHeapStatistics } from 'node:v8';
import { expect, test, vi } from 'vitest';
import { memoryForAnswers, memoryForSeries, MemoryBudget, type MemoryShare, NoMemory } from './memory-budget.ts';

const never = new AbortController().signal;

/** Whether it has been granted, once everybody has had a turn. */
async function isGranted(taken: Promise<void>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return Promise.race([taken.then(() => true), late]);
}

function shares(total: number): [MemoryShare, MemoryShare, MemoryShare] {
  const budget = new MemoryBudget(total);
  return [budget.share(), budget.share(), budget.share()];
}

test('T17: windows that run at the same time share the memory: who finds none waits until some is given back', async () => {
  const [a, b, c] = shares(100);
  await a.take(60, never);
  const second = b.take(50, never);
  const third = c.take(20, never);
  expect(await isGranted(second)).toBe(false);
  // Who came later does not get past who waits.
  expect(await isGranted(third)).toBe(false);
  a[Symbol.dispose]();
  expect(await isGranted(second)).toBe(true);
  expect(await isGranted(third)).toBe(true);
  expect([a.held, b.held, c.held]).toEqual([0, 50, 20]);
});

test('H6 T17: who needs little waits for nobody, up to an eighth of all beside it', async () => {
  const [a, b, c] = shares(80 * 2 ** 20);
  await a.take(80 * 2 ** 20, never);
  const large = b.take(2 ** 21, never);
  expect(await isGranted(large)).toBe(false);
  expect(c.takeNow(2 ** 20)).toBe(true);
  expect(c.takeNow(1)).toBe(false);
  a[Symbol.dispose]();
  expect(await isGranted(large)).toBe(true);
});

test('T17: a window that alone needs more than there is fails at once', async () => {
  const [a] = shares(2 ** 20);
  await a.take(2 ** 20, never);
  await expect(a.take(1, never)).rejects.toThrow('more than the 1 MiB of memory');
});

test('T17: windows that all wait for each other: the last one gives up, and the others go on', async () => {
  const [a, b] = shares(100);
  await a.take(40, never);
  await b.take(40, never);
  const first = a.take(50, never);
  const second = b.take(50, never).catch((error: unknown) => error);
  expect(await second).toBeInstanceOf(NoMemory);
  expect(await isGranted(first)).toBe(false);
  b[Symbol.dispose]();
  expect(await isGranted(first)).toBe(true);
});

test('T17: who holds something already comes before who does not, and nobody gets past whose turn it is', async () => {
  const [a, b, c] = shares(100);
  await a.take(60, never);
  await c.take(30, never);
  const newcomer = b.take(13, never);
  const holder = a.take(25, never);
  c.keep(25);
  expect([await isGranted(holder), await isGranted(newcomer)]).toEqual([false, false]);
  c[Symbol.dispose]();
  expect([await isGranted(holder), await isGranted(newcomer)]).toEqual([true, true]);
});

test('T17: windows that only wait for each other once another has ended: the last one gives up', async () => {
  const [a, b, c] = shares(100);
  for (const [share, bytes] of [
    [a, 40],
    [b, 30],
    [c, 20],
  ] as const)
    await share.take(bytes, never);
  const first = a.take(50, never);
  const second = b.take(50, never).catch((error: unknown) => error);
  c[Symbol.dispose]();
  expect(await second).toBeInstanceOf(NoMemory);
  b[Symbol.dispose]();
  expect(await isGranted(first)).toBe(true);
});

test('T17: answers may take half of the heap, or of the container where that has less', () => {
  const limit = vi.spyOn(process, 'constrainedMemory').mockReturnValue(0);
  expect(memoryForAnswers()).toBe(Math.floor(getHeapStatistics().heap_size_limit / 2));
  limit.mockReturnValue(1000);
  expect([memoryForAnswers(), memoryForSeries()]).toEqual([500, 250]);
  limit.mockRestore();
});

test('what is kept of a page stays taken until the end; who is given up waits no longer', async () => {
  const [a, b] = shares(100);
  await a.take(80, never);
  a.keep(30);
  await a.take(60, never);
  a.keep(50);
  expect(a.held).toBe(50);
  const stop = new AbortController();
  const waiting = b.take(70, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await b.take(50, never);
});

test('H6 T17: what can be had again makes room for who would wait, oldest first, and only as much as is needed', async () => {
  const [a, b, c] = shares(100);
  const gone: string[] = [];
  const rest = (share: MemoryShare, name: string): void =>
    share.rest(() => {
      gone.push(name);
      share[Symbol.dispose]();
    });
  await a.take(40, never);
  rest(a, 'a');
  await b.take(40, never);
  rest(b, 'b');
  await c.take(50, never);
  expect(gone).toEqual(['a']);
  // What is worked on again stays.
  b.wake();
  const more = c.take(30, never);
  expect(await isGranted(more)).toBe(false);
  expect(gone).toEqual(['a']);
  // Who waits already has it at once.
  rest(b, 'b');
  expect(gone).toEqual(['a', 'b']);
  expect(await isGranted(more)).toBe(true);
});

test('H6 T17: what rests does not keep windows waiting that all wait for each other', async () => {
  const [a, b, resting] = shares(100);
  await resting.take(10, never);
  resting.rest(() => undefined);
  await a.take(40, never);
  await b.take(40, never);
  const first = a.take(40, never);
  await expect(b.take(40, never)).rejects.toBeInstanceOf(NoMemory);
  b[Symbol.dispose]();
  expect(await isGranted(first)).toBe(true);
});
