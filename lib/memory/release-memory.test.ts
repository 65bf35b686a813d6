import { expect, test } from 'vitest';
import { isWorthIt } from './release-memory.ts';

const MIB = 1 << 20;

test.each([
  ['at first', 100, undefined, 0.1, true],
  ['while it is busy', 400, 100, 0.6, false],
  ['before the first time while it is busy', 400, undefined, 0.6, false],
  ['when a storm is over', 400, 100, 0.1, true],
  ['when little has come', 120, 100, 0.1, false],
  ['when more has come', 127, 100, 0.1, true],
])('T17: memory is given back %s: %s MiB after %s with load %s: %s', (_when, resident, settled, load, expected) => {
  expect(isWorthIt(resident * MIB, settled === undefined ? undefined : settled * MIB, load)).toBe(expected);
});
