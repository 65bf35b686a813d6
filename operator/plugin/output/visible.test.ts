import { expect, test } from 'vitest';

import { coloured } from './visible.ts';

test('of what somebody else wrote a terminal gets lines and colours, and nothing else', () => {
  expect(coloured('\u001B[1;31mred\u001B[0m\nplain\u001B[2J\u001B]0;title\u0007')).toBe(
    '\u001B[1;31mred\u001B[0m\nplain\\u{1b}[2J\\u{1b}]0;title\\u{7}',
  );
  expect(coloured('a\u202Eb\u001B[31')).toBe('a\\u{202e}b\\u{1b}[31');
});
