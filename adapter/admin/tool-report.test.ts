import { expect, test } from 'vitest';
import type { LockRules } from '../lock/locked-list.ts';
import { catalog } from '../catalog/catalog.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { makeLock } from '../lock/make-lock.ts';
import { toolReport } from './tool-report.ts';

const listing = (...names: string[]): string =>
  JSON.stringify({
    tools: names.map((name) => ({ name, description: `does ${name}`, inputSchema: { type: 'object' } })),
  });
const plain = { disabled: disabledTools(['b']) };
const rules = (lock?: LockRules, parts: object = {}) => ({
  catalog: catalog({ ...plain, ...parts }),
  hidesUnseen: true,
  access: undefined,
  lock,
});
const seen = (...args: Parameters<typeof toolReport>) =>
  toolReport(...args).map((tool) => `${tool.name} ${tool.seen}${tool.why === undefined ? '' : ` (${tool.why})`}`);

test('each hidden tool has its reason', () => {
  const unfit = (text: string) => ({ text: text.includes('"c"') ? undefined : text, modified: ['description'] });
  expect(
    seen(
      listing('a', 'b', 'c', 'd\u200B', 'own'),
      rules(undefined, { clean: unfit, own: [{ name: 'own', definition: '{}' }] }),
    ),
  ).toEqual([
    'a listed',
    'b hidden (disabled_tools)',
    'c hidden (tool_metadata_sanitization: its text is not fit for a model (description))',
    'd\\u{200b} hidden (tool_metadata_sanitization: its name has invisible characters)',
    'own hidden (a tool of the adapter has this name)',
    'own listed',
  ]);
});

test('in code mode tools are found, not listed', () => {
  const instead = [{ name: 'up_search', definition: '{}' }];
  expect(seen(listing('a'), rules(undefined, { instead }))).toEqual([
    'a found (code_mode_enabled: listed are the tools that find it)',
    'up_search listed',
  ]);
});

test.each<[LockRules['mode'], string[]]>([
  [
    'enforce',
    [
      'a listed',
      'x hidden (tool lock: differs in description)',
      'n hidden (tool lock: it does not name the tool)',
      'gone hidden (tool lock: the server does not list it)',
    ],
  ],
  [
    'audit',
    [
      'a listed',
      'x listed (tool lock: differs in description (audit))',
      'n listed',
      'gone hidden (tool lock: the server does not list it)',
    ],
  ],
])('a lock in mode %s', (mode, expected) => {
  const definition = (name: string, description = `does ${name}`): string =>
    JSON.stringify({ name, description, inputSchema: { type: 'object' } });
  const tools = [definition('a'), definition('x', 'did x'), definition('gone')];
  const { lock: server } = makeLock({ tools, prompts: [], resourceTemplates: [], instructions: undefined });
  const lock = { key: '1', mode, newTools: 'hide', server } as const;
  expect(seen(listing('a', 'x', 'n'), rules(lock))).toEqual(expected);
});
