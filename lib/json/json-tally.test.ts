import { expect, test } from 'vitest';
import { JsonTally } from './json-tally.ts';

function tallyOf(text: string): JsonTally {
  const tally = new JsonTally();
  while (tally.read(text));
  return tally;
}

/** What JSON.parse makes, and how deep. */
function made(value: unknown, depth = 1): { values: number; deepest: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, deepest: depth - 1 };
  const inner = Object.values(value).map((one) => made(one, depth + 1));
  return {
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
    deepest: Math.max(depth, ...inner.map(({ deepest }) => deepest)),
  };
}

const PART = 16 << 10;
const TEXTS = [
  '',
  'a',
  '\\',
  '"',
  '\\"',
  '{[,',
  'é',
  '\u{1F600}',
  '\\'.repeat(7),
  `${'x'.repeat(40)}"${'y'.repeat(70)}`,
];

test('T17: a text is counted the same wherever its parts end', () => {
  const value = TEXTS.flatMap((text) => [text, [text, { [text]: text }]]);
  const json = JSON.stringify(value);
  const { values, deepest } = made(value);
  for (let before = 0; before <= json.length; before++) {
    const text = `${' '.repeat(PART - before)}${json}`;
    const tally = tallyOf(text);
    expect([before, tally.values, tally.deepest]).toEqual([before, values, deepest]);
  }
});

test('long strings are jumped over, whatever stands in them', () => {
  for (const text of TEXTS) {
    for (const length of [1, 31, 32, 33, 5000]) {
      const json = JSON.stringify([text.repeat(length), `${text.repeat(length)}\\`, [','.repeat(length)], '"']);
      expect([text, length, tallyOf(json).values]).toEqual([text, length, 6]);
    }
  }
});

test('a part of the text is read at a time', () => {
  const tally = new JsonTally();
  const text = '0,'.repeat(PART);
  expect(tally.read(text)).toBe(true);
  expect(tally.commas).toBe(PART / 2);
  expect(tally.read(text)).toBe(false);
  expect(tally.commas).toBe(PART);
});
