import { describe, expect, test } from 'vitest';

import { ToolDefinitionPinning, ToolMetadataSanitization } from '../../crds/config/adapter-file/core.ts';
import type { CleaningEvent } from '../catalog/tool-cleaning.ts';
import { type FirstSeen, ServerTexts } from './server-texts.ts';
import { sampleCaches } from '../testing/sample-caches.ts';

interface Setup {
  readonly texts: ServerTexts;
  readonly first: FirstSeen;
  readonly cleaned: [string, CleaningEvent][];
  readonly drifts: string[];
}

function setup(
  sanitization: 'off' | 'sanitize' | 'block' = 'sanitize',
  pinning: 'off' | 'warn' | 'block' = 'off',
): Setup {
  const cleaned: [string, CleaningEvent][] = [];
  const drifts: string[] = [];
  const kept = new Map<string, string>();
  return {
    texts: new ServerTexts({
      caches: sampleCaches(),
      sanitization: ToolMetadataSanitization.parse({ mode: sanitization }),
      pinning: ToolDefinitionPinning.parse({ mode: pinning }),
      onCleaned: (event, kind) => cleaned.push([kind, event]),
      onDrift: (preview) => drifts.push(preview),
    }),
    first: {
      find: async (part) => kept.get(part),
      keep: async (part, text) => kept.get(part) ?? (kept.set(part, text), text),
    },
    cleaned,
    drifts,
  };
}

describe('T10: prompts, resources and templates', () => {
  test('are clean, and what cannot be cleaned is hidden and told once', async () => {
    const { texts, cleaned } = setup();
    const prompts = '{"prompts":[{"name":"a","description":"D\u200B", "x":1.0},{"name":"b\u200B"}],"nextCursor":"n"}';
    const shown = '{"prompts":[{"name":"a","description":"D", "x":1.0}],"nextCursor":"n"}';
    expect(await texts.shown('prompt', prompts, undefined)).toBe(shown);
    expect(await texts.shown('prompt', prompts, undefined)).toBe(shown);
    expect(cleaned).toEqual([
      ['prompt', { tools: 1, first: [{ name: String.raw`b\u{200b}`, fields: ['name'] }], blocked: true }],
      ['prompt', { tools: 1, first: [{ name: 'a', fields: ['description'] }], blocked: false }],
    ]);
    expect(
      await texts.shown('resource', '{"resources":[{"uri":"a:","name":"n\u200B"},{"uri":"b:\u200B"}]}', undefined),
    ).toBe('{"resources":[{"uri":"a:","name":"n"}]}');
    expect(
      await texts.shown('template', '{"resourceTemplates":[{"uriTemplate":"a:{x}","title":"T\u200B"}]}', undefined),
    ).toBe('{"resourceTemplates":[{"uriTemplate":"a:{x}","title":"T"}]}');
  });

  test.each(['{"prompts":[ {"name":"a"} , {"name":"\u00E4"}]}', '{"prompts":{}}', '{"prompts":null}', '{}', '[]'])(
    'stay byte for byte where nothing is wrong: %s',
    async (result) => expect(await setup().texts.shown('prompt', result, undefined)).toBe(result),
  );

  test('are left out where any of their text would have to change and the mode is block', async () => {
    const { texts, cleaned } = setup('block');
    const result = '{"prompts":[{"name":"a","description":"D\u200B"},{"name":"b"}]}';
    expect(await texts.shown('prompt', result, undefined)).toBe('{"prompts":[{"name":"b"}]}');
    expect(cleaned).toMatchObject([['prompt', { blocked: true }]]);
  });

  test('that are no objects, or nobody can name, are none', async () => {
    for (const mode of ['sanitize', 'off'] as const) {
      const { texts } = setup(mode);
      const result = '{"prompts":[null,1,[{"name":"x"}],"b",{"name":"a"},true,{},{"name":7}]}';
      expect(await texts.shown('prompt', result, undefined)).toBe('{"prompts":[{"name":"a"}]}');
    }
  });

  test('stay as they are with mode off', async () => {
    const { texts } = setup('off');
    const result = '{"prompts":[{"name":"a\u200B"}]}';
    expect(texts.any).toBe(false);
    expect(await texts.shown('prompt', result, undefined)).toBe(result);
  });
});

