import { expect, test } from 'vitest';
import { StringPool } from './string-pool.ts';

test('a string stays until its last user has released it', () => {
  const pool = new StringPool();
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
  const pool = new StringPool();
  pool.release('never acquired');
  expect(pool.size).toBe(0);
});
