import { z } from 'zod';

const SHAPE = /^\s*([0-9]+)\s*([KMGT]?)(I?)B?\s*$/;

/** The same shape spelled without flags, because JSON Schema patterns have none. `iB` alone is not a unit. */
const PATTERN = /^\s*[0-9]+\s*([KkMmGgTt][Ii]?)?[Bb]?\s*$/;

const ALLOWED = 'a whole number of bytes, or a number with a unit such as 10K, 10KB, 10Ki, 10KiB, 5M, 50Mi, 1G, 2T';

/**
 * The number of bytes that a text such as `10Mi` means; undefined when it is not one.
 * K, M, G and T count in thousands, Ki, Mi, Gi and Ti in 1024s; a `B` may follow; case and spaces do not matter.
 * Source: adapter specification, section 1, convention 3.
 */
export function parseBytes(text: string): number | undefined {
  const [, digits, unit, binary] = SHAPE.exec(text.toUpperCase()) ?? [];
  if (digits === undefined || unit === undefined || (binary !== '' && unit === '')) return undefined;
  return Number(digits) * (binary === '' ? 1000 : 1024) ** ' KMGT'.indexOf(unit === '' ? ' ' : unit);
}

/** A size in bytes: an integer, or text with an SI or IEC unit. Comes out as a number of bytes, at least `min`. */
export function bytes({ min }: { min: 0 | 1 }) {
  const error = min === 0 ? ALLOWED : `${ALLOWED}; more than 0`;
  return z
    .union([z.int({ error }).min(min, { error }), z.string({ error }).regex(PATTERN, { error })], { error })
    .transform((value, context) => {
      const size = typeof value === 'number' ? value : parseBytes(value);
      if (size !== undefined && size >= min && Number.isSafeInteger(size)) return size;
      context.issues.push({ code: 'custom', input: value, message: error });
      return z.NEVER;
    });
}
