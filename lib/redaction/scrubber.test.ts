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
  const secrets = Array.from({ length: 20_000 }, (_, index) => `${index}-secret-of-many`);
  const text = 'a line with 19999-secret-of-many in it; '.repeat(5_000);
  const millis = (among: readonly string[]): number => {
    const scrub = createScrubber(among, 8);
    const before = process.threadCpuUsage();
    expect(scrub(text)).toBe('a line with <redacted> in it; '.repeat(5_000));
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  const [few, many] = [millis(secrets.slice(-10)), millis(secrets)];
  // Searching for each of them takes half a second and more. (The system may count in steps of 10 ms.)
  expect(many).toBeLessThan(4 * few + 100);
});
