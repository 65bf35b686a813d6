import { type JsonSchema, isSchema } from '../../generate/json-schema.ts';

/**
 * The paths of all fields of a schema that hold no other fields: `[]` for the entries of a list, and the type in
 * brackets where fields depend on it, as in `auth(basic).username`. The type itself is a field of each kind.
 */
export function allFields(schema: JsonSchema, path = ''): string[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(holdsFields);
  if (choices.length === 1 && choices[0] !== undefined) return allFields(choices[0], path);
  if (choices.length > 1) return choices.flatMap((kind) => allFields(kind, `${path}(${typeOf(kind)})`));
  const { items, properties } = schema;
  if (properties !== undefined) {
    const below = path === '' ? '' : `${path}.`;
    return Object.entries(properties).flatMap(([key, field]) => (isSchema(field) ? allFields(field, below + key) : []));
  }
  return isSchema(items) && holdsFields(items) ? allFields(items, `${path}[]`) : [path];
}

const holdsFields = (schema: JsonSchema): boolean =>
  schema.properties !== undefined ||
  (isSchema(schema.items) && holdsFields(schema.items)) ||
  [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].some(holdsFields);

function typeOf({ properties }: JsonSchema): string {
  const type = properties?.['type'];
  return isSchema(type) && typeof type.const === 'string' ? type.const : 'other';
}
