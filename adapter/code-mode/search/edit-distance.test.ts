import { expect, test } from 'vitest';

import { editDistance } from './edit-distance.ts';

function plain(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  if (a[0] === b[0]) return plain(a.slice(1), b.slice(1));
  return 1 + Math.min(plain(a.slice(1), b), plain(a, b.slice(1)), plain(a.slice(1), b.slice(1)));
}

test('the distance of all short words is that of the definition, up to the most that counts', () => {
  const words = ['', 'a', 'b'].flatMap((x) =>
    ['', 'a', 'b'].flatMap((y) => ['', 'a', 'b', 'ab', 'ba'].map((z) => x + y + z)),
  );
  for (const a of words) {
    for (const b of words) {
      const distance = plain(a, b);
      for (const most of [1, 2]) expect(editDistance(a, b, most)).toBe(distance > most ? undefined : distance);
    }
  }
});

test.each([
  ['screnshot', 'screenshot', 1],
  ['naviagte', 'navigate', 2],
  ['calender', 'calendar', 1],
])('%s is like %s', (a, b, distance) => {
  expect(editDistance(a, b, 2)).toBe(distance);
  expect(editDistance(b, a, 2)).toBe(distance);
});
