import { stringEnd } from '../../lib/json/json-string.ts';
import { hash } from 'node:crypto';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
  valueEnd,
} from '../exchange/scanning/json-scan.ts';
import { SCHEMAS_BY_NAME } from './schema-keywords.ts';

/**
 * What a value is, as far as it decides what counts in it: a text for people and models, a JSON Schema, named schemas
 * (the value of `properties`), a tool's `_meta`, what FastMCP writes there, data that is compared as it is, and others.
 */
export type Meaning = 'text' | 'schema' | 'schemas' | 'meta' | 'fastmcp' | 'other' | 'data';

/** `earlier`: as sessions were pinned before the order of an `enum` counted, and numbers by their value. */
export type Form = 'current' | 'earlier';

interface Container {
  readonly isObject: boolean;
  readonly meaning: Meaning;
  /** An array in which the order says nothing. */
  readonly isSet: boolean;
  /** The key that was read, and whose value comes next. */
  key: string | undefined;
  readonly keys: string[];
  readonly values: string[];
}

/** Longer ones are replaced by their hash, so that the work grows with the text and not with its depth. */
const MAX_CONTAINER_CHARS = 256;

const TEXTS: ReadonlySet<string> = new Set(['title', 'description']);
const SETS_OF_SCHEMAS: ReadonlySet<string> = new Set(['required', 'type', 'tags']);
const MAPS_OF_SCHEMAS: ReadonlySet<string> = new Set(SCHEMAS_BY_NAME);
const DATA_IN_SCHEMAS: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

/**
 * One text for all ways to write the same JSON value, which begins at or after `at` in text that JSON.parse accepts.
 * The order of members means nothing, but that of two members of one key does, because parsers differ on which counts.
 * Sets (`required` and `type` of schemas, `tags`) are sorted. Integers are compared by all of their digits, other numbers by
 * the double that they are, strings by their characters; texts without the blanks at the ends of lines and with LF for
 * CRLF. FastMCP's own members of `_meta` are left out. Without recursion: any depth will do.
 */
export function canonicalJson(json: string, at: number, meaning: Meaning, form: Form = 'current'): string {
  const open: Container[] = [];
  for (let i = skipSpace(json, at); i < json.length; i = skipSpace(json, i)) {
    const parent = open.at(-1);
    const c = json.charCodeAt(i);
    if (c === COMMA || c === COLON) {
      i++;
      continue;
    }
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      open.push(container(c === OPEN_OBJECT, parent, meaning, form));
      i++;
      continue;
    }
    let value: string;
    if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
      i++;
      const closed = open.pop();
      if (closed === undefined) break;
      value = written(closed);
    } else {
      const end = c === QUOTE ? stringEnd(json, i) : valueEnd(json, i);
      const token = json.slice(i, end);
      i = end;
      if (c === QUOTE && parent?.isObject === true && parent.key === undefined) {
        parent.key = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
        continue;
      }
      if (c !== QUOTE) value = form === 'earlier' ? exactNumber(token) : canonicalNumber(token);
      else value = meaningIn(parent, meaning) === 'text' ? canonicalText(token) : canonicalString(token);
    }
    const home = open.at(-1);
    if (home === undefined) return value;
    home.keys.push(home.key ?? '');
    home.values.push(value);
    home.key = undefined;
  }
  return json.slice(at);
}

function container(isObject: boolean, parent: Container | undefined, root: Meaning, form: Form): Container {
  const meaning = meaningIn(parent, root);
  const isSet = !isObject && parent?.key !== undefined && isSetIn(parent.meaning, parent.key, form);
  // Where a text should stand, anything else is just data.
  const own = meaning === 'text' || isSet ? 'data' : meaning;
  return { isObject, meaning: own, isSet, key: undefined, keys: [], values: [] };
}

/** What the next value is. */
function meaningIn(parent: Container | undefined, root: Meaning): Meaning {
  if (parent === undefined) return root;
  const { meaning, key } = parent;
  if (key === undefined || meaning === 'data') return meaning;
  if (meaning === 'schemas') return 'schema';
  if (meaning === 'schema' && DATA_IN_SCHEMAS.has(key)) return 'data';
  if (meaning === 'schema' && MAPS_OF_SCHEMAS.has(key)) return 'schemas';
  if (meaning === 'meta' && isFastMcp(key)) return 'fastmcp';
  if (TEXTS.has(key)) return 'text';
  return meaning === 'schema' ? 'schema' : 'other';
}

function isSetIn(meaning: Meaning, key: string, form: Form): boolean {
  if (meaning === 'schema') return SETS_OF_SCHEMAS.has(key) || (form === 'earlier' && key === 'enum');
  return key === 'tags' && meaning !== 'schemas' && meaning !== 'data';
}

const isFastMcp = (key: string): boolean => key === 'fastmcp' || key === '_fastmcp';

function written({ isObject, isSet, meaning, keys, values }: Container): string {
  let text: string;
  if (isObject) {
    const members = keys
      .map((key, i) => ({ key, value: values[i] ?? '' }))
      .filter(({ key, value }) => counts(meaning, key, value))
      // Stable: members of the same key stay in their order.
      .sort((a, b) => compare(a.key, b.key));
    text = `{${members.map(({ key, value }) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
  } else {
    text = `[${(isSet ? values.sort(compare) : values).join(',')}]`;
  }
  return text.length <= MAX_CONTAINER_CHARS ? text : `#${hash('sha256', text, 'base64url')}`;
}

/** What FastMCP notes for itself changes without a change of the tool. */
function counts(meaning: Meaning, key: string, value: string): boolean {
  if (meaning === 'fastmcp') return !key.startsWith('_');
  return !(meaning === 'meta' && isFastMcp(key) && value === '{}');
}

/** By code units: the same on every machine. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A string as JSON.stringify writes it. */
function canonicalString(token: string): string {
  return token.includes('\\') || !token.isWellFormed() ? JSON.stringify(JSON.parse(token)) : token;
}

function canonicalText(token: string): string {
  // Line ends and tabs are always escaped.
  if (!token.includes('\\') && token.at(-2) !== ' ') return canonicalString(token);
  const lines = (JSON.parse(token) as string).replaceAll('\r\n', '\n').split('\n');
  return JSON.stringify(lines.map(withoutTrailingBlanks).join('\n'));
}

/** A regular expression would take quadratic time for blanks that do not stand at the end. */
function withoutTrailingBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--;
  return line.slice(0, end);
}

/** Parsers read what is no integer as a double, but some keep all digits of an integer. */
function canonicalNumber(token: string): string {
  const exact = exactNumber(token);
  return exact.includes('e-') ? exactNumber(String(Number(token))) : exact;
}

/** `<digits>e<exponent>` without zeros at either end, so that 1, 1.0 and 10e-1 are one number; other tokens as they are. */
export function exactNumber(token: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const digits = whole + fraction;
  if (digits === '') return token;
  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === '0') start++;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return '0';
  const exponent = Number(power) - fraction.length + digits.length - end;
  return Number.isSafeInteger(exponent) ? `${sign}${digits.slice(start, end)}e${exponent}` : token;
}
