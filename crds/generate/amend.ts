import { stepsOf } from '../../lib/json/tree.ts';
import type { StructuralSchema } from './structural-schema.ts';

/** What is added to the fields of a schema, by their paths: `config.servers[].id`; `*` is each value of a map. */
export type Amendments = Readonly<Record<string, StructuralSchema>>;

/**
 * The schema with more said about some of its fields: bounds, kinds of lists, rules.
 * @throws Error for a path that leads nowhere, so that no rule gets lost when a field is renamed
 */
export function amend(schema: StructuralSchema, amendments: Amendments): StructuralSchema {
  return Object.entries(amendments).reduce(
    (amended, [path, more]) => changedAt(amended, path, (field) => ({ ...field, ...more })),
    schema,
  );
}

/** The schema with one field changed. @throws Error for a path that leads nowhere */
export const changedAt = (
  schema: StructuralSchema,
  path: string,
  change: (field: StructuralSchema) => StructuralSchema,
): StructuralSchema => at(schema, stepsOf(path), change, path);

function at(
  schema: StructuralSchema,
  steps: readonly string[],
  change: (field: StructuralSchema) => StructuralSchema,
  path: string,
): StructuralSchema {
  const [step, ...rest] = steps;
  if (step === undefined) return change(schema);
  const { items, properties, additionalProperties: values } = schema;
  if (step === '[]' && items !== undefined) return { ...schema, items: at(items, rest, change, path) };
  if (step === '*' && values !== undefined) return { ...schema, additionalProperties: at(values, rest, change, path) };
  const field = properties?.[step];
  if (field === undefined) throw new Error(`there is no field ${path}`);
  return { ...schema, properties: { ...properties, [step]: at(field, rest, change, path) } };
}
