import { dottedPath } from '../../crds/config/load/problem.ts';
import { stringEnd } from '../../lib/json/json-string.ts';
import { compare, exactNumber } from '../catalog/canonical-json.ts';
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

/**
 * The RFC 8785 text of a JSON value; or why it has none that says all that the value says, as words for people, with
 * the upstream's words in them.
 */
export type Canonical = { readonly text: string } | { readonly why: string };

interface Container {
  readonly isObject: boolean;
  /** The key that was read, and whose value comes next. */
  key: string | undefined;
  /** The same as it is written. */
  keyText: string;
  /** Of the members so far, in their order; none in an array. */
  readonly keys: string[];
  /** The canonical texts of the elements, or of the members with their keys. */
  readonly parts: string[];
  /** Whether each key so far is greater than the one before it. */
  isSorted: boolean;
}

/** Most integers, which stand there as RFC 8785 writes them: a double holds 15 digits. */
const PLAIN_INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;
/** Up to here a sort whose time grows with the square is the quicker one. */
const FEW_MEMBERS = 24;
const MAX_TOKEN_CHARS = 40;

/**
 * RFC 8785 of the value that begins at or after `at` in text that JSON.parse accepts: members in the order of their
 * keys' UTF-16 code units (3.2.3), numbers and strings as ECMAScript writes them (3.2.2), no white space.
 *
 * The RFC takes I-JSON (RFC 7493) and would make one text of values that parsers tell apart. Those have none here:
 * - an object with a member twice, of which parsers take the first or the last;
 * - a string or key with half of a surrogate pair, which is no Unicode text;
 * - a number that is another decimal number than the shortest form of its double, which parsers with more digits tell
 *   from it: 9007199254740993, 0.1000000000000000000001, 1e400. `1.0`, `10e-1` and `1` are one number, and so are `-0`
 *   and `0`, as in the RFC.
 *
 * Without recursion: any depth will do. Containers are put together from ropes, so the time grows with the text and not
 * with its depth.
 */
export function canonical(json: string, at = 0): Canonical {
  const open: Container[] = [];
  for (let i = skipSpace(json, at); i < json.length; i = skipSpace(json, i)) {
    const home = open.at(-1);
    const c = json.charCodeAt(i);
    if (c === COMMA || c === COLON) {
      i++;
      continue;
    }
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      open.push({ isObject: c === OPEN_OBJECT, key: undefined, keyText: '', keys: [], parts: [], isSorted: true });
      i++;
      continue;
    }
    let value: string | undefined;
    if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
      i++;
      const closed = open.pop();
      if (closed === undefined) break;
      const twice = closed.isSorted ? undefined : sortedMembers(closed);
      if (twice !== undefined) return problem(open, `has the member ${shortened(JSON.stringify(twice))} twice`);
      value = written(closed);
    } else {
      const end = c === QUOTE ? stringEnd(json, i) : valueEnd(json, i);
      const token = json.slice(i, end);
      i = end;
      if (c === QUOTE && home?.isObject === true && home.key === undefined) {
        const isPlain = !token.includes('\\');
        const key = isPlain ? token.slice(1, -1) : (JSON.parse(token) as string);
        if (!key.isWellFormed()) return problem(open, 'has half of a surrogate pair in a key');
        const before = home.keys.at(-1);
        if (before !== undefined && before >= key) home.isSorted = false;
        home.keys.push(key);
        home.key = key;
        home.keyText = isPlain ? token : JSON.stringify(key);
        continue;
      }
      value = c === QUOTE ? canonicalString(token) : canonicalNumber(token);
      if (value === undefined) {
        const what =
          c === QUOTE
            ? 'has half of a surrogate pair'
            : `is ${shortened(token)}, which is not the shortest form of a double`;
        return problem(open, what);
      }
    }
    const parent = open.at(-1);
    if (parent === undefined) return { text: value };
    parent.parts.push(parent.isObject ? `${parent.keyText}:${value}` : value);
    parent.key = undefined;
  }
  return { why: 'is not JSON' };
}

/** Brings the members into their order. Returns a key that there is twice. */
function sortedMembers({ keys, parts }: Container): string | undefined {
  if (keys.length > FEW_MEMBERS) {
    const members = keys.map((key, i) => ({ key, part: parts[i] ?? '' })).sort((a, b) => compare(a.key, b.key));
    for (const [i, { key, part }] of members.entries()) {
      keys[i] = key;
      parts[i] = part;
    }
  } else insertionSort(keys, parts);
  return keys.find((key, i) => i > 0 && keys[i - 1] === key);
}

/** Makes nothing that the collector would have to take away: most objects are small, and there are many. */
function insertionSort(keys: string[], parts: string[]): void {
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] ?? '';
    const part = parts[i] ?? '';
    let at = i;
    for (; at > 0; at--) {
      const before = keys[at - 1] ?? '';
      if (before <= key) break;
      keys[at] = before;
      parts[at] = parts[at - 1] ?? '';
    }
    keys[at] = key;
    parts[at] = part;
  }
}

function written({ isObject, parts }: Container): string {
  let text = isObject ? '{' : '[';
  let isFirst = true;
  for (const part of parts) {
    text += isFirst ? part : `,${part}`;
    isFirst = false;
  }
  return text + (isObject ? '}' : ']');
}

/** Undefined for what is no Unicode text. ECMAScript escapes as RFC 8785 does; without a backslash nothing is escaped. */
function canonicalString(token: string): string | undefined {
  if (!token.includes('\\')) return token.isWellFormed() ? token : undefined;
  const text = JSON.parse(token) as string;
  return text.isWellFormed() ? JSON.stringify(text) : undefined;
}

/** Also of `true`, `false` and `null`. Undefined for a number that is not exactly the shortest form of its double. */
function canonicalNumber(token: string): string | undefined {
  if (PLAIN_INTEGER.test(token) || token === 'true' || token === 'false' || token === 'null') return token;
  const shortest = String(Number(token));
  return shortest === token || exactNumber(shortest) === exactNumber(token) ? shortest : undefined;
}

function problem(open: readonly Container[], what: string): Canonical {
  const path = open
    .map(({ isObject, key, parts }) => (isObject ? key : parts.length))
    .filter((one) => one !== undefined);
  return { why: path.length === 0 ? what : `${dottedPath(path)} ${what}` };
}

const shortened = (token: string): string =>
  token.length <= MAX_TOKEN_CHARS ? token : `${token.slice(0, MAX_TOKEN_CHARS)}…`;
