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
    const invalid = context.issues.filter(({ code }) => code !== 'unrecognized_keys');
    const judged = known(value, placesOf(invalid.map(({ path = [] }) => path)));
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

/** Whether the value at this place is invalid, and the places below it that lead to invalid ones. */
interface Places {
  isInvalid: boolean;
  readonly below: Map<string, Places>;
}

function placesOf(paths: readonly (readonly PropertyKey[])[]): Places {
  const root: Places = { isInvalid: false, below: new Map() };
  for (const path of paths) {
    let place = root;
    for (const key of path) {
      const next = place.below.get(String(key)) ?? { isInvalid: false, below: new Map() };
      place.below.set(String(key), next);
      place = next;
    }
    if (path.length > 0) place.isInvalid = true;
  }
  return root;
}

/** The value without what is invalid and without texts whose references are not resolved: nobody knows what they are. */
function known(value: unknown, invalid: Places | undefined): unknown {
  if (invalid?.isInvalid === true) return undefined;
  if (typeof value === 'string') return hasReference(value) ? undefined : value;
  if (Array.isArray(value)) return value.map((item, index) => known(item, invalid?.below.get(String(index))));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, known(item, invalid?.below.get(key))]));
}