describe('T10: what a client saw first', () => {
  const prompts = (...all: [string, string][]): string =>
    JSON.stringify({ prompts: all.map(([name, description]) => ({ name, description })) });

  test('is compared with: changed and new prompts carry a warning', async () => {
    const { texts, first, drifts } = setup('sanitize', 'warn');
    const before = prompts(['a', 'A'], ['b', 'B']);
    expect(await texts.shown('prompt', before, first)).toBe(before);
    expect(await texts.shown('prompt', prompts(['b', 'B'], ['a', 'A']), first)).toBe(prompts(['b', 'B'], ['a', 'A']));
    const now = prompts(['a', 'Evil'], ['b', 'B'], ['c', 'C']);
    for (let i = 0; i < 2; i++) {
      const shown = JSON.parse(await texts.shown('prompt', now, first)) as { prompts: { description: string }[] };
      expect(shown.prompts.map(({ description }) => description)).toEqual([
        expect.stringMatching(/^WARNING: this prompt has changed .*\nEvil$/s),
        'B',
        expect.stringMatching(/^WARNING: this prompt is new.*\nC$/s),
      ]);
    }
    expect(drifts).toEqual(['prompts: changed=a, new=c']);
  });

  test('is all that is left with block', async () => {
    const { texts, first } = setup('sanitize', 'block');
    await texts.shown('prompt', prompts(['a', 'A'], ['b', 'B']), first);
    expect(await texts.shown('prompt', prompts(['a', 'Evil'], ['b', 'B'], ['c', 'C']), first)).toBe(
      prompts(['b', 'B']),
    );
  });

  test('counts for the arguments of a prompt', async () => {
    const { texts, first } = setup('sanitize', 'block');
    const of = (description: string): string =>
      JSON.stringify({ prompts: [{ name: 'a', arguments: [{ name: 'x', description }] }] });
    await texts.shown('prompt', of('X'), first);
    expect(await texts.shown('prompt', of('Y'), first)).toBe('{"prompts":[]}');
  });

  test('leaves new resources alone, and sizes and times of those that were there', async () => {
    const { texts, first } = setup('sanitize', 'block');
    const of = (...all: object[]): string => JSON.stringify({ resources: all });
    const a = { uri: 'a:', name: 'a', description: 'A', size: 1 };
    await texts.shown('resource', of(a), first);
    const more = of({ ...a, size: 2, annotations: { lastModified: '2026' } }, { uri: 'b:', name: 'b' });
    expect(await texts.shown('resource', more, first)).toBe(more);
    expect(await texts.shown('resource', of({ ...a, description: 'Evil' }, { uri: 'b:', name: 'b' }), first)).toBe(
      of({ uri: 'b:', name: 'b' }),
    );
  });
});

describe('T10: what a server says of itself', () => {
  const greeting = (instructions: string, name = 's'): string =>
    JSON.stringify({ capabilities: {}, serverInfo: { name, version: '1' }, instructions });

  test('is clean, and told once', async () => {
    const { texts, cleaned } = setup();
    for (let i = 0; i < 2; i++) {
      expect(await texts.greeting(greeting('Do\u200B it', 's\u200B'), undefined)).toBe(greeting('Do it'));
    }
    expect(cleaned).toMatchObject([
      ['greeting', { blocked: false, first: [{ fields: ['serverInfo.name', 'instructions'] }] }],
    ]);
    const modern = '{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s\u200B"},"x":"\u200B"}}';
    expect(await texts.greeting(modern, undefined)).toBe(
      '{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}',
    );
  });

  test('loses its instructions where they would have to change and the mode is block', async () => {
    const { texts } = setup('block');
    expect(await texts.greeting(greeting('Do\u200B it'), undefined)).not.toContain('instructions');
    expect(await texts.greeting(greeting('Do it', 's\u200B'), undefined)).toBe(greeting('Do it'));
  });

  test('is warned of when its instructions change, or loses them with block', async () => {
    const warn = setup('sanitize', 'warn');
    expect(await warn.texts.greeting(greeting('Do it'), warn.first)).toBe(greeting('Do it'));
    const shown = JSON.parse(await warn.texts.greeting(greeting('Evil'), warn.first)) as { instructions: string };
    expect(shown.instructions).toMatch(/^WARNING: .*changed.*\nEvil$/s);
    expect(warn.drifts).toEqual(['changed=instructions']);
    const block = setup('sanitize', 'block');
    await block.texts.greeting(greeting('Do it'), block.first);
    expect(await block.texts.greeting(greeting('Evil'), block.first)).toBe(
      '{"capabilities":{},"serverInfo":{"name":"s","version":"1"}}',
    );
    expect(await block.texts.greeting(greeting('Do it'), block.first)).toBe(greeting('Do it'));
  });
});
