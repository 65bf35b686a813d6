import { describe, expect, it, test } from 'vitest';
import { redisRetryMs, reply, replyCode } from './redis-script.ts';

describe('a reply', () => {
  it.each([null, 'text', 1, [], ['a', [1, null]]])('may be %j', (value) => {
    expect(reply(value)).toEqual(value);
  });

  it.each([undefined, true, {}, ['a', [Buffer.from('b')]]])('is not %j', (value) => {
    expect(() => reply(value)).toThrow('unexpected reply of a Redis script');
  });
});

describe('the code of an error', () => {
  const replyError = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

  it.each([
    ['NOSCRIPT No matching script.', 'NOSCRIPT'],
    ['-READONLY You can not write', 'READONLY'],
    ['something else', undefined],
  ])('is the first word of %s', (message, code) => {
    expect(replyCode(replyError(message))).toBe(code);
  });

  it('is undefined when the server did not reply', () => {
    expect(replyCode(new Error('READONLY'))).toBeUndefined();
    expect(replyCode('READONLY')).toBeUndefined();
  });
});

test.each([
  [1, 50],
  [3, 200],
  [6, 1_600],
  [7, 2_000],
  [5_000, 2_000],
])('attempt %i comes after at most %i ms, and not always after the same time', (attempt, most) => {
  const times = Array.from({ length: 100 }, () => redisRetryMs(attempt));
  expect(Math.max(...times)).toBeLessThanOrEqual(most);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(most * 0.75);
  expect(new Set(times).size).toBeGreaterThan(1);
});
