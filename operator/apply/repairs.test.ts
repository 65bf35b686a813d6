import { beforeEach, expect, it } from 'vitest';
import { Repairs } from './repairs.ts';

let clock: number;
let repairs: Repairs;
beforeEach(() => {
  clock = 0;
  repairs = new Repairs(() => clock);
});

/** When repairs are made of an object that is changed every 200 ms, in seconds. */
function timesWithin(seconds: number): number[] {
  const times: number[] = [];
  for (const end = clock + seconds * 1000; clock < end; clock += 200) {
    if (repairs.waitMs('a') > 0) continue;
    repairs.made('a');
    times.push(clock / 1000);
  }
  return times;
}

it('O11: puts back at once at first, and then less and less often', () => {
  expect(repairs.waitMs('a')).toBe(0);
  expect(timesWithin(20)).toEqual([0, 0.2, 0.4, 2.4, 6.4, 14.4]);
  expect(repairs.isContested('a')).toBe(true);
  expect(timesWithin(3_600).length).toBeLessThan(20);
});

it('minds every object for itself, and forgives after some calm', () => {
  timesWithin(1);
  expect(repairs.waitMs('a')).toBeGreaterThan(0);
  expect(repairs.waitMs('b')).toBe(0);
  clock += 61_000;
  expect(repairs.waitMs('a')).toBe(0);
  expect(repairs.isContested('a')).toBe(false);
  repairs.made('b');
  expect(repairs.size).toBe(1);
});
