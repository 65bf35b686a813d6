import { describe, expect, test } from 'vitest';

import { ToolMetadataSanitization } from '../../crds/config/core.ts';
import { sanitizeTool } from './sanitization.ts';
import { dialectTool, everyKeyword } from './testing/schema-keywords.ts';

const rules = (own: Partial<ToolMetadataSanitization> = {}): ToolMetadataSanitization => ({
  ...ToolMetadataSanitization.parse({}),
  ...own,
});

describe('sanitising a definition', () => {
  test('treats its texts and leaves all else byte for byte', () => {
    const tool = (bad: string): string =>
      `{ "name":"t\u200B","title":"T${bad}",\r\n "description" : "D${bad}","annotations":{"title":"A${bad}","x":"\u200B"},"inputSchema":{"default":"\u200B","maximum":9007199254740993,"title":"S${bad}","properties":{"\u200B":{"description":"P${bad}"}}},"_meta":{"title":"\u200B"}}`;
    expect(sanitizeTool(tool('\u200B'), rules())).toEqual({
      text: tool(''),
      modified: [
        'name',
        'title',
        'description',
        'annotations.title',
        'inputSchema.title',
        String.raw`inputSchema.properties.\u{200b}.description`,
      ],
    });
  });

  test('does nothing in mode off, and the same in block as in sanitize', () => {
    const tool = '{"name":"t","description":"D\u200B"}';
    expect(sanitizeTool(tool, rules({ mode: 'off' }))).toEqual({ text: tool, modified: [] });
    expect(sanitizeTool(tool, rules({ mode: 'block' }))).toEqual(sanitizeTool(tool, rules({ mode: 'sanitize' })));
  });

  test('gives the same string back when there is nothing to do', () => {
    const tool = String.raw`{"name":"t","description":"D \"q\" \\u\n\u0041 ä 😀","inputSchema":{"title":7}}`;
    expect(sanitizeTool(tool, rules())).toEqual({ text: tool, modified: [] });
  });

  test('has a cap for each kind of text', () => {
    const long = 'x'.repeat(3000);
    const tool = JSON.stringify({
      name: 't',
      title: long,
      description: long,
      annotations: { title: long },
      inputSchema: { title: long, description: long },
      outputSchema: { description: long },
    });
    const lengths = (own: Partial<ToolMetadataSanitization>): unknown[] => {
      const out = JSON.parse(sanitizeTool(tool, rules(own)).text) as Record<'title' | 'description', string> &
        Record<'annotations' | 'inputSchema' | 'outputSchema', Record<string, string>>;
      return [
        ...[out.title, out.annotations['title'], out.description].map((text) => text?.length),
        ...[out.inputSchema['title'], out.inputSchema['description'], out.outputSchema['description']].map(
          (text) => text?.length,
        ),
      ];
    };
    expect(lengths({})).toEqual([256, 256, 2000, 1000, 1000, 1000]);
    expect(lengths({ max_tool_title_chars: null })).toEqual([3000, 3000, 2000, 1000, 1000, 1000]);
    expect(lengths({ max_tool_description_chars: null })).toEqual([256, 256, 3000, 1000, 1000, 1000]);
    expect(lengths({ max_schema_text_chars: null })).toEqual([256, 256, 2000, 3000, 3000, 3000]);
    expect(lengths({ max_tool_title_chars: 5, max_tool_description_chars: 6, max_schema_text_chars: 7 })).toEqual([
      5, 5, 6, 7, 7, 7,
    ]);
  });

  test.each([
    ['x', 'x'],
    [String.raw`\n`, String.raw`\n`],
    [String.raw`\u0078`, 'x'],
    ['\u{1F600}', '\u{1F600}'],
  ])('counts characters, not what they are written with: %s', (one, other) => {
    const tool = (text: string): string => `{"name":"t","title":"${text}"}`;
    expect(sanitizeTool(tool(one.repeat(256)), rules()).text).toBe(tool(one.repeat(256)));
    expect(sanitizeTool(tool(one.repeat(257)), rules()).text).toBe(tool(`${other.repeat(253)}...`));
  });

  test.each([
    ['n'.repeat(128), {}, []],
    ['n'.repeat(129), {}, ['name']],
    ['n'.repeat(129), { remove_invisible_characters: false }, ['name']],
    ['n\u200B', {}, ['name']],
    ['n\n', {}, ['name']],
    ['n\u200B', { remove_invisible_characters: false }, []],
    ['n\uFF21', {}, []],
  ])('leaves the name %j, and says when it is bad', (name, own, modified) => {
    const tool = JSON.stringify({ name, description: 'D' });
    expect(sanitizeTool(tool, rules(own))).toEqual({ text: tool, modified });
  });

  test('names at most 20 places', () => {
    const anyOf = Array.from({ length: 50 }, () => ({ title: 'T\u200B' }));
    const { modified } = sanitizeTool(JSON.stringify({ name: 't', inputSchema: { anyOf } }), rules());
    expect(modified).toHaveLength(21);
    expect(modified.slice(-2)).toEqual(['inputSchema.anyOf.19.title', 'and 30 more']);
  });
});

describe('keywords of JSON Schema 2020-12', () => {
  test('of the tool of the conformance suite survive', () => {
    expect(sanitizeTool(dialectTool, rules())).toEqual({ text: dialectTool, modified: [] });
  });

  test('survive all, and what stands in them as data', () => {
    const { text, modified } = sanitizeTool(everyKeyword('\u200B'), rules());
    expect(text).toBe(everyKeyword(''));
    expect(modified).not.toEqual([]);
  });
});
