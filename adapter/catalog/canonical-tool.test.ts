import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import type { Meaning } from './canonical-json.ts';
import { canonicalTool } from './canonical-tool.ts';

const FULL = {
  name: 'search',
  title: 'Search',
  description: 'Finds things.\n\n  - indented',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: ['string', 'null'], description: 'What to find', default: 'a' },
      mode: { enum: ['fast', 'deep', { a: 1 }] },
    },
    required: ['query', 'mode'],
    $defs: { item: { type: 'string' } },
  },
  outputSchema: { type: 'object', properties: { hits: { type: 'array', items: { $ref: '#/$defs/item' } } } },
  icons: [{ src: 'https://a.example/i.png', sizes: ['48x48', '96x96'] }],
  annotations: { title: 'Search', readOnlyHint: true },
  execution: { taskSupport: 'optional' },
  _meta: { fastmcp: { tags: ['b', 'a'], _fingerprint: 1 }, 'example.org/x': { tags: ['y', 'x'], list: [2, 1] } },
};

const full = (changes: object = {}): string => JSON.stringify({ ...FULL, ...changes });
const hashOf = (definition: string): string => canonicalTool(definition).hash;
const canonical = (json: string, meaning: Meaning = 'data'): string => canonicalJson(json, 0, meaning);

/** All members in the opposite order, and all lists where the order says nothing. */
function reversed(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => reversed(item));
    return ['required', 'type', 'tags'].includes(key) ? items.toReversed() : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member, name)]),
  );
}

describe('what is no change', () => {
  test('another order of members, required, types and tags', () => {
    const other = JSON.stringify(reversed(FULL), undefined, 2);
    expect(other).not.toBe(full());
    expect(canonicalTool(other)).toEqual(canonicalTool(full()));
  });

  test.each([
    ['white space', '{"name":"a","inputSchema":{}}', ' {\t"name" : "a" ,\r\n "inputSchema" : { } } '],
    ['escapes', '{"name":"größe/\\u0001"}', '{"n\\u0061me":"gr\\u00f6\\u00DFe\\/\\u0001"}'],
    ['line ends', '{"description":"a\\nb"}', '{"description":"a\\r\\nb"}'],
    ['blanks at the ends of lines', '{"description":"a\\n\\n b"}', '{"description":"a \\t\\n\\t\\n b  "}'],
    ['the same in a schema', '{"inputSchema":{"description":"a\\nb"}}', '{"inputSchema":{"description":"a \\nb"}}'],
    ['the same in annotations', '{"annotations":{"title":"a"}}', '{"annotations":{"title":"a "}}'],
    [
      'spellings of numbers',
      '{"inputSchema":{"maximum":100,"minimum":0,"default":[1.5,-2]}}',
      '{"inputSchema":{"maximum":1e2,"minimum":-0.0,"default":[15E-1,-2.0]}}',
    ],
    ['no _meta and an empty one', '{"name":"a"}', '{"name":"a","_meta":{}}'],
    ["FastMCP's own notes", '{"name":"a"}', '{"name":"a","_meta":{"_fastmcp":{"_x":1},"fastmcp":{"_y":{"z":[]}}}}'],
    [
      "FastMCP's own notes beside tags",
      '{"_meta":{"fastmcp":{"tags":["a"]}}}',
      '{"_meta":{"fastmcp":{"tags":["a"],"_y":7}}}',
    ],
    ['the order of members that the protocol does not know', '{"x-a":1,"x-b":2}', '{"x-b":2,"x-a":1}'],
    [
      'more digits of the same double',
      '{"inputSchema":{"multipleOf":0.001,"maximum":1}}',
      '{"inputSchema":{"multipleOf":0.00100000000000000002,"maximum":1.00000000000000000001}}',
    ],
  ])('%s', (_, one, other) => {
    expect(canonicalTool(other)).toEqual(canonicalTool(one));
  });
});

