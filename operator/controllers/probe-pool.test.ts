import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Inquiries, type Lane } from './probe-pool.ts';

let inquiries: Inquiries;
let errors: unknown[];
let begun: string[];
let answers: Map<string, () => void>;

beforeEach(() => {
  errors = [];
  begun = [];
  answers = new Map();
  inquiries = new Inquiries({ onError: (error) => errors.push(error), places: { prompt: 2, slow: 1 } });
});
afterEach(() => inquiries.close());

/** Asks a question that ends when its answer comes, or with the inquiries. */
function ask(id: string, lane: Lane = 'prompt'): void {
  inquiries.ask(id, lane, async (signal) => {
    begun.push(id);
    await new Promise<void>((resolve) => {
      answers.set(id, resolve);
      signal.addEventListener('abort', () => resolve());
    });
  });
}

it('asks so many at a time, in their order', async () => {
  for (const id of ['a', 'b', 'c', 'd']) ask(id);
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b']));
  answers.get('b')?.();
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b', 'c']));
});

it('T23: those who are slow wait only for each other', async () => {
  for (const id of ['slow-1', 'slow-2', 'slow-3']) ask(id, 'slow');
  for (const id of ['a', 'b']) ask(id);
  await vi.waitFor(() => expect(begun).toEqual(['slow-1', 'a', 'b']));
});

it('asks nobody twice at a time, and again when that is over', async () => {
  ask('a');
  ask('a');
  await vi.waitFor(() => expect(begun).toEqual(['a']));
  answers.get('a')?.();
  await vi.waitFor(() => expect(inquiries.size).toBe(0));
  ask('a');
  await vi.waitFor(() => expect(begun).toEqual(['a', 'a']));
});

it('tells of a question that failed, and goes on', async () => {
  for (const id of ['a', 'b', 'c']) inquiries.ask(id, 'slow', () => Promise.reject(new Error(id)));
  await vi.waitFor(() => expect(errors.map(String)).toEqual(['Error: a', 'Error: b', 'Error: c']));
});

it('ends with the operator: what is under way, and what waits', async () => {
  for (const id of ['a', 'b', 'c']) ask(id);
  const stopped = Promise.withResolvers<void>();
  inquiries.ask('e', 'slow', (signal) => {
    signal.addEventListener('abort', () => stopped.reject(signal.reason));
    return stopped.promise;
  });
  await vi.waitFor(() => expect(begun).toEqual(['a', 'b']));
  await inquiries.close();
  ask('d');
  expect(begun).toEqual(['a', 'b']);
  expect(inquiries.size).toBe(0);
  expect(errors).toEqual([]);
});
