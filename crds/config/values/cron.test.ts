import { expect, test } from 'vitest';
import { isCron } from './cron.ts';

test.each([
  '* * * * *',
  '0 0 1 1 0',
  '59 23 31 12 7',
  '*/5 * * * *',
  '0-30/10 8-18 * * mon-fri',
  '5,10,15-20 * 1,15 JAN,Jul *',
  '  0   6 * * SUN ',
  '3/15 * * * *',
])('%j is a cron expression', (text) => {
  expect(isCron(text)).toBe(true);
});

test.each([
  '',
  '* * * *',
  '* * * * * *',
  '60 * * * *',
  '* 24 * * *',
  '* * 0 * *',
  '* * 32 * *',
  '* * * 0 *',
  '* * * 13 *',
  '* * * * 8',
  '*/0 * * * *',
  '5-1 * * * *',
  '1,,2 * * * *',
  'a * * * *',
  '* * * mon *',
  '-1 * * * *',
  '1- * * * *',
  '@daily',
  '1.5 * * * *',
])('%j is none', (text) => {
  expect(isCron(text)).toBe(false);
});
