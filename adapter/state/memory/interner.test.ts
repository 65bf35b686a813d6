import { expect, test } from 'vitest';
import { Interner } from './interner.ts';

test('a string stays until its last user has released it', () => {
  const pool = new Interner();
  expect(pool.acquire('parameters')).toBe('parameters');
  pool.acquire('parameters');
  pool.acquire('others');
  expect(pool.size).toBe(2);
  pool.release('parameters');
  expect(pool.size).toBe(2);
  pool.release('parameters');
  expect(pool.size).toBe(1);
});

test('releasing an unknown string is harmless', () => {
  const pool = new Interner();
  pool.release('never acquired');
  expect(pool.size).toBe(0);
});
