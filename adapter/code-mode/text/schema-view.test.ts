import { expect, test } from 'vitest';

import { own, SchemaView } from './schema-view.ts';

test('only own members of objects count', () => {
  expect(own({ a: 1 }, 'a')).toBe(1);
  for (const value of [{}, [], 'text', null, undefined, 7]) expect(own(value, 'constructor')).toBeUndefined();
  expect(own([1], '0')).toBeUndefined();
});

test('what stands beside a reference counts more than what it leads to', () => {
  const root = { $defs: { A: { $ref: '#/$defs/B', title: 'A' }, B: { type: 'string', title: 'B', description: 'b' } } };
  const view = new SchemaView(root, 100);
  expect(view.resolve({ $ref: '#/$defs/A', description: 'mine' })).toEqual({
    type: 'string',
    title: 'A',
    description: 'mine',
  });
  expect(view.resolve({ $ref: '#/$defs/None' })).toBeUndefined();
  expect(view.resolve({ $ref: 'other.json#/$defs/B' })).toBeUndefined();
});

test('a part of allOf may require what another part declares', () => {
  const schema = {
    allOf: [{ required: ['b'] }, { properties: { a: {}, b: {} }, required: ['a'] }],
    required: ['b'],
  };
  expect(new SchemaView(schema, 100).propertiesOf(schema).map(({ name, required }) => [name, required])).toEqual([
    ['a', true],
    ['b', true],
  ]);
});

test('no more is seen than there are steps for', () => {
  const schema = { properties: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, {}])) };
  const view = new SchemaView(schema, 20);
  expect(view.propertiesOf(schema)).toHaveLength(19);
  expect(view.usedSteps).toBe(20);
  expect(view.resolve(schema)).toBeUndefined();
});
