import { expect, test } from 'vitest';
import { LocalRateTokens } from './rate-tokens.ts';

const T = 1_764_324_900_000;
const limit = { requests: 10, per: 1000, burst: 3 };

test('after a pause the burst goes at once, and then requests come at the rate', async () => {
  const tokens = new LocalRateTokens();
  const waits = [];
  for (let request = 0; request < 6; request += 1) waits.push(await tokens.takeTokens('api', limit, new Date(T)));
  expect(waits).toEqual([0, 0, 0, 100, 200, 300]);
});

test('a host that was left alone for a while has its burst again', async () => {
  const tokens = new LocalRateTokens();
  for (let request = 0; request < 5; request += 1) await tokens.takeTokens('api', limit, new Date(T));
  expect(await tokens.takeTokens('api', limit, new Date(T + 5000))).toBe(0);
  expect(await tokens.takeTokens('api', limit, new Date(T + 5000))).toBe(0);
});

test('hosts do not wait for each other', async () => {
  const tokens = new LocalRateTokens();
  for (let request = 0; request < 9; request += 1) await tokens.takeTokens('slow', limit, new Date(T));
  expect(await tokens.takeTokens('other', limit, new Date(T))).toBe(0);
});
