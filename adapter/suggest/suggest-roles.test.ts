import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { FileArguments } from '../../crds/config/adapter-file/file-rules.ts';
import { type ListedTool, listedTool } from './listed-tool.ts';
import { suggestRoles } from './suggest-roles.ts';

/** Answers of real servers to `tools/list`, with the roles that a reader of their tools gave the arguments. */
const FOLDER = join(import.meta.dirname, 'testdata');

const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');

/** `tool argument: role`, as `file_uri` where it is one. */
const line = (tool: string, argument: string, { role, as }: { readonly role: string; readonly as: string }): string =>
  `${tool} ${argument}: ${role}${as === 'path' ? '' : ` as ${as}`}`;

function reviewed(server: string): string[] {
  const tools = parse(read(`${server}.roles.yaml`)) as Record<string, unknown>;
  return Object.entries(tools).flatMap(([tool, roles]) =>
    Object.entries(FileArguments.parse(roles)).map(([argument, one]) => line(tool, argument, one)),
  );
}

function toolsOf(server: string): ListedTool[] {
  return (JSON.parse(read(`${server}.json`)) as unknown[]).flatMap((tool) => listedTool(tool) ?? []);
}

const suggested = (tools: readonly ListedTool[]): string[] =>
  suggestRoles(tools).suggestions.map((one) => line(one.tool, one.argument, one));

const named = (text: string): string => text.replace(/: .*$/, '');

/** All arguments that are files by either side: those that one of them leaves out are wrong, too. */
function compared(server: string): { readonly wrong: readonly string[]; readonly count: number } {
  const [wanted, got] = [reviewed(server), suggested(toolsOf(server))];
  const missing = wanted.filter((one) => !got.includes(one));
  const more = got.filter((one) => !wanted.includes(one) && !wanted.some((other) => named(other) === named(one)));
  const wrong = [
    ...missing.map((one) => `${server}: ${one}, but ${got.find((other) => named(other) === named(one)) ?? 'left out'}`),
    ...more.map((one) => `${server}: no file, but ${one}`),
  ];
  return { wrong, count: wanted.length + more.length };
}

describe('the roles of real servers', () => {
  const servers = globSync('*.json', { cwd: FOLDER }).map((file) => basename(file, '.json'));

  test('are right for 95 of 100 arguments', () => {
    const all = servers.map(compared);
    const wrong = all.flatMap((one) => one.wrong);
    const count = all.reduce((sum, one) => sum + one.count, 0);
    process.stdout.write(`${count - wrong.length} of ${count} file arguments right; wrong:\n${wrong.join('\n')}\n`);
    expect((count - wrong.length) / count).toBeGreaterThanOrEqual(0.95);
  });

  test.each(servers)('of %s: no file that is changed is taken for one that is read', (server) => {
    const edited = reviewed(server).filter((one) => one.endsWith(': edit'));
    const asRead = suggested(toolsOf(server)).filter((one) => / in(?: as .*)?$/.test(one));
    expect(edited.map(named).filter((one) => asRead.map(named).includes(one))).toEqual([]);
  });

  test.each(servers)('of %s: every reviewed argument exists', (server) => {
    const names = new Set(toolsOf(server).map(({ name }) => name));
    expect(reviewed(server).filter((one) => !names.has(one.split(' ')[0] ?? ''))).toEqual([]);
  });
});

const text = (description = ''): object => ({ type: 'string', description });
const tool = (name: string, properties: object, more: object = {}): ListedTool => ({
  name,
  inputSchema: { type: 'object', properties, ...more },
});
const hinted = (one: ListedTool, readOnlyHint: boolean): ListedTool => ({ ...one, annotations: { readOnlyHint } });

describe('one argument', () => {
  test.each<[string, ListedTool, string[]]>([
    ['readOnlyHint decides between in and edit', hinted(tool('sheet_trick', { path: text() }), true), ['in']],
    ['readOnlyHint: false', hinted(tool('sheet_trick', { path: text() }), false), ['edit']],
    ['nothing is known: the safer one', tool('sheet_trick', { path: text() }), ['edit']],
    ['a screenshot', tool('take_screenshot', { path: text() }), ['out']],
    ['what creates a document', tool('create_word_document', { filename: text() }), ['out']],
    ['what creates a part of one', tool('create_chart', { filename: text() }), ['edit']],
    ['a picture that goes into it', tool('add_picture', { filename: text(), image_path: text() }), ['edit', 'in']],
    ['a picture that is changed', tool('rotate_image', { image_path: text() }), ['edit']],
    ['an optional output', tool('fix', { filename: text(), output_filename: text() }), ['in', 'out']],
    ['a folder to write to', tool('split_pdf', { pdf_path: text(), output_dir: text() }), ['in', 'out_dir']],
    ['a folder to list', tool('list_documents', { directory: text() }), []],
    ['a list of paths', tool('read_files', { file_paths: { type: 'array', items: text() } }), ['in']],
    ['a reading word before a writing one', tool('find_and_replace', { path: text() }), ['edit']],
    ['the path of a cookie', tool('set', { path: text('Cookie path') }), []],
    ['a pattern', tool('read', { file_pattern: text() }), []],
    ['a number', tool('read', { path: { type: 'integer' } }), []],
    ['one of some words', tool('read', { path: { type: 'string', enum: ['a'] } }), []],
    ['a URL', tool('read', { url: text('URL of a page') }), []],
    ['a range of cells', tool('create_chart', { source: text("Data, e.g. 'A1:C13'") }), []],
  ])('%s', (_, one, roles) => {
    expect(suggestRoles([one]).suggestions.map(({ role }) => role)).toEqual(roles);
  });

  test('goes by no word that all tools begin with', () => {
    const tools = [tool('pdf_fix', { path: text() }), tool('pdf_read', { path: text() })];
    expect(suggested(tools)).toEqual(['pdf_fix path: edit', 'pdf_read path: in']);
  });

  test('says as which URI it goes to the tool', () => {
    const one = tool('convert', { uri: text('A http: or file: URI') });
    expect(suggested([one])).toEqual(['convert uri: in as file_uri']);
  });

  test('may be nested, optional, and defined elsewhere', () => {
    const $defs = { Source: { type: 'object', properties: { path: { anyOf: [text(), { type: 'null' }] } } } };
    const sources = { type: 'array', items: { $ref: '#/$defs/Source' } };
    const options = { type: 'object', properties: { outputPath: { type: ['string', 'null'] } } };
    expect(suggested([tool('read', { sources, options }, { $defs })])).toEqual([
      'read sources[].path: in',
      'read options.outputPath: out',
    ]);
  });

  test('ends in schemas that lead to themselves', () => {
    const $defs = { Node: { type: 'object', properties: { path: text(), next: { $ref: '#/$defs/Node' } } } };
    const found = suggested([tool('read', { node: { $ref: '#/$defs/Node' } }, { $defs })]);
    expect(found[0]).toBe('read node.path: in');
    expect(found.length).toBeLessThan(10);
  });

  test.each([undefined, null, 5, 'x', [], { properties: 5 }, { properties: { path: null } }, { properties: [1] }])(
    'is none in the schema %j',
    (inputSchema) => {
      expect(suggestRoles([{ name: 'read', inputSchema }])).toEqual({ suggestions: [], leftOut: [] });
    },
  );
});

test.each([null, 5, {}, { name: 5 }, { name: ' ' }])('%j is no tool', (value) => {
  expect(listedTool(value)).toBeUndefined();
});
