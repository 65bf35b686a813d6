import { describe, expect, test } from 'vitest';

import { ToolDescriptionPolicy } from '../../crds/config/adapter-file/core.ts';
import { seededRandom } from '../exchange/testing/generate-json.ts';
import { applyDescriptionPolicy } from './description-policy.ts';
import { generateTool } from './testing/generate-tool.ts';
import { outline } from './testing/outline.ts';
import { dialectTool, everyKeyword } from './testing/schema-keywords.ts';
import { definitionTexts } from './definition-texts.ts';

const policy = (own: Partial<ToolDescriptionPolicy>): ToolDescriptionPolicy => ({
  ...ToolDescriptionPolicy.parse({}),
  ...own,
});
const strip = (tool: string): string => applyDescriptionPolicy(tool, policy({ mode: 'strip' }));

describe('descriptions', () => {
  const tool = (ofTool: string, ofSchema: string): string =>
    `{"name":"t","title":"${'T'.repeat(300)}" , "description" : "${ofTool}","inputSchema":{"maximum":9007199254740993,"title":"${'S'.repeat(300)}","properties":{"a":{"description":"${ofSchema}"}},"default":{"description":"${'d'.repeat(300)}"}}}`;
  const long = tool('x'.repeat(281), 'y'.repeat(281));

  test('are preserved', () => {
    expect(applyDescriptionPolicy(long, policy({ mode: 'preserve' }))).toBe(long);
  });

  test('are cut where they are longer than their cap, and nothing else is', () => {
    const cut = (own: Partial<ToolDescriptionPolicy>): string =>
      applyDescriptionPolicy(long, policy({ mode: 'truncate', ...own }));
    const [x, y] = [`${'x'.repeat(277)}...`, `${'y'.repeat(277)}...`];
    expect(cut({})).toBe(tool(x, y));
    expect(cut({ max_tool_description_chars: 281 })).toBe(tool('x'.repeat(281), y));
    expect(cut({ max_tool_description_chars: null })).toBe(tool('x'.repeat(281), y));
    expect(cut({ max_schema_description_chars: null })).toBe(tool(x, 'y'.repeat(281)));
    expect(cut({ max_tool_description_chars: 2, max_schema_description_chars: 5 })).toBe(tool('xx', 'yy...'));
    const short = tool('\\u0041'.repeat(280), 'y');
    expect(applyDescriptionPolicy(short, policy({ mode: 'truncate' }))).toBe(short);
  });

  test.each([
    ['{"name":"t","description":"D"}', '{"name":"t"}'],
    ['{"description":"D","name":"t"}', '{"name":"t"}'],
    ['{ "a" : 1 , "description" : "D" , "b" : 2 }', '{ "a" : 1 , "b" : 2 }'],
    ['{ "a" : 1 ,\n "description" : "D"\n}', '{ "a" : 1 \n}'],
    ['{"description":"D"}', '{}'],
    ['{"description":"D","description":"E"}', '{}'],
    ['{"a":1,"description":"D","description":"E","description":"F"}', '{"a":1}'],
    ['{"description":"D","description":"E","a":1}', '{"a":1}'],
    ['{"description":"D","a":1,"description":"E"}', '{"a":1}'],
    ['{"description":"D","a":1,"description":"E","b":2,"description":"F"}', '{"a":1,"b":2}'],
    ['{"description":7,"Description":null,"a":{"description":"A"}}', '{"a":{"description":"A"}}'],
    ['{"description":{"description":"D"},"title":"T"}', '{"title":"T"}'],
    [
      '{"inputSchema":{"properties":{"a":{"description":"D"},"description":{"description":"E","type":"string"}},"description":"F"}}',
      '{"inputSchema":{"properties":{"a":{},"description":{"type":"string"}}}}',
    ],
  ])('are stripped from %s', (tool, expected) => {
    expect(strip(tool)).toBe(expected);
  });

  test('are stripped from everywhere, and titles and data stay', () => {
    expect(strip(everyKeyword(''))).toBe(everyKeyword('').replaceAll(/, ?"description":"D"/g, ''));
    expect(strip(dialectTool)).toBe(dialectTool.replace('"description":"Tool with JSON Schema 2020-12 features",', ''));
  });

  test('are stripped from any definition, and it stays what it was', () => {
    const random = seededRandom(5);
    for (let round = 0; round < 1000; round++) {
      const tool = generateTool(random);
      const stripped = strip(tool);
      expect(outline(stripped).rest, tool).toBe(outline(tool).rest);
      expect(definitionTexts(stripped, 'tool').filter(({ key }) => key === 'description')).toEqual([]);
    }
  });

  test('leave keywords of JSON Schema 2020-12 alone when they are cut', () => {
    for (const tool of [dialectTool, everyKeyword('')]) {
      expect(applyDescriptionPolicy(tool, policy({ mode: 'truncate' }))).toBe(tool);
    }
  });
});
