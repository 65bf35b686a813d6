import { expect, test } from 'vitest';
import { jsonDocuments } from './json-documents.ts';

async function read(...chunks: string[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const text of jsonDocuments(toAsync(chunks))) found.push(JSON.parse(text));
  return found;
}

async function* toAsync(chunks: readonly string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(await Promise.resolve(chunk));
}

test.for([
  ['on one line each', '{"a":{"b":"}\\n{"}}\n{"c":1}\n'],
  ['over several lines', '{\n  "a": {\n    "b": "}\\n{"\n  }\n}\n{\n  "c": 1\n}\n'],
  ['by the letter', ...Array.from('{"a":{"b":"}\\n{"}}\n{\n  "c": 1\n}\n')],
])('objects that kubectl prints %s are read as they come', async ([, ...chunks]) => {
  expect(await read(...chunks)).toEqual([{ a: { b: '}\n{' } }, { c: 1 }]);
});

test('an object that is not complete yet is not read', async () => {
  expect(await read('{"a":1}\n{"b":')).toEqual([{ a: 1 }]);
});
