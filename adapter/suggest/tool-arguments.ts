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

type Schema = Readonly<Record<string, unknown>>;

/** All arguments of a tool that are texts or lists of texts, those in objects and in lists of objects too. */
export function toolArguments(inputSchema: unknown): ToolArgument[] {
  const root = asSchema(inputSchema);
  const found: ToolArgument[] = [];
  collect(root, root, '', 0, found);
  return found;
}

/** Names of all arguments, of whatever type. */
export const argumentNames = (inputSchema: unknown): string[] =>
  Object.keys(asSchema(asSchema(inputSchema)['properties'])).slice(0, MAX_ARGUMENTS);

function collect(root: Schema, schema: Schema, prefix: string, depth: number, found: ToolArgument[]): void {
  if (depth >= MAX_DEPTH) return;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  for (const [key, value] of Object.entries(asSchema(schema['properties']))) {
    if (found.length >= MAX_ARGUMENTS) return;
    // The configuration splits paths at dots and brackets, so such a key cannot be named there.
    if (/[.[\]]/.test(key) || key.trim() === '') continue;
    const written = asSchema(value);
    const description = typeof written['description'] === 'string' ? written['description'] : '';
    const isRequired = required.includes(key);
    for (const one of variants(root, written)) {
      const path = prefix + key;
      if (one['type'] === 'object') collect(root, one, `${path}.`, depth + 1, found);
      const items = one['type'] === 'array' ? variants(root, asSchema(one['items'])) : [];
      for (const item of items) if (item['type'] === 'object') collect(root, item, `${path}[].`, depth + 1, found);
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
  return [schema, ...members.map(asSchema)]
    .map((one) => resolved(root, one))
    .flatMap((one) => (Array.isArray(one['type']) ? one['type'].map((type: unknown) => ({ ...one, type })) : [one]));
}

function resolved(root: Schema, { $ref, ...schema }: Schema): Schema {
  const [, place = '', name = ''] = (typeof $ref === 'string' && /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref)) || [];
  const defined = asSchema(root[place]);
  return Object.hasOwn(defined, name) ? asSchema(defined[name]) : schema;
}

const asSchema = (value: unknown): Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
