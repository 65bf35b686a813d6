/**
 * Members of a JSON Schema whose value has schemas by names that the author chose: in them, `title` is the name of a
 * schema and no text. Of JSON Schema 2020-12 and of the drafts before it.
 */
export const SCHEMAS_BY_NAME: readonly string[] = [
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
];
