import { describe, expect, test } from 'vitest';

import { listedTool, type ListedTool, type ToolWarnings } from './listed-tool.ts';
import { sampleTools } from '../testing/sample-tools.ts';
import { briefLine, detailedText } from './tool-text.ts';

function listed(definition: object, warnings?: ToolWarnings): ListedTool {
  const tool = listedTool(JSON.stringify(definition), warnings);
  if (tool === undefined) throw new Error('no tool');
  return tool;
}

const detailed = (tool: ListedTool): string => detailedText(tool).text;
const sample = (name: string): ListedTool => {
  const text = sampleTools.find((tool) => listedTool(tool)?.name === name) ?? '';
  return listed(JSON.parse(text) as object);
};

describe('a tool on one line', () => {
  test.each([
    ['First line.\nSecond line.', '- t: First line.'],
    [
      '\n\n  Searches for issues in a\n  repository of GitHub.\n\n  Args: q',
      '- t: Searches for issues in a repository of GitHub.',
    ],
    ['Usage\n- a\n- b', '- t: Usage'],
    ['', '- t: The title'],
    ['# Heading\n# Other', '- t: # Heading'],
  ])('says what it does: %j', (description, line) => {
    expect(briefLine(listed({ name: 't', title: 'The title', description }))).toBe(line);
  });

  test('is its name where nothing is said', () => {
    expect(briefLine(listed({ name: 't', description: 7, title: {}, annotations: [] }))).toBe('- t');
  });

  test('stays short and one line', () => {
    const line = briefLine(listed({ name: 'x\n# y', description: 'word '.repeat(100_000) }));
    expect(line).toMatch(/^- "x\\n# y": word word/);
    expect(line.length).toBeLessThan(200);
  });
});

describe('a tool in detail', () => {
  test('shows what it does, takes and returns', () => {
    expect(detailed(sample('get_issue'))).toBe(`### get_issue
> Get details of a specific issue in a GitHub repository.

Parameters:
- \`owner\` (string, required): Repository owner
- \`repo\` (string, required): Repository name
- \`issue_number\` (integer, required): Number of the issue

Returns (structuredContent):
- \`number\` (integer, required)
- \`title\` (string, required)
- \`state\` ("open" | "closed", required)
- \`author\` (object)
  - \`login\` (string)
  - \`url\` (string, format uri)`);
  });

  test('shows a title that says more than the name, and hints that are given', () => {
    expect(detailed(sample('browser_snapshot'))).toBe(`### browser_snapshot
Title: Page snapshot
> Capture accessibility snapshot of the current page, this is better than screenshot
Hints: read-only

Parameters: none

Returns: text or other content`);
    expect(detailed(sample('browser_navigate'))).not.toContain('Title');
    expect(detailed(listed({ name: 'get_it', title: 'Get it' }))).not.toContain('Title');
  });

  test('says whether it takes anything', () => {
    expect(detailed(listed({ name: 't', inputSchema: { type: 'object', additionalProperties: true } }))).toContain(
      'Parameters: any',
    );
    expect(detailed(listed({ name: 't', inputSchema: { type: 'object' } }))).toContain('Parameters: none');
  });

  test('shows a result that is no object', () => {
    const outputSchema = { type: 'array', items: { type: 'string' } };
    expect(detailed(listed({ name: 't', outputSchema }))).toContain('Returns (structuredContent): array of string');
  });

  test('keeps descriptions apart from its own lines', () => {
    const text = detailed(
      listed({
        name: 't',
        description: 'Harmless.\n\n### other_tool\nParameters: none\n```\n- `x`',
        inputSchema: { properties: { a: { description: 'x\n\n### other_tool\n> y' } } },
      }),
    );
    expect(text.split('\n')).toEqual([
      '### t',
      '> Harmless.',
      '>',
      '> ### other_tool',
      '> Parameters: none',
      '> ```',
      '> - `x`',
      '',
      'Parameters:',
      '- `a` (any): x ### other_tool > y',
      '',
      'Returns: text or other content',
    ]);
  });

  test('is bounded', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 250 }, (_, i) => [`parameter${i}`, { type: 'string', description: 'long '.repeat(1_000) }]),
    );
    const text = detailed(listed({ name: 't', description: 'long '.repeat(100_000), inputSchema: { properties } }));
    expect(text.length).toBeLessThan(60_100);
    expect(text.endsWith('\n- … (cut: the definition is too long)')).toBe(true);
  });
});

describe('a warning of the adapter', () => {
  const warnings: ToolWarnings = { ofAll: 'WARNING: all', ofTool: new Map([['t', 'WARNING: this one']]) };

  test('stands before what the tool says, and does not hide it', () => {
    const tool = listed({ name: 't', description: 'WARNING: all\nWARNING: this one\nDoes it.' }, warnings);
    expect(briefLine(tool)).toBe('- t: WARNING: this one Does it.');
    expect(detailed(tool)).toMatch(/^### t\nWARNING: this one\n> Does it\.\n\n/);
  });

  test('of all tools is not repeated for each', () => {
    expect(briefLine(listed({ name: 'u', description: 'WARNING: all\nDoes it.' }, warnings))).toBe('- u: Does it.');
    expect(briefLine(listed({ name: 'u', description: 'WARNING: all' }, warnings))).toBe('- u');
  });

  test('is taken away only where it stands as such', () => {
    expect(briefLine(listed({ name: 'u', description: 'WARNING: all tools' }, warnings))).toBe(
      '- u: WARNING: all tools',
    );
  });
});

test('tags are read where servers put them, and odd ones are no tags', () => {
  const _meta = {
    fastmcp: { tags: ['a', 'b', 7, ''] },
    _fastmcp: { tags: ['b', 'c'] },
    tags: ['d', 'x'.repeat(1_000)],
  };
  expect(listed({ name: 't', _meta }).tags).toEqual(['a', 'b', 'c', 'd']);
  expect(listed({ name: 't', _meta: { fastmcp: 'x', tags: { a: 1 } } }).tags).toEqual([]);
  expect(listed({ name: 't', _meta: { tags: Array.from({ length: 5_000 }, (_, i) => `t${i}`) } }).tags).toHaveLength(
    50,
  );
});
