import { folded } from '../exchange/scanning/json-scan.ts';
import { SCHEMAS_BY_NAME } from './schema-keywords.ts';

/** What an upstream says to models: an entry of one of its lists, or its answer to `initialize` or `server/discover`. */
export type DefinitionKind = 'tool' | 'prompt' | 'resource' | 'template' | 'greeting';

/** What an object or a list is, by where it stands. */
export type Role =
  | DefinitionKind
  | 'server'
  | 'annotations'
  | 'argument'
  | 'schema'
  | 'meta'
  | 'members'
  | 'schemas by name'
  | 'list of schemas'
  | 'list of arguments';

/** Objects whose members are known by their names. */
type Known = Exclude<Role, 'members' | 'schemas by name' | 'list of schemas' | 'list of arguments'>;

/**
 * A text. `name` is what clients and models name the thing by, which therefore nobody can change: also the URI of a
 * resource, but not its name.
 */
export interface TextMeaning {
  readonly of: Known;
  readonly key: 'name' | 'title' | 'description';
}

/** `fixed`: data that means something else, or nothing, when a part of it is missing. */
export type Meaning = TextMeaning | Exclude<Role, DefinitionKind> | 'fixed';

/** Members of a schema that hold a schema, or a list of them. Of JSON Schema 2020-12 and of the drafts before it. */
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

/** What of a schema calls depend on, or other parts of the schema. */
const FIXED_KEYWORDS = [
  'const',
  'required',
  'dependentRequired',
  'id',
  '$id',
  '$ref',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
];

const MEANINGS: Readonly<Record<Known, ReadonlyMap<string, Meaning>>> = {
  tool: meanings('tool', ['name', 'title', 'description'], {
    annotations: 'annotations',
    inputSchema: 'schema',
    outputSchema: 'schema',
    execution: 'members',
    _meta: 'members',
  }),
  prompt: meanings('prompt', ['name', 'title', 'description'], { arguments: 'list of arguments', _meta: 'members' }),
  argument: meanings('argument', ['name', 'title', 'description']),
  resource: meanings('resource', ['title', 'description'], {
    uri: { of: 'resource', key: 'name' },
    name: { of: 'resource', key: 'title' },
    annotations: 'annotations',
    _meta: 'members',
  }),
  template: meanings('template', ['title', 'description'], {
    uriTemplate: { of: 'template', key: 'name' },
    name: { of: 'template', key: 'title' },
    annotations: 'annotations',
    _meta: 'members',
  }),
  greeting: meanings('greeting', [], {
    instructions: { of: 'greeting', key: 'description' },
    serverInfo: 'server',
    _meta: 'meta',
    // Both sides must read the same here, and no model reads it.
    protocolVersion: 'fixed',
    supportedVersions: 'fixed',
    capabilities: 'fixed',
  }),
  server: meanings('server', ['title', 'description'], {
    name: { of: 'server', key: 'title' },
    version: { of: 'server', key: 'title' },
  }),
  meta: meanings('meta', [], { 'io.modelcontextprotocol/serverInfo': 'server' }),
  annotations: meanings('annotations', ['title']),
  schema: meanings('schema', ['title', 'description'], {
    ...Object.fromEntries(SCHEMA_KEYWORDS.map((keyword) => [keyword, 'schema'] as const)),
    ...Object.fromEntries(SCHEMAS_BY_NAME.map((keyword) => [keyword, 'schemas by name'] as const)),
    ...Object.fromEntries(FIXED_KEYWORDS.map((keyword) => [keyword, 'fixed'] as const)),
  }),
};

/** What the value of a member is; undefined for data, in which a key `title` means nothing. */
export function meaningIn(role: Role, key: string): Meaning | undefined {
  if (role === 'list of schemas' || role === 'schemas by name') return 'schema';
  if (role === 'list of arguments') return 'argument';
  if (role === 'members') return undefined;
  const known = MEANINGS[role];
  return known.get(key) ?? known.get(folded(key));
}

/** By the name as it is written, and without regard to case. */
function meanings(
  of: Known,
  texts: readonly TextMeaning['key'][],
  others: Readonly<Record<string, Meaning>> = {},
): ReadonlyMap<string, Meaning> {
  const all: Readonly<Record<string, Meaning>> = {
    ...Object.fromEntries(texts.map((key) => [key, { of, key }] as const)),
    ...others,
  };
  return new Map(
    Object.entries(all).flatMap(([name, meaning]) => [[name, meaning] as const, [folded(name), meaning] as const]),
  );
}
