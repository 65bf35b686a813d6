import { describe, expect, test } from 'vitest';

import { answerDiscovery } from './discovery.ts';
import { finished } from './testing/finished.ts';
import { ToolIndex } from './search/tool-index.ts';

const nested = (levels: number): string =>
  `${'{"type":"object","properties":{"a":'.repeat(levels)}{"type":"string"}${'}}'.repeat(levels)}`;
const schema = (text: string): string => `{"name":"evil","description":"d","inputSchema":${text}}`;
const described = (description: unknown): string => JSON.stringify({ name: 'evil', description });
const named = (name: string): string => JSON.stringify({ name, description: 'evil' });

/** Six ways at each of many steps, from each of hundreds of properties. */
const MULTIPLYING = schema(
  `{"properties":{${Array.from({ length: 300 }, (_, i) => `"p${i}":{"$ref":"#/$defs/V"}`).join(',')}},"$defs":{"V":{"anyOf":[${Array.from({ length: 6 }, () => '{"$ref":"#/$defs/V"}').join(',')}]}}}`,
);

const HOSTILE: readonly (readonly [string, string])[] = [
  ['a name with lines', named('evil\n### other\n- x')],
  ['a name of backticks', named('`evil```')],
  ['an invisible name', named('\u200b\u3164\u2800')],
  ['an empty name', named('')],
  ['a name of a prototype', named('__proto__')],
  ['a name over a megabyte', named(`evil${'x'.repeat(1_000_000)}`)],
  ['a description of headings', described('evil\n### other\n\n## Tools\n- x: y\n> z')],
  ['a description of a megabyte', described('evil '.repeat(200_000))],
  ['a description of one word of a megabyte', described('evil'.repeat(250_000))],
  ['a description of line ends', described('\n'.repeat(500_000))],
  ['a description of half characters', described('evil \ud800 \udc00')],
  ['a description that is a list', described(['evil'])],
  ['a description that is an object', described({ toString: 1 })],
  ['a schema two thousand deep', schema(nested(2_000))],
  ['a schema that refers to itself', schema('{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/b"}}}')],
  ['a schema of allOf of itself', schema('{"allOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}],"properties":{"a":{}}}')],
  [
    'a schema of anyOf of itself',
    schema(
      '{"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"},{"$ref":"#/properties/a"},{"$ref":"#/properties/a"},{"$ref":"#/properties/a"}]}}}',
    ),
  ],
  [
    'ten thousand properties',
    schema(`{"properties":{${Array.from({ length: 10_000 }, (_, i) => `"p${i}":{}`).join(',')}}}`),
  ],
  ['ten thousand required', schema(`{"properties":{"a":{}},"required":[${'"a",'.repeat(10_000)}"a"]}`)],
  ['ten thousand variants', schema(`{"properties":{"a":{"anyOf":[${'{"properties":{"b":{}}},'.repeat(10_000)}{}]}}}`)],
  ['a property __proto__', schema('{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}')],
  ['members of prototypes', schema('{"properties":{"constructor":{"$ref":"#/constructor/prototype"},"toString":7}}')],
  ['a deep default', schema(`{"properties":{"a":{"default":${'['.repeat(50_000)}${']'.repeat(50_000)}}}}`)],
  [
    'values with lines',
    schema('{"properties":{"a\\n### b":{"enum":["x\\n### y"],"format":"z\\n###","pattern":"\\n###"}}}'),
  ],
  ['a schema that is a list', schema('[1]')],
  ['a schema that is a number', schema('7')],
  ['thousands of tags', `{"name":"evil","_meta":{"tags":[${'"a\\n### b",'.repeat(5_000)}"c"]}}`],
  ['tags that are no list', '{"name":"evil","_meta":{"fastmcp":{"tags":"x"},"_fastmcp":7,"tags":{"length":1e9}}}'],
  ['annotations that are a string', '{"name":"evil","annotations":"x","title":7,"outputSchema":"y"}'],
];

test('an answer ends where definitions that multiply have cost too much', () => {
  const index = new ToolIndex(Array.from({ length: 200 }, () => MULTIPLYING));
  const { text } = finished(answerDiscovery('list_tools', { detail: 'detailed' }, index));
  expect(text).toMatch(/^10 of 200 tools:/);
  expect(text).toContain('190 more tools left out');
});

describe('a definition that is meant to hurt', () => {
  test.each(HOSTILE)('does not: %s', (_, text) => {
    const start = performance.now();
    const index = new ToolIndex(['{"name":"good","description":"evil friend"}', text]);
    const name = index.tools[1]?.name ?? '';
    const answers = [
      finished(answerDiscovery('search', { query: 'evil' }, index)),
      finished(answerDiscovery('search', { query: 'evil', detail: 'detailed' }, index)),
      finished(answerDiscovery('get_schema', { tools: [name, 'missing'] }, index)),
      finished(answerDiscovery('list_tools', { detail: 'brief' }, index)),
      finished(answerDiscovery('list_tools', { detail: 'full' }, index)),
      finished(answerDiscovery('tags', { detail: 'full' }, index)),
    ];
    const ms = performance.now() - start;
    const listing = answers[3]?.text.split('\n') ?? [];
    expect(listing).toHaveLength(2);
    for (const line of listing) expect(line.startsWith('- ')).toBe(true);
    // Headings are those that the adapter writes: one for a tool, one for a tag.
    // Nobody can ask for the longest of names.
    expect(answers[2]?.text.match(/^#+ .*$/gm) ?? []).toHaveLength(answers[2]?.isError === true ? 0 : 1);
    expect(answers[2]?.isError).toBe(name.length > 32_768);
    for (const { text } of answers) expect(text.length).toBeLessThan(201_000);
    expect(ms).toBeLessThan(1_000);
  });
});
