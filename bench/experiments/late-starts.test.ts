import { expect, test } from 'vitest';
import { latestStart } from './late-starts.ts';

/** Called at the start and then at its ticks, so much too late. */
const source = (phaseMs: number, ...late: number[]) => ({
  phaseMs,
  times: [7777, ...late.map((by, tick) => 8000 + phaseMs + (tick + 1) * 1000 + by)],
});

test('sources that come at their times are not late, whatever these are', () => {
  expect(latestStart([source(0, 0, 0), source(990, 0, 0), source(500, 0, 0)], 1000, 2)).toBe(0);
});

test('the latest counts, against the earliest', () => {
  expect(latestStart([source(0, 5, 5), source(700, 5, 405)], 1000, 2)).toBe(400);
});

test('ticks that drift are late', () => {
  expect(latestStart([source(0, 0, 100, 200)], 1000, 3)).toBe(200);
});

test('a source that misses a tick is no success', () => {
  expect(() => latestStart([source(0, 0, 0), source(0, 0)], 1000, 2)).toThrow('1 sources were not called 2 times');
});
