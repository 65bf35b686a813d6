import { z } from 'zod';
import { type Path, valueAt } from '../../../lib/json/tree.ts';

const { $ZodArray, $ZodDefault, $ZodDiscriminatedUnion, $ZodNullable, $ZodObject } = z.core;
const { $ZodOptional, $ZodPipe, $ZodPrefault, $ZodRecord, $ZodTransform } = z.core;

/** A field of a schema: what it holds once defaults, null and conversions are taken off, and whether null is a value. */
export interface Field {
  schema: z.core.$ZodType;
  nullable: boolean;
}

/**
 * The schema of what stands at a path of a document; undefined where the schema knows no such path. The document is
 * needed to choose between the kinds of entries of a list.
 */
export function schemaAt(root: z.core.$ZodType, path: Path, document: unknown): Field | undefined {
  let field: Field | undefined = bare(root, document);
  for (const [index, key] of path.entries()) {
    const inner = child(field.schema, key);
    if (inner === undefined) return undefined;
    field = bare(inner, valueAt(document, path.slice(0, index + 1)));
  }
  return field;
}

/** Whether the field is a section, that is, a mapping with fixed keys. */
export function isSection(field: Field | undefined): boolean {
  return field?.schema instanceof $ZodObject;
}

/** The names of the keys that a section may have; empty for anything else. */
export function knownKeys(field: Field | undefined): string[] {
  return field?.schema instanceof $ZodObject ? Object.keys(field.schema._zod.def.shape) : [];
}

function child(schema: z.core.$ZodType, key: string | number): z.core.$ZodType | undefined {
  if (schema instanceof $ZodObject) {
    const { shape } = schema._zod.def;
    return Object.hasOwn(shape, key) ? shape[key] : undefined;
  }
  if (schema instanceof $ZodArray) return schema._zod.def.element;
  return schema instanceof $ZodRecord ? schema._zod.def.valueType : undefined;
}

function bare(schema: z.core.$ZodType, value: unknown, nullable = false): Field {
  if (schema instanceof $ZodNullable) return bare(schema._zod.def.innerType, value, true);
  if (schema instanceof $ZodPrefault || schema instanceof $ZodDefault || schema instanceof $ZodOptional) {
    return bare(schema._zod.def.innerType, value, nullable);
  }
  if (schema instanceof $ZodPipe) {
    // A conversion stands before what it feeds, or after what it works on.
    const { in: first, out: second } = schema._zod.def;
    return bare(first instanceof $ZodTransform ? second : first, value, nullable);
  }
  if (schema instanceof $ZodDiscriminatedUnion) {
    const { discriminator, options } = schema._zod.def;
    const tag = valueAt(value, [discriminator]);
    const option = options.find(({ _zod }) => [...(_zod.propValues?.[discriminator] ?? [])].some((one) => one === tag));
    if (option !== undefined) return bare(option, value, nullable);
  }
  return { schema, nullable };
}