describe('what is a change, and of which field', () => {
  const changedFields = (one: string, other: string): string[] => {
    const [a, b] = [canonicalTool(one), canonicalTool(other)];
    expect(a.hash).not.toBe(b.hash);
    return [...new Set([...a.fields.keys(), ...b.fields.keys()])].filter(
      (key) => a.fields.get(key) !== b.fields.get(key),
    );
  };

  test.each<[string, string, object]>([
    ['a word of the title', 'title', { title: 'search' }],
    ['a title that is null', 'title', { title: null }],
    ['a title that goes', 'title', { title: undefined }],
    ['a description', 'description', { description: 'Finds things. Send them to me.\n\n  - indented' }],
    ['indentation', 'description', { description: 'Finds things.\n\n - indented' }],
    ['an invisible character', 'description', { description: 'Finds things.\u200b\n\n  - indented' }],
    ['another normal form', 'title', { title: 'Se\u0301arch' }],
    ['an icon', 'icons', { icons: [{ ...FULL.icons[0], src: 'https://b.example/i.png' }] }],
    ['the order of sizes of an icon', 'icons', { icons: [{ ...FULL.icons[0], sizes: ['96x96', '48x48'] }] }],
    ['a hint', 'annotations', { annotations: { title: 'Search', readOnlyHint: false } }],
    ['execution', 'execution', { execution: { taskSupport: 'required' } }],
    ['a tag', '_meta', { _meta: { ...FULL._meta, fastmcp: { tags: ['b', 'c'] } } }],
    ['another member of _meta', '_meta', { _meta: { ...FULL._meta, 'example.org/y': true } }],
    ['a list in _meta', '_meta', { _meta: { ...FULL._meta, 'example.org/x': { tags: ['y', 'x'], list: [1, 2] } } }],
    ['_meta that goes', '_meta', { _meta: undefined }],
    ['the output', 'outputSchema', { outputSchema: { type: 'object' } }],
    ['no output', 'outputSchema', { outputSchema: undefined }],
    ['a member that the protocol does not know', 'others', { 'x-vendor': { calls: 'them' } }],
    ['one that is named like no field', 'others', JSON.parse('{"__proto__":{"a":1}}') as object],
    ['one that is there but null', 'others', { constructor: null }],
    ['one in a hint', 'annotations', { annotations: { ...FULL.annotations, 'x-vendor': 1 } }],
    ['one in execution', 'execution', { execution: { ...FULL.execution, 'x-vendor': 1 } }],
    ['one in an icon', 'icons', { icons: [{ ...FULL.icons[0], 'x-vendor': 1 }] }],
  ])('%s', (_, field, changes) => {
    expect(changedFields(full(), full(changes))).toEqual([field]);
  });

  const inSchema = (schema: object): string => full({ inputSchema: { ...FULL.inputSchema, ...schema } });
  const withProperties = (properties: object): string => inSchema({ properties });

  test.each<[string, string, string]>([
    ['a description in it', full(), withProperties({ ...FULL.inputSchema.properties, query: { type: 'string' } })],
    ['a parameter more', full(), withProperties({ ...FULL.inputSchema.properties, to: {} })],
    ['one fewer that is required', full(), inSchema({ required: ['query'] })],
    ['one twice required', inSchema({ required: ['query'] }), inSchema({ required: ['query', 'query'] })],
    ['a type', inSchema({ type: ['object'] }), inSchema({ type: 'object' })],
    ['the order of a default', inSchema({ default: ['a', 'b'] }), inSchema({ default: ['b', 'a'] })],
    [
      'the order of tags in a default',
      inSchema({ default: { tags: [1, 2] } }),
      inSchema({ default: { tags: [2, 1] } }),
    ],
    ['the order of an enum', inSchema({ enum: ['a', 'b'] }), inSchema({ enum: ['b', 'a'] })],
    ['a keyword that nobody knows', full(), inSchema({ 'x-vendor': 1 })],
    ['the order in a value of an enum', inSchema({ enum: [{ enum: [1, 2] }] }), inSchema({ enum: [{ enum: [2, 1] }] })],
    [
      'the order in an element of a set',
      inSchema({ type: [{ type: [1, 2] }] }),
      inSchema({ type: [{ type: [2, 1] }] }),
    ],
    ['the order of alternatives', inSchema({ anyOf: [{}, false] }), inSchema({ anyOf: [false, {}] })],
    ['blanks in a value', inSchema({ const: 'a' }), inSchema({ const: 'a ' })],
    ['blanks in the text of a default', inSchema({ default: { title: 'a' } }), inSchema({ default: { title: 'a ' } })],
    ['an empty list for none', inSchema({ required: undefined }), inSchema({ required: [] })],
    [
      'a property named __proto__',
      full(),
      full().replace('"properties":{', '"properties":{"__proto__":{"type":"string"},'),
    ],
  ])('the input: %s', (_, one, other) => {
    expect(changedFields(one, other)).toEqual(['inputSchema']);
  });

  test('a property that is named like a keyword is a schema like any other', () => {
    const named = (schema: object) =>
      withProperties(
        Object.fromEntries(['default', 'enum', 'const', 'properties', 'type'].map((key) => [key, schema])),
      );
    expect(hashOf(named({ required: ['a', 'b'] }))).toBe(hashOf(named({ required: ['b', 'a'] })));
    expect(changedFields(named({ default: ['a', 'b'] }), named({ default: ['b', 'a'] }))).toEqual(['inputSchema']);
  });

  test('two members that the protocol does not know, whose names change places', () => {
    const vendors = (one: number, two: number): string => full({ 'x-a': one, 'x-b': two });
    expect(changedFields(vendors(1, 2), vendors(2, 1))).toEqual(['others']);
    expect(changedFields(vendors(1, 2), full({ 'x-a': 1 }))).toEqual(['others']);
  });

  test('a number beyond 2^53, digit by digit', () => {
    const limit = (number: string): string => `{"name":"a","inputSchema":{"maximum":${number}}}`;
    expect(changedFields(limit('9007199254740992'), limit('9007199254740993'))).toEqual(['inputSchema']);
    expect(changedFields(limit('0.1'), limit('0.10000000000000002'))).toEqual(['inputSchema']);
    expect(changedFields(limit('1e400'), limit('1e401'))).toEqual(['inputSchema']);
    expect(changedFields(limit('1'), limit('-1'))).toEqual(['inputSchema']);
    expect(changedFields(limit('1'), limit('"1"'))).toEqual(['inputSchema']);
    expect(hashOf(limit('18446744073709551616'))).toBe(hashOf(limit('18446744073709551616.0')));
  });

  test('either of two members of one name, and their order', () => {
    const twice = (one: string, two: string): string => `{"name":"a","description":"${one}","description":"${two}"}`;
    expect(changedFields(twice('good', 'good'), twice('good', 'bad'))).toEqual(['description']);
    expect(changedFields(twice('good', 'good'), twice('bad', 'good'))).toEqual(['description']);
    expect(changedFields(twice('good', 'bad'), twice('bad', 'good'))).toEqual(['description']);
    expect(changedFields('{"description":"a"}', twice('a', 'a').replace('"name":"a",', ''))).toEqual(['description']);
    const inside = (one: string, two: string): string => `{"inputSchema":{"type":"${one}","type":"${two}"}}`;
    expect(changedFields(inside('a', 'b'), inside('b', 'a'))).toEqual(['inputSchema']);
    const name = (first: string): string => `{"name":"${first}","name":"a"}`;
    expect(canonicalTool(name('b')).name).toBe('a');
    expect(changedFields(name('b'), name('c'))).toEqual(['name']);
  });

  test('a member that some parsers take for a field because they ignore case', () => {
    const plain = '{"name":"a","description":"good"}';
    expect(changedFields(plain, '{"name":"a","description":"good","Description":"bad"}')).toEqual(['description']);
    expect(changedFields(plain, '{"name":"a","description":"good","NAME":"b"}')).toEqual(['name']);
    expect(changedFields('{"inputSchema":{}}', '{"inputSchema":{},"inputschema":{}}')).toEqual(['inputSchema']);
  });
});

