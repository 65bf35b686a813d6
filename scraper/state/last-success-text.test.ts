import { expect, test } from 'vitest';
import { lastSuccessText, parseLastSuccess } from './last-success-text.ts';

test.each([
  ['2025-11-28T10:15:00.123456+00:00', '2025-11-28T10:15:00.123Z'],
  ['2025-11-28T10:15:00+00:00', '2025-11-28T10:15:00.000Z'],
  ['2025-11-28T12:15:00.9+0200', '2025-11-28T10:15:00.900Z'],
  ['2025-11-28 10:15:00', '2025-11-28T10:15:00.000Z'],
  ['2025-11-28T10:15:00Z', '2025-11-28T10:15:00.000Z'],
])('the time that the original wrote as %s is understood', (text, expected) => {
  expect(parseLastSuccess(text)?.toISOString()).toBe(expected);
});

test.each(['', 'yesterday', '1764324900', '2025-13-28T10:15:00+00:00'])('%j is no time', (text) => {
  expect(parseLastSuccess(text)).toBeUndefined();
});

test('times are written as the original reads them', () => {
  const text = lastSuccessText(new Date('2025-11-28T10:15:00.120Z'));
  expect(text).toBe('2025-11-28T10:15:00.120000+00:00');
  expect(parseLastSuccess(text)?.toISOString()).toBe('2025-11-28T10:15:00.120Z');
});
