import type { ServerLists } from '../server-lists.ts';
import { SEARCH, sampleServer } from './sample-server.ts';
import { type Spelling, writeJson } from './write-json.ts';

type Lists = () => ServerLists;
type Row = readonly [name: string, lists: Lists];

const withTool =
  (text: string): Lists =>
  () =>
    sampleServer({ tools: sampleServer().tools.map((tool, i) => (i === 0 ? text : tool)) });

const spelled = (name: string, spelling: Spelling): Row => [name, withTool(writeJson(SEARCH, spelling))];

const reversed = (keys: readonly string[]): readonly string[] => keys.toReversed();
const only =
  (level: number): Spelling['order'] =>
  (keys, depth) =>
    depth === level ? reversed(keys) : keys;
const sorted =
  (by: (key: string) => string | number): Spelling['order'] =>
  (keys) =>
    keys.toSorted((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
const backwards = (text: string): string => Array.from(text).toReversed().join('');
const KNOWN = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons', '_meta'];

const hex = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, '0');
const SURROGATE = /[\uD800-\uDFFF]/;
/** A string with the code units that match written by their numbers. */
const escaped =
  (
    units: RegExp,
    digits = (four: string): string => four,
    where: 'all' | 'keys' | 'values' = 'all',
  ): Spelling['string'] =>
  (text, isKey) => {
    if (where !== 'all' && isKey !== (where === 'keys')) return JSON.stringify(text);
    const written = Array.from({ length: text.length }, (_, i) => text.charAt(i)).map((unit) => {
      if (units.test(unit)) return `\\u${digits(hex(unit))}`;
      return SURROGATE.test(unit) ? unit : JSON.stringify(unit).slice(1, -1);
    });
    return `"${written.join('')}"`;
  };
const upper = (four: string): string => four.toUpperCase();

/** One number of the tool, wherever it stands. */
const number = (value: number, way: string): Row =>
  spelled(`${value} as ${way}`, { number: (one) => (Object.is(one, value) ? way : String(one)) });

/** What changes the text of a server's lists and means the same: 60 and more. */
export const HARMLESS: readonly Row[] = [
  ['the order of the tools', () => sampleServer({ tools: sampleServer().tools.toReversed() })],
  spelled('the order of all members', { order: reversed }),
  ...Array.from({ length: 6 }, (_, level) => spelled(`the order of members at depth ${level}`, { order: only(level) })),
  spelled('members by their names', { order: sorted((key) => key) }),
  spelled('members by their names backwards', { order: sorted(backwards) }),
  spelled('members by their lengths', { order: sorted((key) => key.length) }),
  spelled('members one further', { order: (keys) => [...keys.slice(1), ...keys.slice(0, 1)] }),
  spelled('unknown members first', { order: sorted((key) => (KNOWN.includes(key) ? 1 : 0)) }),
  spelled('unknown members last', { order: sorted((key) => (KNOWN.includes(key) ? 0 : 1)) }),
  spelled('the order of unknown members', {
    order: (keys, depth) => [
      ...keys.filter((key) => KNOWN.includes(key) || depth > 0),
      ...(depth > 0 ? [] : ['x-vendor', 'execution']),
    ],
  }),
  spelled('the name last', { order: sorted((key) => (key === 'name' ? 1 : 0)) }),

  ...[2, 4, '\t'].map((indent): Row => [
    `indentation by ${JSON.stringify(indent)}`,
    withTool(JSON.stringify(SEARCH, undefined, indent)),
  ]),
  spelled('a blank between all tokens', { space: ' ' }),
  spelled('a tab between all tokens', { space: '\t' }),
  spelled('a line feed between all tokens', { space: '\n' }),
  spelled('a carriage return between all tokens', { space: '\r' }),
  spelled('CRLF between all tokens', { space: '\r\n' }),
  spelled('many blanks between all tokens', { space: ' '.repeat(50) }),
  ['indentation with CRLF', withTool(JSON.stringify(SEARCH, undefined, 2).replaceAll('\n', '\r\n'))],
  ['white space around it', withTool(`\n \t${JSON.stringify(SEARCH)}\r\n`)],
  ['a blank behind colons', withTool(JSON.stringify(SEARCH, undefined, 1).replaceAll(/\n */g, ''))],

  spelled('all characters by numbers', { string: escaped(/[^]/) }),
  spelled('all characters by numbers with capitals', { string: escaped(/[^]/, upper) }),
  spelled('all of the keys by numbers', { string: escaped(/[^]/, undefined, 'keys') }),
  spelled('all of the texts by numbers', { string: escaped(/[^]/, undefined, 'values') }),
  spelled('all beyond ASCII by numbers', { string: escaped(/[^\0-\u007E]/) }),
  spelled('all beyond ASCII by numbers with capitals', { string: escaped(/[^\0-\u007E]/, upper) }),
  spelled('halves of a pair by numbers', { string: escaped(/[\uD800-\uDFFF]/) }),
  spelled('what HTML escapes, by numbers', { string: escaped(/[<>&'\u2028\u2029]/) }),
  spelled('line feeds by numbers', { string: escaped(/\n/) }),
  spelled('tabs by numbers', { string: escaped(/\t/) }),
  spelled('\\b, \\f and \\r by numbers', { string: escaped(/[\b\f\r]/) }),
  spelled('quotes by numbers', { string: escaped(/"/) }),
  spelled('backslashes by numbers', { string: escaped(/\\/) }),
  spelled('slashes by numbers', { string: escaped(/\//) }),
  spelled('DEL by its number', { string: escaped(/\u007f/) }),
  spelled('dollars by numbers', { string: escaped(/\$/) }),
  spelled('underscores by numbers', { string: escaped(/_/) }),
  spelled('vowels by numbers', { string: escaped(/[aeiou]/) }),
  spelled('slashes behind a backslash', { string: (text) => JSON.stringify(text).replaceAll('/', '\\/') }),

  number(1, '1.0'),
  number(1, '1.000000000000000000000000'),
  number(1, '1e0'),
  number(1, '1E-0'),
  number(1, '10e-1'),
  number(100, '1e2'),
  number(100, '1.0E+2'),
  number(0, '-0'),
  number(0, '0.0'),
  number(0, '0e9'),
  number(0.5, '0.50'),
  number(0.5, '5e-1'),
  number(-3, '-3.0'),
  number(2, '0.2e1'),
  number(1e-7, '0.0000001'),
  number(1e-7, '1E-07'),
  number(1e21, '1000000000000000000000'),
  number(1e21, '1E21'),
  number(9_007_199_254_740_991, '9007199254740991.0'),
  number(9_007_199_254_740_991, '9.007199254740991e15'),
  spelled('all of it at once', {
    order: reversed,
    space: '\r\n\t ',
    string: escaped(/[aeiou/]/, upper),
    number: (value) => (Number.isSafeInteger(value) ? `${value}.0e+0` : String(value)),
  }),
];
