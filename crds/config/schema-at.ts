import type { z } from 'zod';
import type { Path } from './reference.ts';

/** A field of a schema: what it holds once defaults, null and conversions are taken off, and whether null is a value. */
export interface Field {
  schema: z.core.$ZodTypes;
  nullable: boolean;
}

/**
 * The schema of what stands at a path of a document; undefined where the schema knows no such path. The document is
 * needed to choose between the kinds of entries of a list.
 */
export function schemaAt(root: z.core.$ZodType, path: Path, document: unknown): Field | undefined {
  let field: Field | undefined = bare(root, document);
  let value = document;
  for (const key of path) {
    const inner: z.core.$ZodType | undefined = field && child(field.schema, key);
    if (inner === undefined) return undefined;
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
    field = bare(inner, value);
  }
  return field;
}

/** The names of the keys that a mapping may have; empty for anything but a section. */
export function knownKeys(field: Field | undefined): string[] {
  const def = field?.schema._zod.def;
  return def?.type === 'object' ? Object.keys(def.shape) : [];
}

function child(schema: z.core.$ZodTypes, key: string | number): z.core.$ZodType | undefined {
  const { def } = schema._zod;
  if (def.type === 'object') return Object.hasOwn(def.shape, key) ? def.shape[key] : undefined;
  if (def.type === 'array') return def.element;
  return def.type === 'record' ? def.valueType : undefined;
}

function bare(schema: z.core.$ZodType, value: unknown, nullable = false): Field {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'default':
    case 'prefault':
    case 'optional':
      return bare(def.innerType, value, nullable);
    case 'nullable':
      return bare(def.innerType, value, true);
    case 'pipe':
      // A conversion stands before what it feeds, or after what it works on.
      return bare((def.in as z.core.$ZodTypes)._zod.def.type === 'transform' ? def.out : def.in, value, nullable);
    case 'union': {
      const option = 'discriminator' in def ? optionFor(def as z.core.$ZodDiscriminatedUnionDef, value) : undefined;
      return option === undefined ? { schema: schema as z.core.$ZodTypes, nullable } : bare(option, value, nullable);
    }
    default:
      return { schema: schema as z.core.$ZodTypes, nullable };
  }
}

function optionFor(def: z.core.$ZodDiscriminatedUnionDef, value: unknown): z.core.$ZodType | undefined {
  const tag =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[def.discriminator] : null;
  return def.options.find((option) => option._zod.propValues?.[def.discriminator]?.has(tag as z.core.util.Primitive));
}
