import { expect, test, vi } from 'vitest';
import { JsonTally } from '../../lib/json/json-tally.ts';
import { MemoryBudget } from '../limits/memory-budget.ts';
import { takeForValues } from './memory-of-values.ts';

const MIB = 2 ** 20;
const never = new AbortController().signal;
const take = (text: string, total: number, held = 0) => {
  const share = new MemoryBudget(total).share();
  share.takeNow(held);
  return takeForValues(text, share, false, 'GET http://api/', never).then(() => share.held);
};

test.each([
  ['lists', `[${'[],'.repeat(999_999)}[]]`],
  ['objects', `[${'{},'.repeat(999_999)}{}]`],
  ['levels', '['.repeat(1_500_000)],
])('T17: a million %s are refused where there is no memory for them, before any of them is made', async (_, text) => {
  await expect(take(text, 64 * MIB)).rejects.toMatchObject({
    kind: 'too_large',
    message: expect.stringMatching(/^GET http:..api.: .*more than the 64 MiB of memory.*; ask for smaller pages/),
  });
});

test('T17: what is held of the window already counts, too', async () => {
  const text = `[${'{},'.repeat(9_999)}{}]`;
  expect(await take(text, 2 * MIB)).toBeLessThan(2 * MIB);
  await expect(take(text, 2 * MIB, 1.5 * MIB)).rejects.toMatchObject({ kind: 'too_large' });
});

test('a page of 100,000 records fits into a container of 512 MiB', async () => {
  const records = Array.from({ length: 100_000 }, (_, id) => ({
    id: `ev-${id}`,
    type: 'order',
    at: '2026-01-01T00:00:00Z',
    customer: { id, tier: 'gold', name: `Name ${id}` },
    metrics: { load: id / 7, durationMs: id, items: [1, 2, 3] },
  }));
  const text = JSON.stringify(records);
  expect(await take(text, 128 * MIB, text.length * 2)).toBeLessThan(128 * MIB);
});

test('an answer that fits in at its worst is not counted', async () => {
  expect(await take('[1,2]', MIB)).toBe(5 * 72);
});

test('H6 T17: of values that are kept, as log records are, it is known what they hold', async () => {
  const share = new MemoryBudget(MIB).share();
  expect(await takeForValues('[[],[],"ab"]', share, true, '', never)).toBe(3 * 72 + 2 * 32 + 12);
  expect(await takeForValues('[[],[],"ab"]', share, false, '', never)).toBe(0);
});

test('T17: values are counted no further than there is memory for them', async () => {
  using read = vi.spyOn(JsonTally.prototype, 'read');
  await expect(take('{},'.repeat(1_000_000), MIB)).rejects.toMatchObject({ kind: 'too_large' });
  expect(read).toHaveBeenCalledTimes(2);
});
