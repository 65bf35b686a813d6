import { expect, test } from 'vitest';
import { baselineOf, formOf, pinnedTools, pinOf } from './baseline.ts';
import { baselineOfTexts } from './testing/baseline-of-texts.ts';

const tool = (name: string, changes: object = {}): string =>
  JSON.stringify({ name, description: `Does ${name}`, inputSchema: { type: 'object' }, ...changes });

test('the order of the tools makes no difference', () => {
  const tools = ['a', 'B', 'größe', '🐘', '__proto__', 'a'].map((name, index) => tool(name, { title: `${index}` }));
  const baseline = baselineOfTexts(tools);
  expect(baselineOfTexts(tools.toReversed())).toEqual(baseline);
  expect(baselineOfTexts([...tools.slice(3), ...tools.slice(0, 3)])).toEqual(baseline);
});

test('every tool counts, and how often', () => {
  const lists = [[], ['a'], ['b'], ['a', 'b'], ['a', 'a'], ['a', 'a', 'b'], ['a', 'b', 'b']];
  const fingerprints = lists.map((names) => baselineOfTexts(names.map((name) => tool(name))).fingerprint);
  expect(new Set(fingerprints).size).toBe(lists.length);
  for (const fingerprint of fingerprints) expect(fingerprint).toMatch(/^2\.[\w-]{43}$/);
});

test('the text tells each tool and its fields, briefly', () => {
  const names = Array.from({ length: 200 }, (_, index) => `some_tool_of_${index}`);
  const { text } = baselineOfTexts(names.map((name) => tool(name, { title: 'T', annotations: {} })));
  expect(text.length / names.length).toBeLessThan(100);
  const tools = pinnedTools({ fingerprint: '', text }) ?? [];
  expect(tools.map(({ name }) => name)).toEqual(names.toSorted());
  expect([...(tools[0]?.fields.keys() ?? [])]).toEqual(['title', 'description', 'inputSchema', 'annotations']);
});

test('what was pinned before the order of an enum and unknown members counted is known as it was then', () => {
  const definition =
    '{"name":"a","description":"x","inputSchema":{"properties":{"mode":{"enum":["slow","fast"],"maximum":0.30000000000000001},' +
    '"n":{"const":1.50}},"required":["n","mode"]},"x-vendor":{"b":1}}';
  const earlier = baselineOf([pinOf(definition, 'earlier')], 'earlier');
  // As that release wrote it.
  expect(earlier).toEqual({
    fingerprint: '-YBlJXIKfeY50E94PagW_IwktUEGpS3vv8JoYPhz02I',
    text: '[["a","pUCkZn5puXk96spOTEYVmu","dui30kDieq7741"]]',
  });
  expect([formOf(earlier), formOf(baselineOf([pinOf(definition)]))]).toEqual(['earlier', 'current']);
});

test('a text that is unknown or of another release is no list of tools', () => {
  for (const text of ['', '{', '{}', '7', '[7]', '[["a"]]', '[["a","b",3]]']) {
    expect(pinnedTools({ fingerprint: 'f', text })).toBeUndefined();
  }
  expect(pinnedTools(baselineOfTexts([]))).toEqual([]);
});

test('200 tools take a moment', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      `p${index}`,
      { type: 'string', description: 'What it is for. '.repeat(8) },
    ]),
  );
  const tools = Array.from({ length: 200 }, (_, index) =>
    tool(`t${index}`, { inputSchema: { type: 'object', properties } }),
  );
  baselineOfTexts(tools);
  const started = process.threadCpuUsage();
  baselineOfTexts(tools);
  expect(process.threadCpuUsage(started).user / 1_000).toBeLessThan(1_000);
});
