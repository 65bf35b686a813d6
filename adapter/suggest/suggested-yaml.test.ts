import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import { parse } from 'yaml';

import { FileTools } from '../../crds/config/adapter-file/entry.ts';
import type { ListedTool } from './listed-tool.ts';
import { suggestRoles } from './suggest-roles.ts';
import { suggestedYaml } from './suggested-yaml.ts';

const FOLDER = join(import.meta.dirname, 'testdata');

const tool = (name: string, names: readonly string[], readOnlyHint?: boolean): ListedTool => ({
  name,
  inputSchema: { type: 'object', properties: Object.fromEntries(names.map((one) => [one, { type: 'string' }])) },
  annotations: { readOnlyHint },
});

const shown = (...tools: ListedTool[]): string => suggestedYaml(suggestRoles(tools), ['Suggested.']);

test('one entry for tools with the same roles, with reasons', () => {
  const text = shown(
    tool('read_range', ['path'], true),
    tool('write_range', ['path']),
    tool('read_vba', ['path'], true),
    tool('read_cell', ['path'], false),
    tool('list_files', ['directory']),
  );
  expect(text).toBe(`# Suggested.
# Left out:
# - list_files, directory: the tool looks for files in a folder (many-files)

adapters:
  - type: files
    tools:
      - read_range # read-only-hint
      - read_vba # read-only-hint
      - read_cell # unsure: path: the tool says of itself that it may change something (readOnlyHint: false) (reading-verb)
    arguments:
      path: in # read-only-hint: the tool says that it changes nothing (readOnlyHint); reading-verb: the tool reads by its name
  - type: files
    tools:
      - write_range # writes
    arguments:
      path: edit # edit: the tool changes the file; writes: the tool changes something, and this is its file
`);
});

test('no tools with files', () => {
  expect(parse(shown())).toEqual({ adapters: [] });
});

test.each(globSync('*.json', { cwd: FOLDER }))('the configuration takes what is suggested for %s', (file) => {
  const tools = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as ListedTool[];
  const suggested = suggestRoles(tools);
  const { adapters } = parse(suggestedYaml(suggested, [])) as { adapters: unknown[] };
  const entries = adapters.map((entry) => FileTools.parse(entry));
  const back = entries.flatMap((entry) =>
    entry.tools.flatMap((name) => Object.entries(entry.arguments).map(([key, { role }]) => `${name} ${key} ${role}`)),
  );
  const given = suggested.suggestions.map((one) => `${one.tool} ${one.argument} ${one.role}`);
  expect(back.toSorted()).toEqual(given.toSorted());
});

test('names of a server end neither a comment nor a line', () => {
  const name = 'read\n  evil: true #\u001B[2J\u202E"';
  const text = shown(tool(name, ['path']), tool('list_files\nadapters: x', ['path']));
  expect(['\u001B', '\u202E'].filter((character) => text.includes(character))).toEqual([]);
  expect(parse(text)).toEqual({ adapters: [{ type: 'files', tools: [name], arguments: { path: 'in' } }] });
});
