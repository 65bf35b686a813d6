import { describe, expect, test } from 'vitest';

import { ToolMetadataSanitization } from '../../crds/config/adapter-file/core.ts';
import { sanitizeDefinition } from './sanitization.ts';
import { dialectTool, everyKeyword } from './testing/schema-keywords.ts';

const rules = (own: Partial<ToolMetadataSanitization> = {}): ToolMetadataSanitization => ({
  ...ToolMetadataSanitization.parse({}),
  ...own,
});

describe('sanitising a definition', () => {
  test('treats its texts and leaves all else byte for byte', () => {
    const tool = (bad: string): string =>
      `{ "name":"t\uFF21","title":"T${bad}",\r\n "description" : "D${bad}","annotations":{"title":"A${bad}","x":"\uFF21"},"inputSchema":{"default":"\uFF21","maximum":9007199254740993,"title":"S${bad}","properties":{"\uFF21":{"description":"P${bad}"}}},"_meta":{"title":"\uFF21"}}`;
    expect(sanitizeDefinition(tool('\u200B'), rules())).toEqual({
      text: tool(''),
      modified: [
        'title',
        'description',
        'annotations.title',
        'inputSchema.title',
        'inputSchema.properties.\uFF21.description',
      ],
      isUnfit: false,
    });
  });

  test('T10: takes out data that nobody sees first, and names all places with escapes', () => {
    const tool = '{"name":"t","title":"T\u200B","inputSchema":{"x\u200B":1}}';
    expect(sanitizeDefinition(tool, rules())).toEqual({
      text: '{"name":"t","title":"T","inputSchema":{}}',
      modified: [String.raw`inputSchema.x\u{200b}`, 'title'],
      isUnfit: false,
    });
    const unseen = { text: tool, modified: [], isUnfit: false };
    expect(sanitizeDefinition(tool, rules({ remove_invisible_characters: false }))).toEqual(unseen);
  });

  test('T10: treats prompts, resources, templates and greetings, without limits', () => {
    const long = 'x'.repeat(3000);
    const clean = (kind: 'prompt' | 'resource' | 'template' | 'greeting', json: unknown): unknown => {
      const { text, isUnfit } = sanitizeDefinition(JSON.stringify(json), rules(), kind);
      return [JSON.parse(text), isUnfit];
    };
    const bad = { title: `T\u200B${long}`, description: `D\u200B${long}` };
    const good = { title: `T${long}`, description: `D${long}` };
    expect(clean('prompt', { name: 'p', ...bad, arguments: [{ name: 'a', ...bad }] })).toEqual([
      { name: 'p', ...good, arguments: [{ name: 'a', ...good }] },
      false,
    ]);
    expect(clean('prompt', { name: 'p\u200B' })).toEqual([{ name: 'p\u200B' }, true]);
    expect(clean('prompt', { name: 'p', arguments: [{ name: 'a\u200B' }] })).toMatchObject([{}, true]);
    for (const [kind, uri] of [
      ['resource', 'uri'],
      ['template', 'uriTemplate'],
    ] as const) {
      const named = { [uri]: `a:${long}`, name: 'n', ...good };
      expect(clean(kind, { ...named, name: 'n\u200B', ...bad })).toEqual([named, false]);
      expect(clean(kind, { [uri]: 'a:\u200B', name: 'n' })).toMatchObject([{}, true]);
    }
    expect(
      clean('greeting', {
        protocolVersion: '2025-06-18',
        capabilities: { 'x\u200B': {} },
        serverInfo: { name: 's\u200B', version: '1\u200B', ...bad },
        instructions: `I\u200B${long}`,
      }),
    ).toEqual([
      {
        protocolVersion: '2025-06-18',
        capabilities: { 'x\u200B': {} },
        serverInfo: { name: 's', version: '1', ...good },
        instructions: `I${long}`,
      },
      false,
    ]);
  });

  test('does nothing in mode off, and the same in block as in sanitize', () => {
    const tool = '{"name":"t","description":"D\u200B"}';
    expect(sanitizeDefinition(tool, rules({ mode: 'off' }))).toEqual({ text: tool, modified: [], isUnfit: false });
    expect(sanitizeDefinition(tool, rules({ mode: 'block' }))).toEqual(
      sanitizeDefinition(tool, rules({ mode: 'sanitize' })),
    );
  });

  test('gives the same string back when there is nothing to do', () => {
    const tool = String.raw`{"name":"t","description":"D \"q\" \\u\n\u0041 ä 😀","inputSchema":{"title":7}}`;
    expect(sanitizeDefinition(tool, rules())).toEqual({ text: tool, modified: [], isUnfit: false });
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
      const out = JSON.parse(sanitizeDefinition(tool, rules(own)).text) as Record<'title' | 'description', string> &
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
    expect(sanitizeDefinition(tool(one.repeat(256)), rules()).text).toBe(tool(one.repeat(256)));
    expect(sanitizeDefinition(tool(one.repeat(257)), rules()).text).toBe(tool(`${other.repeat(253)}...`));
  });

  test.each([
    ['n'.repeat(128), {}, []],
    ['n'.repeat(129), {}, ['name']],
    ['n'.repeat(129), { remove_invisible_characters: false }, ['name']],
    ['n\u200B', {}, ['name'], true],
    ['n\n', {}, ['name'], true],
    ['n\u200B', { remove_invisible_characters: false }, []],
    ['n\uFF21', {}, []],
  ])('leaves the name %j, and says when it is bad', (name, own, modified, isUnfit = false) => {
    const tool = JSON.stringify({ name, description: 'D' });
    expect(sanitizeDefinition(tool, rules(own))).toEqual({ text: tool, modified, isUnfit });
  });

  test('names at most 20 places', () => {
    const anyOf = Array.from({ length: 50 }, () => ({ title: 'T\u200B' }));
    const { modified } = sanitizeDefinition(JSON.stringify({ name: 't', inputSchema: { anyOf } }), rules());
    expect(modified).toHaveLength(21);
    expect(modified.slice(-2)).toEqual(['inputSchema.anyOf.19.title', 'and 30 more']);
  });
});

describe('keywords of JSON Schema 2020-12', () => {
  test('of the tool of the conformance suite survive', () => {
    expect(sanitizeDefinition(dialectTool, rules())).toEqual({ text: dialectTool, modified: [], isUnfit: false });
  });

  test('survive all, and what stands in them as data', () => {
    const { text, modified } = sanitizeDefinition(everyKeyword('\u200B'), rules());
    expect(text).toBe(everyKeyword(''));
    expect(modified).not.toEqual([]);
  });
});