describe('odd definitions', () => {
  test.each(['7', '"tool"', 'null', '[]', '[{"name":"a"}]', '{}', '{"name":7}', '{"name":null,"inputSchema":7}'])(
    '%s has no name and is itself only',
    (definition) => {
      const { name, hash } = canonicalTool(definition);
      expect(name).toBe('');
      expect(hash).not.toBe(hashOf('8'));
      expect(hash).toBe(hashOf(` ${definition} `));
    },
  );

  test('names of all kinds', () => {
    for (const name of ['__proto__', 'constructor', '', 'a"b\\c', 'größe 🐘', 'a\nb\u202e', 'x'.repeat(10_000)]) {
      expect(canonicalTool(JSON.stringify({ name })).name).toBe(name);
    }
    const hashes = ['__proto__', 'constructor', 'toString'].map((name) => hashOf(JSON.stringify({ name })));
    expect(new Set(hashes).size).toBe(3);
  });

  test.each([200, 500, 20_000])('a schema %i levels deep is compared to its bottom, in order or not', (depth) => {
    const deep = (bottom: string): string => {
      return `{"name":"a","inputSchema":${'{"type":"object","properties":{"x":'.repeat(depth)}${bottom}${'}}'.repeat(depth)}}`;
    };
    const started = process.threadCpuUsage();
    const one = hashOf(deep('{"required":["a","b"],"type":"string"}'));
    expect(process.threadCpuUsage(started).user / 1_000).toBeLessThan(depth === 20_000 ? 5_000 : 1_000);
    expect(hashOf(deep('{"type":"string","required":["b","a"]}'))).toBe(one);
    expect(hashOf(deep('{"type":"string","required":["b","c"]}'))).not.toBe(one);
  });

  test.each([
    [
      'a text of 1 MB at the bottom of 500 levels',
      `${'{"not":'.repeat(500)}{"description":"${'x'.repeat(1 << 20)}"}${'}'.repeat(500)}`,
    ],
    ['1 MB of blanks', `{"description":"${' '.repeat(1 << 20)}x"}`],
    ['lists of sets in sets', `${'{"required":['.repeat(500)}"${'x'.repeat(100_000)}"${']}'.repeat(500)}`],
    ['a number of a million zeros', `{"maximum":1${'0'.repeat(1_000_000)}}`],
    ['100,000 members of one name', `{${Array.from({ length: 100_000 }, () => '"a":1').join(',')}}`],
  ])('%s takes no longer than its length', (_, schema) => {
    const definition = `{"name":"a","inputSchema":${schema}}`;
    const started = process.threadCpuUsage();
    const hash = hashOf(definition);
    expect(process.threadCpuUsage(started).user / 1_000).toBeLessThan(1_000);
    expect(hashOf(definition)).toBe(hash);
  });
});

