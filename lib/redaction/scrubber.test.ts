import { expect, it } from 'vitest';
import { createScrubber } from './scrubber.ts';

it.each<[string, string[], string]>([
  ['no secret here', ['secret-1', 'secret-2'], 'no secret here'],
  ['', ['secret'], ''],
  ['secret', ['secret'], '<redacted>'],
  ['a secret, the secret', ['secret'], 'a <redacted>, the <redacted>'],
  ['secretsecret', ['secret'], '<redacted><redacted>'],
  ['a secret-long b secret c', ['secret', 'secret-long'], 'a <redacted> b <redacted> c'],
  ['a secret-long b secret c', ['secret-long', 'secret'], 'a <redacted> b <redacted> c'],
  // Overlapping: nothing of either is left.
  ['x aaaabbbbcccc y', ['aaaabbbb', 'bbbbcccc'], 'x <redacted> y'],
  ['x aaaabbbbcccc y', ['bbbbcccc', 'aaaabbbb'], 'x <redacted> y'],
  ['aaaaa b', ['aaaa'], '<redacted> b'],
  ['abcd inside abcdefgh', ['abcdefgh', 'cdef'], 'abcd inside <redacted>'],
  ['abc stays, abcd goes', ['abc', 'abcd'], 'abc stays, <redacted> goes'],
  ['ends with secre', ['secret'], 'ends with secre'],
  ['zoë$& zoë', ['zoë$&'], '<redacted> zoë'],
  ['a\nsecret\nb', ['secret'], 'a\n<redacted>\nb'],
  ['nothing', [], 'nothing'],
  ['', [''], ''],
])('%j without %j is %j', (text, secrets, expected) => {
  expect(createScrubber(secrets, 4)(text)).toBe(expected);
});

it('takes as long with thousands of secrets as with a few', () => {
  const scrub = createScrubber(
    Array.from({ length: 20_000 }, (_, index) => `secret-${index}-of-many`),
    8,
  );
  const text = 'a line with secret-19999-of-many in it; '.repeat(2_500);
  const before = process.cpuUsage();
  expect(scrub(text)).toBe('a line with <redacted> in it; '.repeat(2_500));
  const { user, system } = process.cpuUsage(before);
  // Searching for each of them would take more than 10 s.
  expect((user + system) / 1e6).toBeLessThan(3);
});
