import { expect, test } from 'vitest';
import { isWorthIt } from './release-memory.ts';

const MIB = 1 << 20;

test.each([
  ['when it is quiet after a start', 100, 0, 20, true],
  ['in the middle of a start', 400, 0, 19, false],
  ['while it is busy', 400, 100, 0, false],
  ['between two bursts', 400, 100, 19, false],
  ['when a storm is over for a minute', 400, 100, 20, true],
  ['when little has come', 120, 100, 40, false],
  ['when more has come', 127, 100, 40, true],
])(
  'T17: memory is given back %s: %s MiB after %s, quiet for %s looks: %s',
  (_when, resident, settled, quiet, expected) => {
    expect(isWorthIt(resident * MIB, settled * MIB, quiet)).toBe(expected);
  },
);
