import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { asUrl, formOf, queryOf } from './query.ts';

const query = (encoded: Record<string, unknown>, raw: Record<string, unknown> = {}): string =>
  queryOf([
    ...Object.entries(raw).map(([name, value]) => ({ name, value, raw: true })),
    ...Object.entries(encoded).map(([name, value]) => ({ name, value, raw: false })),
  ]);

test('the vector of the original', () => {
  const encoded = {
    from: '2025-11-28T10:15:00+0000',
    limit: 100,
    flag: true,
    n: null,
    l: ['a', 'b'],
    d: { k: 1 },
    f: new ExactNumber('1.0'),
    sp: 'a b/c~',
  };
  expect(query(encoded, { raw: 'a:b,c' })).toBe(
    'from=2025-11-28T10%3A15%3A00%2B0000&limit=100&flag=True&n=None&l=a&l=b&d=k&f=1.0&sp=a+b%2Fc~&raw=a:b,c',
  );
});

describe('encoded', () => {
  test.each([
    [{ a: "é!'()*-_.~" }, 'a=%C3%A9%21%27%28%29%2A-_.~'],
    [{ 'a b[]': '&=' }, 'a+b%5B%5D=%26%3D'],
    [{ a: [] }, ''],
    [{ a: [true, null, 1.5, ['x']] }, 'a=True&a=None&a=1.5&a=%5B%27x%27%5D'],
    [{ a: -7, b: 1e-7 }, 'a=-7&b=1e-07'],
    [{ a: '\uD800' }, 'a=%EF%BF%BD'],
  ])('%j', (values, text) => {
    expect(query(values)).toBe(text);
    expect(formOf(values)).toBe(text);
  });
});

test('raw values keep all that a URL can hold, and nothing in them ends it', () => {
  expect(query({}, { q: 'a+b:c,d/e[f]%20|g' })).toBe('q=a+b:c,d/e[f]%20|g');
  expect(query({}, { q: '2025-11-28T10:15:00+0000' })).toBe('q=2025-11-28T10:15:00+0000');
  expect(query({}, { q: 'a b"c#d<e>é\r\n' })).toBe('q=a%20b%22c%23d%3Ce%3E%C3%A9%0D%0A');
  expect(query({}, { q: null, r: ['x'] })).toBe("q=None&r=['x']");
  expect(asUrl("!$%&'()*+,-./09:;=?@AZ[\\]^_`az{|}~")).toBe("!$%&'()*+,-./09:;=?@AZ[\\]^_`az{|}~");
});
