import { expect, test } from 'vitest';

import { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { serverChecks } from './server-checks.ts';

const upstream = { url: 'http://127.0.0.1:9/mcp' };
const other = { id: 'other', mount_path: '/other', upstream };
const configOf = (server: Record<string, unknown>): AdapterConfig =>
  AdapterConfig.parse({
    core: { auth: { enabled: true, token: 't' } },
    servers: [other, { id: 'up', mount_path: '/up', upstream, ...server }],
  });
const text = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});
const checks = (server: Record<string, unknown>, tools: readonly unknown[]) =>
  serverChecks(configOf(server), 1, JSON.stringify({ tools }));

test('entries without a tool and arguments that it does not have are problems, with their place in the file', () => {
  const adapters = [
    { type: 'files', tools: ['sheet_*', 'shee_*'], arguments: { path: 'edit', pth: 'in' } },
    { type: 'upload_consumer', tools: ['raed'], file_path_argument: 'file' },
  ];
  const { tools, problems, warnings } = checks({ adapters }, [
    { name: 'sheet_read', inputSchema: text('path') },
    { name: 'sheet_write', inputSchema: text('path') },
    { name: 7 },
    null,
  ]);
  expect([tools, warnings]).toEqual([2, []]);
  expect(problems).toEqual([
    'servers[1].adapters[0]: the server has no tool "shee_*"',
    'servers[1].adapters[0]: none of its tools has an argument "pth"',
    'servers[1].adapters[1]: the server has no tool "raed"',
  ]);
});

test('all problems are told, however many there are', () => {
  const adapters = [{ type: 'files', tools: Array.from({ length: 70 }, (_, i) => `t${i}`) }];
  expect(checks({ adapters }, []).problems).toHaveLength(70);
});

test('other names that no tool fits may be meant so; those of own tools are known', () => {
  const { problems, warnings } = checks(
    {
      disabled_tools: ['read', 'delete_.*', 'up_get_upload_url', '(?=x)'],
      results: { tools: { 'sheet*': { spill_over_chars: 9 }, 're*': { spill_over_chars: 9 }, 'a.b': {} } },
      access: {
        rules: [
          { effect: 'allow', principals: ['*'] },
          { effect: 'deny', tools: ['read', 'up_read_artifact', 'up_execute', 'drop*'] },
        ],
      },
      profile: 'excel',
    },
    [{ name: 'read', inputSchema: text() }],
  );
  expect(problems).toEqual([]);
  expect(warnings).toEqual([
    'servers[1].disabled_tools[1] hides nothing: no tool of the server fits "delete_.*"',
    'servers[1].results.tools["sheet*"] changes nothing: no tool of the server fits "sheet*"',
    'servers[1].results.tools["a.b"] changes nothing: no tool of the server fits "a.b"',
    'servers[1].access.rules[1].tools[3] decides nothing: no tool of the server fits "drop*"',
    'servers[1].profile changes nothing: the server has none of the tools of excel',
  ]);
});

test('a profile fits with some of its tools, and an entry does nothing for tools that are hidden', () => {
  const tools = [
    { name: 'find_cells', inputSchema: text('path') },
    { name: 'hidden', inputSchema: text('path') },
  ];
  const adapters = [
    { type: 'files', tools: ['hidden'], arguments: { path: 'in' } },
    { type: 'files', tools: ['*'], arguments: { path: 'in' } },
  ];
  expect(checks({ profile: 'excel', disabled_tools: ['hidden'], adapters }, tools)).toMatchObject({
    problems: [],
    warnings: ['servers[1].adapters[0] changes nothing: disabled_tools hides all of its tools'],
  });
});

test('files that no entry has are told, but not of hidden tools, nor what is only a guess', () => {
  const tools = [
    { name: 'read_report', inputSchema: text('path', 'title') },
    { name: 'read_hidden', inputSchema: text('path') },
    { name: 'read_sheet', inputSchema: text('path') },
    { name: 'read_nested', inputSchema: { type: 'object', properties: { a: text('path') } } },
    { name: 'take_screenshot', inputSchema: text('filename') },
    { name: 'check_report', inputSchema: text('path'), annotations: { readOnlyHint: false } },
  ];
  const without = (...adapters: unknown[]) =>
    checks({ adapters, disabled_tools: ['read_hidden'] }, tools).filesWithoutRule.map(
      ({ tool, argument }) => `${tool} ${argument}`,
    );
  const report = { type: 'upload_consumer', tools: ['read_report'], file_path_argument: 'path' };
  const sheet = { type: 'files', tools: ['read_sh*'], arguments: { path: 'in' } };
  expect(without()).toEqual(['read_report path', 'read_sheet path', 'read_nested a.path', 'take_screenshot filename']);
  expect(without(report, sheet)).toEqual(['read_nested a.path', 'take_screenshot filename']);
  const nested = { type: 'files', tools: ['read_nested'], arguments: { 'a.path': 'in' } };
  const shot = { type: 'artifact_producer', tools: ['take_screenshot'] };
  expect(without(report, sheet, nested, shot)).toEqual([]);
});

test('of a list that no people have made only a part is searched for files', () => {
  const entry = { $ref: '#/$defs/a' };
  const properties = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`p${i}`, entry]));
  const endless = { type: 'object', properties, $defs: { a: { type: 'object', properties } } };
  const many = [endless, ...Array.from({ length: 600 }, () => text('path'))];
  const tools = many.map((inputSchema, i) => ({ name: `${i % 2 === 0 ? 'read' : 'get'}_report_${i}`, inputSchema }));
  expect(checks({}, tools).filesWithoutRule.map(({ tool }) => tool)).toEqual(
    tools.slice(1, 500).map(({ name }) => name),
  );
  const wide = text(...Array.from({ length: 200 }, (_, i) => `path_${i}`));
  const wideTools = Array.from({ length: 10 }, (_, i) => ({
    name: `${i % 2 === 0 ? 'read' : 'get'}_${i}`,
    inputSchema: wide,
  }));
  expect(checks({}, wideTools).filesWithoutRule).toHaveLength(6 * 200);
});
