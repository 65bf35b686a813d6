import { describe, expect, test } from 'vitest';

import { seededRandom } from '../exchange/testing/generate-json.ts';
import { cpuMillis } from './testing/cpu-millis.ts';
import { generateTool } from './testing/generate-tool.ts';
import { hostileShapes } from './testing/hostile-shapes.ts';
import { outline } from './testing/outline.ts';
import { definitionTexts } from './definition-texts.ts';

const pathsOf = (tool: string): string[] => definitionTexts(tool, 'tool').map(({ path }) => path);

describe('texts of a definition', () => {
  test('are those of the tool, its annotations and its schemas', () => {
    const tool =
      '{"name":"n","title":"t","description":"d","annotations":{"title":"a","readOnlyHint":true},"inputSchema":{"title":"s","properties":{"x":{"description":"e"}}},"outputSchema":{"anyOf":[true,{"title":"o"}]}}';
    expect(definitionTexts(tool, 'tool').map(({ of, key, start, end }) => [of, key, tool.slice(start, end)])).toEqual([
      ['tool', 'name', '"n"'],
      ['tool', 'title', '"t"'],
      ['tool', 'description', '"d"'],
      ['annotations', 'title', '"a"'],
      ['schema', 'title', '"s"'],
      ['schema', 'description', '"e"'],
      ['schema', 'title', '"o"'],
    ]);
    expect(pathsOf(tool)).toEqual([
      'name',
      'title',
      'description',
      'annotations.title',
      'inputSchema.title',
      'inputSchema.properties.x.description',
      'outputSchema.anyOf.1.title',
    ]);
    for (const { keyStart, key } of definitionTexts(tool, 'tool'))
      expect(tool.startsWith(`"${key}":`, keyStart)).toBe(true);
  });

  test('stand under every keyword that holds schemas', () => {
    const named = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'];
    const single = [
      'additionalProperties',
      'unevaluatedProperties',
      'propertyNames',
      'items',
      'additionalItems',
      'unevaluatedItems',
      'contains',
      'not',
      'if',
      'then',
      'else',
      'contentSchema',
    ];
    const lists = ['prefixItems', 'allOf', 'anyOf', 'oneOf'];
    expect(pathsOf(hostileShapes['every-place-of-a-schema'] ?? '')).toEqual([
      'name',
      ...named.map((keyword) => `inputSchema.${keyword}.a.description`),
      ...single.map((keyword) => `inputSchema.${keyword}.title`),
      ...lists.flatMap((keyword) => [`inputSchema.${keyword}.0.description`, `inputSchema.${keyword}.2.title`]),
    ]);
  });

  test('are not what is data', () => {
    expect(pathsOf(hostileShapes['keywords-that-hold-data'] ?? '')).toEqual(['name', 'annotations.title']);
    expect(pathsOf(hostileShapes['properties-named-like-keywords'] ?? '')).toEqual([
      'name',
      'inputSchema.properties.title.description',
      'inputSchema.properties.description.title',
      'inputSchema.properties.properties.properties.items.description',
      'inputSchema.properties.default.description',
      'inputSchema.properties.enum.title',
    ]);
  });

  test('are found as often as they are there, and in any case of letters', () => {
    expect(pathsOf('{"description":"a","Description":"b","d\\u0065scription":"c"}')).toEqual([
      'description',
      'Description',
      'description',
    ]);
    expect(pathsOf('{"INPUTSCHEMA":{"Properties":{"a":{"Title":"b"}}},"inputSchema":{"title":"c"}}')).toEqual([
      'INPUTSCHEMA.Properties.a.Title',
      'inputSchema.title',
    ]);
  });

  test('have paths of bounded length', () => {
    const deep = definitionTexts(`{"inputSchema":${'{"not":'.repeat(5000)}{"title":"a"}${'}'.repeat(5001)}`, 'tool');
    expect(deep).toHaveLength(1);
    expect(deep[0]?.path).toMatch(/^inputSchema\.not\.not.*…$/);
    expect(deep[0]?.path.length).toBeLessThan(400);
    const long = definitionTexts(`{"inputSchema":{"properties":{"${'p'.repeat(500)}":{"title":"a"}}}}`, 'tool');
    expect(long[0]?.path).toBe(`inputSchema.properties.${'p'.repeat(60)}….title`);
  });

  test('are those that parsing finds, in any definition', () => {
    const random = seededRandom(3);
    let count = 0;
    for (let round = 0; round < 1000; round++) {
      const tool = generateTool(random);
      const found = definitionTexts(tool, 'tool')
        .filter(({ key, start }) => key !== 'name' && tool.charAt(start) === '"')
        .map(({ start, end }) => JSON.parse(tool.slice(start, end)) as string);
      expect(found.sort(), tool).toEqual([...outline(tool).texts].sort());
      count += found.length;
    }
    expect(count).toBeGreaterThan(500);
  });

  test('are found in one pass, however deep', () => {
    const depth = 100_000;
    const tool = `{"inputSchema":${'{"not":'.repeat(depth)}{"title":"a"}${'}'.repeat(depth + 1)}`;
    expect(cpuMillis(200, () => definitionTexts(tool, 'tool'))).toBeLessThan(200);
    expect(definitionTexts(tool, 'tool')).toHaveLength(1);
  });

  test.each(['', 'null', '[]', '7', '"{}"', '{', '{"a"', '{"a":', '{"inputSchema":{', '{]', '{"description":}', '{7}'])(
    'are none in %j, and the search ends',
    (tool) => {
      expect(definitionTexts(tool, 'tool')).toEqual([]);
    },
  );
});
