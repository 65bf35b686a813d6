import { expect, test } from 'vitest';

import { BucketNames } from './bucket-names.ts';

const HOUR = 3_600_000;

test('a tool has a name of its own before its server has listed it, and after', () => {
  const names = new BucketNames();
  expect([names.of('find'), names.of('find')]).toEqual(['find', 'find']);
  names.listed(['find', 'get']);
  expect([names.of('find'), names.of('get'), names.of('')]).toEqual(['find', 'get', '']);
});

test('a long name is as good as a short one, and takes no more room', () => {
  const names = new BucketNames();
  const [one, other] = [names.of('x'.repeat(100_000)), names.of(`${'x'.repeat(99_999)}y`)];
  expect(one).not.toBe(other);
  expect([one.length, other.length]).toEqual([65, 65]);
  expect(names.of('x'.repeat(64))).toBe('x'.repeat(64));
});

test('T26: of tools that no list has only a thousand have names of their own in an hour', () => {
  let now = 0;
  const names = new BucketNames(() => now);
  names.listed(['known']);
  const made = new Set(Array.from({ length: 5_000 }, (_, n) => names.of(`made up ${n}`)));
  expect(made.size).toBe(1_001);
  // Whatever was called, tools that there are have theirs.
  const long = 'x'.repeat(200);
  names.listed(['late', long]);
  expect([names.of('known'), names.of('late'), names.of('made up 1')]).toEqual(['known', 'late', 'made up 1']);
  expect(names.of(long)).not.toBe('');
  expect(names.of('made up 4999')).toBe('');
  now = HOUR;
  expect(names.of('made up 4999')).toBe('made up 4999');
});
