import { objectOf } from '../../lib/json/json-object.ts';

/** An argument of a tool that may be a file, with its place in the input schema. */
export interface ToolArgument {
  /** For the configuration: `path`, `options.outputPath`, `sources[].path`. */
  readonly path: string;
  /** The last key of the path. */
  readonly key: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isList: boolean;
}

/** An input schema may be anything that a server sends: it is read to this depth, and so many arguments of it. */
const MAX_DEPTH = 6;
const MAX_ARGUMENTS = 200;
/** Schemas that are looked at for it: definitions that name each other have no end. */
const MAX_SCHEMAS = 1_000;

type Schema = Readonly<Record<string, unknown>>;

/** All arguments of a tool that are texts or lists of texts, those in objects and in lists of objects too. */
export function toolArguments(inputSchema: unknown): ToolArgument[] {
  const root = objectOf(inputSchema);
  const search = { root, found: [], schemas: 0 };
  collect(search, root, '', 0);
  return search.found;
}

interface Search {
  readonly root: Schema;
  readonly found: ToolArgument[];
  /** Looked at so far. */
  schemas: number;
}

/** Names of all arguments, of whatever type. */
export const argumentNames = (inputSchema: unknown): string[] =>
  Object.keys(objectOf(objectOf(inputSchema)['properties'])).slice(0, MAX_ARGUMENTS);

function collect(search: Search, schema: Schema, prefix: string, depth: number): void {
  if (depth >= MAX_DEPTH) return;
  const { root, found } = search;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  for (const [key, value] of Object.entries(objectOf(schema['properties']))) {
    if (found.length >= MAX_ARGUMENTS || search.schemas >= MAX_SCHEMAS) return;
    // The configuration splits paths at dots and brackets, so such a key cannot be named there.
    if (/[.[\]]/.test(key) || key.trim() === '') continue;
    const written = objectOf(value);
    const description = typeof written['description'] === 'string' ? written['description'] : '';
    const isRequired = required.includes(key);
    for (const one of variants(root, written)) {
      if (++search.schemas >= MAX_SCHEMAS) return;
      const path = prefix + key;
      if (one['type'] === 'object') collect(search, one, `${path}.`, depth + 1);
      const items = one['type'] === 'array' ? variants(root, objectOf(one['items'])) : [];
      for (const item of items) if (item['type'] === 'object') collect(search, item, `${path}[].`, depth + 1);
      const isList = items.some(isText);
      if ((isText(one) || isList) && !found.some((earlier) => earlier.path === path)) {
        found.push({ path, key, description, isRequired, isList });
      }
    }
  }
}

const isText = (schema: Schema): boolean =>
  schema['type'] === 'string' && schema['enum'] === undefined && schema['const'] === undefined;

/** What a value may be: itself, or the members of a union, with references to `$defs` followed once. */
function variants(root: Schema, schema: Schema): Schema[] {
  const members = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap((union) =>
    Array.isArray(union) ? union : [],
  );
  return [schema, ...members.map(objectOf)]
    .map((one) => resolved(root, one))
    .flatMap((one) => (Array.isArray(one['type']) ? one['type'].map((type: unknown) => ({ ...one, type })) : [one]));
}

function resolved(root: Schema, { $ref, ...schema }: Schema): Schema {
  const [, place = '', name = ''] = (typeof $ref === 'string' && /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref)) || [];
  const defined = objectOf(root[place]);
  return Object.hasOwn(defined, name) ? objectOf(defined[name]) : schema;
}
