import { expect, test } from 'vitest';

import { runsOfMachine } from './runs-of-machine.ts';

const MIB = 1_048_576;

test.each([
  [1, 0, 2],
  [2, 0, 4],
  [4, 0, 8],
  [64, 0, 8],
  // What the system answers where there is no limit.
  [64, 2 ** 64, 8],
  [8, 1_024 * MIB, 8],
  [8, 1_023 * MIB, 7],
  [8, 512 * MIB, 4],
  [8, 64 * MIB, 1],
  [8, 1, 1],
])('%d cores and %d bytes have room for %d runs of 64 MiB', (cores, memoryBytes, runs) => {
  expect(runsOfMachine({ cores, memoryBytes }, { memoryBytes: 64 * MIB })).toBe(runs);
});
