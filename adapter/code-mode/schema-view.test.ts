import { expect, test } from 'vitest';

import { own, propertiesOf, resolve } from './schema-view.ts';

test('only own members of objects count', () => {
  expect(own({ a: 1 }, 'a')).toBe(1);
  for (const value of [{}, [], 'text', null, undefined, 7]) expect(own(value, 'constructor')).toBeUndefined();
  expect(own([1], '0')).toBeUndefined();
});

test('what stands beside a reference counts more than what it leads to', () => {
  const root = { $defs: { A: { $ref: '#/$defs/B', title: 'A' }, B: { type: 'string', title: 'B', description: 'b' } } };
  expect(resolve({ $ref: '#/$defs/A', description: 'mine' }, root)).toEqual({
    type: 'string',
    title: 'A',
    description: 'mine',
  });
  expect(resolve({ $ref: '#/$defs/None' }, root)).toBeUndefined();
  expect(resolve({ $ref: 'other.json#/$defs/B' }, root)).toBeUndefined();
});

test('a part of allOf may require what another part declares', () => {
  const schema = {
    allOf: [{ required: ['b'] }, { properties: { a: {}, b: {} }, required: ['a'] }],
    required: ['b'],
  };
  expect(propertiesOf(schema, schema).map(({ name, required }) => [name, required])).toEqual([
    ['a', true],
    ['b', true],
  ]);
});
