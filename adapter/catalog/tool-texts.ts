import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  folded,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
  type Span,
  stringEnd,
  valueEnd,
} from '../exchange/json-scan.ts';
import { SCHEMAS_BY_NAME } from './schema-keywords.ts';

/** A member of a tool's definition that holds text for models; `start` and `end` are those of its value. */
export interface ToolText extends Span {
  readonly of: 'tool' | 'annotations' | 'schema';
  readonly key: 'name' | 'title' | 'description';
  /** Where the member begins, its key included. */
  readonly keyStart: number;
  /** Such as `inputSchema.properties.a.description`, with the upstream's words in it; cut where it gets long. */
  readonly path: string;
}

/** An edit of `splice`. */
export type TextEdit = Span & { readonly with: string };

/** What a value is, by where it stands. */
type Role = 'tool' | 'annotations' | 'schema' | 'schemas by name' | 'list of schemas';
type Meaning = Pick<ToolText, 'of' | 'key'> | Exclude<Role, 'tool'>;

interface Level {
  readonly role: Role;
  readonly path: string;
  readonly outer: Level | undefined;
  /** Elements so far, in a list. */
  count: number;
}

/**
 * Members of a schema that hold a schema, or a list of them. Of JSON Schema 2020-12 and of the drafts before it.
 * Anything else (default, const, enum, examples, unknown keywords) is data, where a key `title` means nothing.
 */
const SCHEMA_KEYWORDS = [
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'contentSchema',
];

const MEANINGS: Readonly<Record<'tool' | 'annotations' | 'schema', ReadonlyMap<string, Meaning>>> = {
  tool: meanings([
    ['name', { of: 'tool', key: 'name' }],
    ['title', { of: 'tool', key: 'title' }],
    ['description', { of: 'tool', key: 'description' }],
    ['annotations', 'annotations'],
    ['inputSchema', 'schema'],
    ['outputSchema', 'schema'],
  ]),
  annotations: meanings([['title', { of: 'annotations', key: 'title' }]]),
  schema: meanings([
    ['title', { of: 'schema', key: 'title' }],
    ['description', { of: 'schema', key: 'description' }],
    ...SCHEMA_KEYWORDS.map((keyword) => [keyword, 'schema'] as const),
    ...SCHEMAS_BY_NAME.map((keyword) => [keyword, 'schemas by name'] as const),
  ]),
};

const LONGEST_PATH = 300;
const LONGEST_KEY = 60;

/**
 * Where the texts of a tool's definition (JSON text) stand, in their order: its name, its title and that of its
 * annotations, its description, and the titles and descriptions of its schemas and of all schemas in them. A member
 * that is there twice is found twice, and so is one whose name differs in case only: parsers differ in which they
 * read. Values may be other than strings. One pass without recursion, so depth costs nothing; `$ref` is not followed.
 */
export function toolTexts(tool: string): ToolText[] {
  const found: ToolText[] = [];
  let i = skipSpace(tool, 0);
  if (tool.charCodeAt(i) !== OPEN_OBJECT) return found;
  let level: Level | undefined = { role: 'tool', path: '', outer: undefined, count: 0 };
  i++;
  while (level !== undefined) {
    i = skipSpace(tool, i);
    const keyStart = i;
    const c = tool.charCodeAt(i);
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
    if (level.role === 'list of schemas') key = String(level.count++);
    else {
      if (c !== QUOTE) break;
      const end = stringEnd(tool, i);
      key = keyOf(tool.slice(i, end));
      i = skipSpace(tool, skipSpace(tool, end) + 1);
    }
    const meaning = meaningOf(level.role, key);
    const role = typeof meaning === 'string' ? roleOf(meaning, tool.charCodeAt(i)) : undefined;
    if (role !== undefined) {
      level = { role, path: below(level.path, key), outer: level, count: 0 };
      i++;
      continue;
    }
    const end = valueEnd(tool, i);
    if (end === i) break;
    if (typeof meaning === 'object') found.push({ ...meaning, keyStart, start: i, end, path: below(level.path, key) });
    i = end;
  }
  return found;
}

function meaningOf(role: Role, key: string): Meaning | undefined {
  if (role === 'list of schemas' || role === 'schemas by name') return 'schema';
  const known = MEANINGS[role];
  return known.get(key) ?? known.get(folded(key));
}

/** What to look for inside a value, by its meaning and its first character; undefined: nothing. */
function roleOf(meaning: Exclude<Role, 'tool'>, first: number): Role | undefined {
  if (first === OPEN_OBJECT) return meaning;
  return first === OPEN_ARRAY && meaning === 'schema' ? 'list of schemas' : undefined;
}

function keyOf(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

function below(path: string, key: string): string {
  if (path === '') return key;
  if (path.length > LONGEST_PATH) return path.endsWith('…') ? path : `${path}…`;
  return `${path}.${key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY)}…` : key}`;
}

/** By the name as it is written, and without regard to case. */
function meanings(entries: readonly (readonly [string, Meaning])[]): ReadonlyMap<string, Meaning> {
  return new Map(entries.flatMap(([name, meaning]) => [[name, meaning] as const, [folded(name), meaning] as const]));
}
