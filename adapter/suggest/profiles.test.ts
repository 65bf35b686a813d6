import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { type FileArguments as Arguments, FileArguments } from '../../crds/config/adapter-file/file-rules.ts';
import {
  PROFILE_NAMES,
  PROFILES,
  profileEntries,
  type ProfileName,
} from '../../crds/config/adapter-file/profiles/profiles.ts';
import type { ListedTool } from './listed-tool.ts';
import { toolArguments } from './tool-arguments.ts';

const FOLDER = join(import.meta.dirname, 'testdata');
const PAGE = readFileSync(join(import.meta.dirname, '../../docs/adapter/profiles.md'), 'utf8');
const fileOf = (name: ProfileName, end: string): string => readFileSync(join(FOLDER, name + end), 'utf8');

const matches = (pattern: string, tool: string): boolean => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(tool);

/** What a profile says of a tool: of two entries that name the same argument the first counts. */
function rolesOf(name: ProfileName, tool: string): Arguments {
  const entries = profileEntries(name, '/data').filter(({ tools }) => tools.some((one) => matches(one, tool)));
  return Object.assign({}, ...entries.map((entry) => entry.arguments).toReversed()) as Arguments;
}

describe.each(PROFILE_NAMES)('the profile %s', (name) => {
  const tools = JSON.parse(fileOf(name, '.json')) as ListedTool[];
  const reviewed = parse(fileOf(name, '.roles.yaml')) as Record<string, unknown>;

  test('says of each tool what a reader of its tools says', () => {
    const wanted = tools.map((tool) => [tool.name, FileArguments.parse(reviewed[tool.name] ?? {})]);
    expect(tools.map((tool) => [tool.name, rolesOf(name, tool.name)])).toEqual(wanted);
  });

  test('names no tool and no argument that the server does not have', () => {
    for (const { tools: patterns, arguments: roles } of profileEntries(name, '/data')) {
      for (const pattern of patterns) {
        const matching = tools.filter((tool) => matches(pattern, tool.name));
        expect(matching.length, pattern).toBeGreaterThan(0);
        for (const tool of matching) {
          const paths = toolArguments(tool.inputSchema).map(({ path }) => path);
          expect(paths, tool.name).toEqual(expect.arrayContaining(Object.keys(roles)));
        }
      }
    }
  });

  test('was reviewed with the version of the fixture, which the page names', () => {
    expect(fileOf(name, '.roles.yaml')).toContain(`# ${PROFILES[name].reviewedWith} (`);
    expect(PAGE).toContain(`| \`${name}\` | ${PROFILES[name].reviewedWith} |`);
  });
});

describe('what Playwright writes on its own', () => {
  const found = profileEntries('playwright', '/data').flatMap((entry) => entry.found);
  const paths = (text: string): string[] =>
    found.flatMap(({ pattern, take }) => {
      const matcher = RE2JS.compile(pattern ?? '').matcher(text);
      const all: string[] = [];
      while (matcher.find()) all.push(`${take} ${matcher.group(1)}`);
      return all;
    });

  test('is found', () => {
    const text = [
      '### Result',
      '- [Screenshot of viewport](./page.png)',
      '### Page',
      '- Page URL: http://a/',
      '- Page Title: [x](secret.yml)',
      '### Snapshot',
      '- [Snapshot](storage/page-2026-01-31T10-00-00-000Z.yml)',
      '### Events',
      '- New console entries: storage/console-2026-01-31T10-00-00-000Z.log#L1-L4',
      '- Downloading file a b.csv ...',
      '- Downloaded file a b.csv to "storage/a b.csv"',
    ].join('\n');
    expect(paths(text)).toEqual([
      'move ./page.png',
      'move storage/page-2026-01-31T10-00-00-000Z.yml',
      'move storage/a b.csv',
      'copy storage/console-2026-01-31T10-00-00-000Z.log',
    ]);
  });

  test('is not what a page has in a line', () => {
    expect(paths('- Page Title: - [x](a.yml)\n"- [x](b.yml)"\n - [x](c.yml)\n- see [x](d.yml)')).toEqual([]);
  });
});
