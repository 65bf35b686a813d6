import { expect, test } from 'vitest';
import { latestStart } from './late-starts.ts';

test('the latest start counts from the first request of the first tick', () => {
  const calls = [
    [0, 1000, 2000],
    [700, 1030, 2400],
  ];
  expect(latestStart(calls, 1000, 2)).toEqual({ afterTimeMs: 400, firstMs: 0 });
});

test('ticks that drift are late', () => {
  expect(latestStart([[0, 1000, 2300, 3600]], 1000, 3)).toEqual({ afterTimeMs: 600, firstMs: 600 });
});

test('a source that misses a tick is no success', () => {
  expect(() =>
    latestStart(
      [
        [0, 1000, 2000],
        [0, 1000],
      ],
      1000,
      2,
    ),
  ).toThrow('1 sources were not called 3 times');
});
