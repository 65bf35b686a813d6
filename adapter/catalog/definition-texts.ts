import { stringEnd } from '../../lib/json/json-string.ts';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
  type Span,
  valueEnd,
} from '../exchange/scanning/json-scan.ts';
import { type DefinitionKind, type Meaning, meaningIn, type Role, type TextMeaning } from './text-meanings.ts';

/** A member of a definition that holds text for models; `start` and `end` are those of its value. */
export interface DefinitionText extends Span, TextMeaning {
  /** Where the member begins, its key included. */
  readonly keyStart: number;
  /** Such as `inputSchema.properties.a.description`, with the upstream's words in it; cut where it gets long. */
  readonly path: string;
}

/** What else stands in a definition. */
export interface DefinitionData extends Span {
  /**
   * `data`: a member, from its key on, without which the rest still means what it meant. `fixed`: data, or the name of a
   * schema, on which something else depends.
   */
  readonly what: 'data' | 'fixed';
  readonly key: string;
  /** Where the value begins. */
  readonly valueStart: number;
  readonly path: string;
}

/** An edit of `splice`. */
export type TextEdit = Span & { readonly with: string };

interface Level {
  readonly role: Role;
  readonly path: string;
  readonly outer: Level | undefined;
  /** Elements so far, in a list. */
  count: number;
}

const LONGEST_PATH = 300;
const LONGEST_KEY = 60;

/**
 * Where the texts of a definition (JSON text) stand, in their order: of a tool its name, its title and that of its
 * annotations, its description, and the titles and descriptions of its schemas and of all schemas in them. A member
 * that is there twice is found twice, and so is one whose name differs in case only: parsers differ in which they
 * read. Values may be other than strings. One pass without recursion, so depth costs nothing; `$ref` is not followed.
 *
 * @param onData told what stands beside them, in its order
 */
export function definitionTexts(
  definition: string,
  kind: DefinitionKind,
  onData?: (data: DefinitionData) => void,
): DefinitionText[] {
  const found: DefinitionText[] = [];
  let i = skipSpace(definition, 0);
  if (definition.charCodeAt(i) !== OPEN_OBJECT) return found;
  let level: Level | undefined = { role: kind, path: '', outer: undefined, count: 0 };
  i++;
  while (level !== undefined) {
    i = skipSpace(definition, i);
    const keyStart = i;
    const c = definition.charCodeAt(i);
    if (c === COMMA) {
      i++;
      continue;
    }
    if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
      level = level.outer;
      i++;
      continue;
    }
    let key: string;
    if (isList(level.role)) key = String(level.count++);
    else {
      if (c !== QUOTE) break;
      const end = stringEnd(definition, i);
      key = keyOf(definition.slice(i, end));
      if (onData !== undefined && level.role === 'schemas by name') {
        onData({ what: 'fixed', key, start: i, valueStart: i, end, path: below(level.path, key) });
      }
      i = skipSpace(definition, skipSpace(definition, end) + 1);
    }
    const meaning = meaningIn(level.role, key);
    const role = typeof meaning === 'string' ? roleOf(meaning, definition.charCodeAt(i)) : undefined;
    if (role !== undefined) {
      level = { role, path: below(level.path, key), outer: level, count: 0 };
      i++;
      continue;
    }
    const end = valueEnd(definition, i);
    if (end === i) break;
    const path = below(level.path, key);
    if (typeof meaning === 'object') found.push({ ...meaning, keyStart, start: i, end, path });
    if (onData !== undefined && !(typeof meaning === 'object' && definition.charCodeAt(i) === QUOTE)) {
      const isName = typeof meaning === 'object' && meaning.key === 'name';
      const isFixed = meaning === 'fixed' || isName || isList(level.role) || level.role === 'schemas by name';
      onData({ what: isFixed ? 'fixed' : 'data', key, start: keyStart, valueStart: i, end, path });
    }
    i = end;
  }
  return found;
}

function isList(role: Role): boolean {
  return role === 'list of schemas' || role === 'list of arguments';
}

/** What to look for inside a value, by its meaning and its first character; undefined: nothing. */
function roleOf(meaning: Exclude<Meaning, TextMeaning>, first: number): Role | undefined {
  if (meaning === 'fixed') return undefined;
  if (first === OPEN_OBJECT) return isList(meaning) ? undefined : meaning;
  if (first !== OPEN_ARRAY) return undefined;
  if (meaning === 'schema') return 'list of schemas';
  return isList(meaning) ? meaning : undefined;
}

function keyOf(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

function below(path: string, key: string): string {
  if (path === '') return key;
  if (path.length > LONGEST_PATH) return path.endsWith('…') ? path : `${path}…`;
  return `${path}.${key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY)}…` : key}`;
}
