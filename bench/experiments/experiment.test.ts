import { describe, expect, test } from 'vitest';
import { Recorder, inTurn } from './experiment.ts';
import { foreignCores } from './load.ts';

describe('the order of targets', () => {
  test('is turned round every other round, and the list stays as it was', () => {
    const targets = ['a', 'b', 'c'];
    expect([0, 1, 2].map((round) => inTurn(targets, round).join(''))).toEqual(['abc', 'cba', 'abc']);
    expect(targets).toEqual(['a', 'b', 'c']);
  });
});

describe('work of others', () => {
  const result = {
    seconds: 2,
    cpu: { 10: 1, 11: 0.5 },
    ownCpu: 0.3,
    machine: { busy: 2.2, niced: 5, steal: 0.2 },
  };

  test('is what is busy or stolen and not ours; niced work gives way', () => {
    expect(foreignCores(result)).toBeCloseTo(0.3);
  });

  test('is never less than nothing, though clocks tick coarsely', () => {
    expect(foreignCores({ ...result, machine: { busy: 1, niced: 0, steal: 0 } })).toBe(0);
  });
});

test('a failure names its target once', () => {
  const record = new Recorder();
  record.failure('ours', new Error('ours: ended'));
  record.failure('ours', 'gone');
  expect(record.failures).toEqual(['ours: ended', 'ours: gone']);
});