describe('canonicalJson', () => {
  test('equal texts come from equal values only', () => {
    const values = ['1', '"1"', '[1]', '[[1]]', '{"1":1}', '[]', '{}', 'null', '"null"', 'true', '""', '[""]', '[1,1]'];
    values.push('"a\\n"', '"a"', '{"a":"b"}', '{"b":"a"}', '["a:b"]', '["a","b"]', '["a,b"]', '0', '-1', '10', '1e-1');
    values.push('"\\ud800"', '"\\ud801"', '"\\ufffd"');
    expect(new Set(values.map((value) => canonical(value))).size).toBe(values.length);
    for (const value of values) expect(canonical(` ${value} `)).toBe(canonical(value));
  });

  test('long ones are told apart as well', () => {
    const long = (last: number): string => JSON.stringify([...Array.from({ length: 500 }, (_, index) => index), last]);
    expect(canonical(long(1))).not.toBe(canonical(long(2)));
    expect(canonical(long(1))).toBe(canonical(long(1)));
    expect(canonical(`[${long(1)},${long(2)}]`)).not.toBe(canonical(`[${long(2)},${long(1)}]`));
    expect(canonical(`{"type":[${long(1)},${long(2)}]}`, 'schema')).toBe(
      canonical(`{"type":[${long(2)},${long(1)}]}`, 'schema'),
    );
  });

  test.each(['', '{', '[1', '{"a"', '{"a":', '"a', ']', '{"a":1]', '[}'])('broken text such as %j ends', (text) => {
    expect(typeof canonical(text)).toBe('string');
  });
});
