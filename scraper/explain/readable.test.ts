import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { readable } from './readable.ts';

test('a value is YAML, in its order', () => {
  const value = { b: [1, 'x', null, true, {}], a: { '1': new Date(0), none: undefined } };
  expect(readable(value, [])).toBe(`b:
  - 1
  - x
  - null
  - true
  - {}
a:
  "1": 1970-01-01T00:00:00.000Z
`);
});

test.each([
  ['12345678901234567890', '12345678901234567890'],
  ['1.0', '1.0'],
  ['-0.0', '-0.0'],
  ['1e400', '.inf'],
])('the number %s is %s', (text, shown) => {
  expect(readable({ n: new ExactNumber(text) }, [])).toBe(`n: ${shown}\n`);
});

test('texts that look like something else stay texts', () => {
  const value = ['yes', '1', 'null', '', ' a ', 'a: b', '- a', '# a', 'a\nb', '&a', '*a', '!a', '%a', '@a', '\u2028'];
  expect(parse(readable(value, []))).toEqual(value);
});

test('nothing in a text can move the cursor of a terminal', () => {
  const text = readable(
    ['\u001b[31mred', '\u009b31m', 'a\rb', '\u0000', '\u0007', 'a\u0008b', 'a\u202eb', { '\u001b[2J': 1 }],
    [],
  );
  // eslint-disable-next-line no-control-regex -- it is what is looked for
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test('what is shown twice stands there twice', () => {
  const record = { id: 1 };
  expect(readable({ a: record, b: record }, [])).not.toMatch(/[&*]/);
});

test('secrets are nowhere, in whichever form', () => {
  const secret = 'a b/c"d+0123';
  const value = { [`k-${secret}`]: [`x ${secret} y`, encodeURIComponent(secret), JSON.stringify({ secret })] };
  expect(readable(value, [secret, 'ab'])).toBe(`k-<redacted>:
  - x <redacted> y
  - <redacted>
  - '{"secret":"<redacted>"}'
`);
});

test('what is too long or too deep to read is cut off', () => {
  const [long] = parse(readable(['x'.repeat(1e6)], [])) as [string];
  expect([long.length < 2_100, long.endsWith('… (1000000 characters)')]).toEqual([true, true]);
  let deep: unknown = 1;
  for (let depth = 0; depth < 10_000; depth += 1) deep = depth % 2 === 0 ? { deep } : [deep];
  expect(readable(deep, []).length).toBeLessThan(2_000);
});
