import { type JsonSchema, isSchema } from '../../generate/json-schema.ts';

/** A field that holds no other fields. */
export interface Leaf {
  readonly path: string;
  readonly schema: JsonSchema;
}

/** All of a schema, with index 0 for the entries of a list and 0, 1, … for kinds of entries. */
export function leaves(schema: JsonSchema, path = ''): Leaf[] {
  if (schema.properties !== undefined) {
    const below = path === '' ? '' : `${path}.`;
    return Object.entries(schema.properties).flatMap(([key, field]) =>
      isSchema(field) ? leaves(field, `${below}${key}`) : [],
    );
  }
  const { items } = schema;
  if (isSchema(items) && items.properties !== undefined) return leaves(items, `${path}[0]`);
  if (isSchema(items) && items.oneOf !== undefined) {
    return items.oneOf.flatMap((kind, index) => leaves(kind, `${path}[${index}]`));
  }
  return [{ path, schema }];
}
