import { expect, test } from 'vitest';

import { sideBySide } from './side-by-side.ts';

test('so many run at a time, each once, and the results stand in order', async () => {
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const started: number[] = [];
  const done = sideBySide(gates, 2, async ({ promise }, index) => {
    started.push(index);
    await promise;
    return `result ${index}`;
  });
  expect(started).toEqual([0, 1]);
  gates[1]?.resolve();
  await expect.poll(() => started).toEqual([0, 1, 2]);
  for (const { resolve } of gates) resolve();
  expect(await done).toEqual([0, 1, 2, 3, 4].map((index) => `result ${index}`));
  expect(started).toEqual([0, 1, 2, 3, 4]);
});

test('of none there is nothing, and a failure is told', async () => {
  expect(await sideBySide([], 2, () => Promise.resolve(1))).toEqual([]);
  await expect(sideBySide([1], 2, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
});
