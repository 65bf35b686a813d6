import { expect, test } from 'vitest';
import { profileTable } from './profile-table.ts';

test('the files that took longest come first, with what they took of a processor, and each suite has its sum', () => {
  const file = (name: string, seconds: number, cpuSeconds?: number) => ({
    suite: name.startsWith('e2e') ? 'e2e' : 'unit',
    file: name,
    results: [],
    seconds,
    cpuSeconds,
  });
  const table = profileTable([
    file('lib/a.test.ts', 1, 0.5),
    file('e2e/b.e2e.ts', 30, 12.34),
    file('lib/broken.test.ts', 2),
  ]);
  expect(table.split('\n')).toEqual([
    ' SECONDS      CPU  FILE',
    '    30.0     12.3  e2e/b.e2e.ts',
    '     2.0        -  lib/broken.test.ts',
    '     1.0      0.5  lib/a.test.ts',
    '',
    '     3.0      0.5  unit: 2 files',
    '    30.0     12.3  e2e: 1 files',
  ]);
});

test('it has no more than 30 files', () => {
  const files = Array.from({ length: 40 }, (_, index) => ({
    suite: 'unit',
    file: `f${index}`,
    results: [],
    seconds: 1,
  }));
  expect(profileTable(files).split('\n')).toHaveLength(1 + 30 + 1 + 1);
});
