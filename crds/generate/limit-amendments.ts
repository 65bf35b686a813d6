import type { Limit, Limits } from '../v1alpha1/limits.ts';
import { changedAt } from './amend.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * The schema with bounds on its lists and texts, which their descriptions tell.
 * @throws Error for a path that leads nowhere
 */
export const withLimits = (schema: StructuralSchema, limits: Limits): StructuralSchema =>
  Object.entries(limits).reduce(
    (limited, [path, limit]) => changedAt(limited, path, (field) => bounded(field, limit)),
    schema,
  );

function bounded(schema: StructuralSchema, { entries, characters }: Limit): StructuralSchema {
  const { items, description = '' } = schema;
  const isList = items !== undefined;
  const words = [
    ...(entries === undefined ? [] : [`${entries} entries`]),
    ...(characters === undefined ? [] : [`${characters} characters${isList ? ' each' : ''}`]),
  ];
  return {
    ...schema,
    description: `${description} At most ${words.join(' of ')}.`.trim(),
    ...(entries === undefined ? {} : { maxItems: entries }),
    ...(characters === undefined || isList ? {} : { maxLength: characters }),
    ...(isList && characters !== undefined ? { items: { ...items, maxLength: characters } } : {}),
  };
}
