import { expect, test } from 'vitest';

import { FileTools } from '../../crds/config/adapter-file/entry.ts';
import { foundNames } from './found-names.ts';
import { toolRoles } from './tool-roles.ts';

const entry = (tools: string[], roles: object, found: object[] = []) =>
  FileTools.parse({ type: 'files', tools, arguments: roles, found });

const rolesOf = (of: ReturnType<typeof toolRoles>, tool: string) =>
  of?.(tool)?.arguments.map(({ name, role }) => `${name}: ${role}`);

test('without an entry there are no roles', () => {
  expect(toolRoles([])).toBeUndefined();
  expect(toolRoles([entry(['read_*'], { path: 'in' })])?.('write')).toBeUndefined();
});

test('every entry that fits counts, and the first for each argument', () => {
  const of = toolRoles([
    entry(['sheet_insert_image'], { image_path: 'in' }),
    entry(['sheet_read*'], { path: 'in' }),
    entry(['sheet_*'], { path: 'edit', 'rows[].file': 'in' }),
    entry(['other'], { path: 'out' }),
  ]);
  expect(rolesOf(of, 'sheet_insert_image')).toEqual(['image_path: in', 'path: edit', 'rows[].file: in']);
  expect(rolesOf(of, 'sheet_read_range')).toEqual(['path: in', 'rows[].file: in']);
  expect(of?.('sheet_a')).toBe(of?.('sheet_b'));
  expect(of?.('sheet_a')?.arguments.at(-1)?.keys).toEqual(['rows', 'file']);
});

const names = (rule: { pattern?: string; path_key?: string }) => foundNames({ pattern: null, path_key: null, ...rule });

test('a pattern finds all matches in all texts, each once, by its first group', async () => {
  const find = names({ pattern: String.raw`\]\(([^)#]+)` });
  const content = [
    { type: 'text', text: '[a](x.yml) [b](y.log#L1)' },
    { type: 'image', data: '' },
    { type: 'text', text: '[c](x.yml) [d](z)' },
  ];
  expect(await find({ content })).toEqual(['x.yml', 'y.log', 'z']);
  expect(await find({ content: 'none' })).toEqual([]);
  expect(await names({ pattern: '(' })({ content })).toEqual([]);
});

test('a key finds texts and lists of texts, through lists', async () => {
  const structuredContent = { made: [{ files: ['a', 'b'] }, { files: 'c' }, { files: 7 }, null] };
  expect(await names({ path_key: 'made[].files' })({ structuredContent })).toEqual(['a', 'b', 'c']);
  expect(await names({ path_key: 'made.none' })({ structuredContent })).toEqual([]);
  expect(await names({ path_key: '__proto__' })({ structuredContent })).toEqual([]);
});

test('a hostile result is looked through in bounds', async () => {
  const text = 'f '.repeat(3_000_000);
  expect(await names({ pattern: '(f) ' })({ content: [{ type: 'text', text }] })).toEqual(['f']);
  const line = `[x](a b)${'y'.repeat(200)}\n`;
  expect(
    await names({ pattern: String.raw`^\[x\]\((\w+ \w+)\)y+\n$` })({ content: [{ type: 'text', text: line }] }),
  ).toEqual(['a b']);
  const numbered = Array.from({ length: 5_000 }, (_, number) => `${'- '.repeat(20)}[${number}](${number}.yml)`);
  const last = numbered
    .slice(-1)
    .join('')
    .replace(/^.*\(|\)$/g, '');
  expect(
    await names({ pattern: String.raw`\((\d+99\.yml)\)` })({ content: [{ type: 'text', text: numbered.join('\n') }] }),
  ).toContain(last);
  const many = Array.from({ length: 5_000 }, (_, number) => `p${number}`);
  expect(await names({ path_key: 'p' })({ structuredContent: { p: many } })).toHaveLength(100);
  expect(await names({ path_key: 'p' })({ structuredContent: { p: ['x'.repeat(5_000), ''] } })).toEqual([]);
});
