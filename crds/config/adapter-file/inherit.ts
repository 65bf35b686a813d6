import { z } from 'zod';
import { orNull, withoutNull } from '../values/values.ts';

/** What stays of a field when its own default and null are taken off: in the variant, null means inherit. */
type Value<T> = Exclude<T, null | undefined>;

type InheritShape<S extends z.ZodRawShape> = {
  [K in keyof S]: z.ZodPrefault<z.ZodType<Value<z.output<S[K]>> | null, Value<z.input<S[K]>> | null>>;
};

/**
 * The "null inherits" variant of a section: the same fields with the same rules, each null unless it is set. Null then
 * means that the value of the next level up applies (adapter specification, section 1, convention 4), also for a field
 * where null is a value in the section itself.
 */
export function inherit<S extends z.ZodRawShape>(
  section: z.ZodObject<S, z.core.$strict>,
  from: string,
): z.ZodObject<InheritShape<S>, z.core.$strict> {
  const fields = Object.entries(section.shape).map(([name, field]) => {
    const value = bare(field);
    // What null means in the section itself does not hold here.
    const meaning = value.description?.replace(/ Null: [^.]*\.$/, '') ?? '';
    const description = `${meaning} Null inherits \`${from}.${name}\`.`.trim();
    return [name, orNull(value.describe(description)).prefault(null)];
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the compiler cannot follow a mapping over all keys
  return z.strictObject(Object.fromEntries(fields) as InheritShape<S>);
}

/** The field without its default and without null. */
function bare(field: z.core.$ZodType): z.ZodType {
  if (field instanceof z.ZodDefault || field instanceof z.ZodPrefault || field instanceof z.ZodNullable) {
    return bare(field.unwrap());
  }
  if (field instanceof z.ZodType) {
    const inner = withoutNull(field);
    return inner === undefined ? field : bare(inner);
  }
  throw new TypeError('only schemas of zod itself can be inherited, not of zod/mini');
}
