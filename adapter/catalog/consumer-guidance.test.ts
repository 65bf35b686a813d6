import { describe, expect, test } from 'vitest';

import { guidanceOf, type GuidanceOptions, summaryOf, withGuidance } from './consumer-guidance.ts';

const options: GuidanceOptions = {
  path: ['a', 'b'],
  uriScheme: 'upload://',
  helper: 's_get_upload_url',
  summaryWords: null,
};
const guidance = guidanceOf(options);
const said = JSON.stringify(guidance).slice(1, -1);

describe('the definition of a tool that takes uploads', () => {
  test('says how at the tool and at the argument, and is else as it was', () => {
    const tool = (description: string, argument: string): string =>
      `{"name":"t", "title" : "T","description":${description},"inputSchema":{"type":"object","properties":{"a":{"type":"array","items":{"properties":{"b":{"type":"string", "x-mcp-file":{"maxSize":1e400},"description" : ${argument}},"c":{"description":"no"}},"required":["b"]}}}},"outputSchema":{"description":"no"},"annotations":{"title":"no"},"_meta":{"n":12345678901234567890}}`;
    expect(withGuidance(tool('"Sends\\n  a file."', '"Its path."'), options)).toBe(
      tool(`"Sends\\n  a file.\\n\\n${said}"`, `"Its path.\\n\\n${said}"`),
    );
  });

  test('gets descriptions where there were none', () => {
    const text = '{"name":"t","inputSchema":{"properties":{"a":{},"z":{}}}}';
    expect(JSON.parse(withGuidance(text, { ...options, path: ['a'] }))).toEqual({
      name: 't',
      description: guidanceOf({ ...options, path: ['a'] }),
      inputSchema: { properties: { a: { description: guidanceOf({ ...options, path: ['a'] }) }, z: {} } },
    });
  });

  test.each([
    ['{"name":"t","inputSchema":{"properties":{"z":{}}}}', (schema: object) => ({ ...schema, description: guidance })],
    [
      '{"name":"t","inputSchema":{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"b":{}}}}}}',
      (schema: object) => ({ ...schema, properties: { a: { $ref: '#/$defs/A', description: guidance } } }),
    ],
    ['{"name":"t","inputSchema":{"properties":{"a":true}}}', (schema: object) => schema],
  ])('says it as near to the argument as its schema reaches: %s', (text, expected) => {
    const { inputSchema } = JSON.parse(text) as { inputSchema: object };
    expect(JSON.parse(withGuidance(text, options))).toMatchObject({ inputSchema: expected(inputSchema) });
  });

  test.each(['{"name":"t"}', '{"name":"t","inputSchema":null}', '{"description":7,"name":"t","inputSchema":[]}'])(
    'may be strange: %s',
    (text) => {
      const shown = JSON.parse(withGuidance(text, options)) as object;
      expect(shown).toEqual({ ...(JSON.parse(text) as object), description: guidance });
    },
  );

  test('names the scheme, the argument and the tool that tells where to upload', () => {
    for (const part of ['`a.b`', 'upload://', '`s_get_upload_url`']) expect(guidance).toContain(part);
    expect(guidanceOf({ ...options, helper: undefined })).not.toContain('s_get_upload_url');
  });

  test('keeps no more than a summary if it shall', () => {
    const text = '{"name":"t","description":"Sends one file to a page. Then waits."}';
    const short = (summaryWords: number): string =>
      (JSON.parse(withGuidance(text, { ...options, summaryWords })) as { description: string }).description;
    expect(short(16)).toBe(`Sends one file to a page.\n\n${guidance}`);
    expect(short(3)).toBe(`Sends one file...\n\n${guidance}`);
  });
});

test.each([
  ['One. Two.', 9, 'One.'],
  ['One\n  two\tthree', 9, 'One two three'],
  ['Takes files, e.g. images. Then more', 9, 'Takes files, e.g. images.'],
  ['Version 1.5 of it! More', 9, 'Version 1.5 of it!'],
  ['A title\n\nAnd a text.', 9, 'A title'],
  ['one two three', 2, 'one two...'],
  ['one two', 2, 'one two'],
  ['', 5, ''],
])('the summary of %j in %i words is %j', (text, words, expected) => {
  expect(summaryOf(text, words)).toBe(expected);
});
