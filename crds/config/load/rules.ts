import type { z } from 'zod';
import { hasReference } from '../../../lib/references/reference.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';

/** Rules of a configuration file that concern more than one field. */

export interface Violation {
  path: Path;
  /** A sentence without its subject, which is the path. */
  message: string;
}

/** Looks at what is known of a value; says nothing about what it cannot judge. */
export type Rule = (value: unknown) => Violation[];

/**
 * A check for `superRefine` with `when: () => true`, so that it runs also when fields are invalid and a user sees all
 * problems at once. Every violation becomes an issue whose message is shown as it is.
 */
export function checkRules(rules: readonly Rule[]) {
  return (value: unknown, context: z.core.$RefinementCtx): void => {
    // A section with an unknown key is judged by its known ones.
    const invalid = context.issues
      .filter(({ code }) => code !== 'unrecognized_keys')
      .map(({ path = [] }) => keyOf(path));
    const judged = known(value, new Set(invalid));
    for (const rule of rules) {
      for (const { path, message } of rule(judged)) {
        context.addIssue({
          code: 'custom',
          path: [...path],
          message,
          input: valueAt(value, path),
          params: { rule: true },
        });
      }
    }
  };
}

const keyOf = (path: readonly PropertyKey[]): string => path.map(String).join('\n');

/** The value without what is invalid and without texts whose references are not resolved: nobody knows what they are. */
function known(value: unknown, invalid: ReadonlySet<string>, path: Path = []): unknown {
  if (invalid.has(keyOf(path)) && path.length > 0) return undefined;
  if (typeof value === 'string') return hasReference(value) ? undefined : value;
  if (Array.isArray(value)) return value.map((item, index) => known(item, invalid, [...path, index]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, known(item, invalid, [...path, key])]));
}
