import { describe, expect, test } from 'vitest';

import { withoutUnseen } from './unseen-data.ts';

const of = (definition: string): [string, boolean, readonly string[]] => {
  const { text, isUnfit, places } = withoutUnseen(definition, 'tool');
  return [text, isUnfit, places];
};
const schema = (json: string): string => `{"name":"t","inputSchema":{${json}}}`;

describe('T10: data that holds what nobody sees', () => {
  test.each([
    ['enum', schema('"enum":["a", "b\u200B" ,"c"]'), schema('"enum":["a", "c"]')],
    ['enum', schema('"enum":["a","b\\u200b"]'), schema('"enum":["a"]')],
    ['enum', schema('"enum":["\u{E0041}","b","\\u0008"]'), schema('"enum":["b"]')],
    ['examples', schema('"examples":[1,{"a":"\u202E"}]'), schema('"examples":[1]')],
    ['examples', schema('"a":1,"examples":["\u202E"]'), schema('"a":1')],
    ['default', schema('"default":"\u2060","minimum":1.0'), schema('"minimum":1.0')],
    ['pattern', schema('"type":"string","pattern":"[\u200B]"'), schema('"type":"string"')],
    ['x-of-somebody', schema('"type":"string","x-of-somebody":{"a":["\u00AD"]}'), schema('"type":"string"')],
  ])('is taken out of %s, and nothing else', (key, given, left) => {
    expect(of(given)).toEqual([left, false, [`inputSchema.${key}`]]);
  });

  test('is taken out of icons, of _meta, of annotations, and of members that are not known', () => {
    expect(
      of(
        '{"icons":[{"src":"a"},{"src":"\u200B"}],"_meta":{"a":1,"b\u200B":2},"annotations":{"readOnlyHint":true,"x":"\u200B"},' +
          '"descri\u200Bption":"Do","name":"t"}',
      ),
    ).toEqual([
      '{"icons":[{"src":"a"}],"_meta":{"a":1},"annotations":{"readOnlyHint":true},"name":"t"}',
      false,
      ['icons', '_meta.b\u200B', 'annotations.x', 'descri\u200Bption'],
    ]);
  });

  test.each([
    ['an enum of nothing else', '"enum":["\u200B"]'],
    ['a constant', '"oneOf":[{"const":"a\u200B"}]'],
    ['the name of a property', '"properties":{"a\\u200b":{}}'],
    ['the name of a definition', '"$defs":{"\u200B":true}'],
    ['a required property', '"required":["a\u200B"]'],
    ['a reference', '"$ref":"#/$defs/\u200B"'],
    ['a list of properties', '"dependencies":{"a":["b\u200B"]}'],
  ])('makes a definition unfit in %s, and stays', (_, json) => {
    expect(of(schema(json)).slice(0, 2)).toEqual([schema(json), true]);
  });

  test.each([
    ['tabs and line ends', String.raw`"enum":["\t","\n","\r\n"]`],
    ['emoji, flags and keycaps', '"enum":["\u{1F469}\u200D\u{1F4BB}","\u2764\uFE0F","1\uFE0F\u20E3"]'],
    ['Persian and Hindi', '"enum":["\u0645\u06CC\u200C\u062E","\u0915\u094D\u200D"]'],
    ['the written form of an escape', String.raw`"pattern":"^[^\\u200b\\\\b]*$","description":"\\u200b"`],
    ['compatibility forms', '"enum":["\uFF21"],"default":"\u2460"'],
  ])('is none of: %s', (_, json) => {
    expect(of(schema(json))).toEqual([schema(json), false, []]);
  });
});
