import { describe, expect, test } from 'vitest';

import { decodeHeader } from '../exchange/sessionless-headers.ts';
import { encodeHeader, withParameters } from './parameter-headers.ts';

describe('the headers of a call whose arguments were changed', () => {
  const declared = [
    { header: 'mcp-param-file', path: ['a', 'file'] },
    { header: 'mcp-param-n', path: ['n'] },
  ];

  test('repeat what goes upstream', () => {
    const headers = [
      'accept',
      'x',
      'Mcp-Param-File',
      'upload://old',
      'mcp-param-n',
      '9007199254740993',
      'mcp-param-x',
      'y',
    ];
    const args = { a: { file: '/data/é' }, n: 9007199254740992 };
    expect(withParameters(headers, declared, args)).toEqual([
      'accept',
      'x',
      'mcp-param-n',
      '9007199254740993',
      'mcp-param-x',
      'y',
      'mcp-param-file',
      `=?base64?${Buffer.from('/data/é').toString('base64')}?=`,
    ]);
  });

  test('gain one for an argument that was added', () => {
    expect(withParameters([], declared, { a: { file: '/x' } })).toEqual(['mcp-param-file', '/x']);
    expect(withParameters(['k', 'v'], declared, undefined)).toEqual(['k', 'v']);
    expect(withParameters(['k', 'v'], [], { a: { file: '/x' } })).toEqual(['k', 'v']);
  });
});

test.each(['/a b/c', 'x', '', ' x', 'x ', 'é', 'a\nb', '=?base64?eA==?=', '\u{1F600}'])(
  '%j can be read again',
  (value) => {
    const header = encodeHeader(value);
    expect(header).toMatch(/^[\x20-\x7e]*$/);
    expect(header.trim()).toBe(header);
    expect(decodeHeader(header)).toBe(value);
  },
);
