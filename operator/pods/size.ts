import { type Problem, dottedPath } from '../../crds/config/problem.ts';
import type { Path } from '../../crds/config/tree.ts';

/** Most fields, entries and values of a resource's configuration; it is what 256 servers have, each with forty of its fields. */
const MAX_VALUES = 10_000;

/** A document that would take long to check, whatever stands in it. Looks at no more of it than it may have. */
export function sizeProblems(document: unknown, at: Path): Problem[] {
  let values = 0;
  const waiting = [document];
  while (waiting.length > 0 && values <= MAX_VALUES) {
    const value = waiting.pop();
    values += 1;
    if (typeof value !== 'object' || value === null) continue;
    for (const item of Object.values(value)) waiting.push(item);
  }
  if (values <= MAX_VALUES) return [];
  return [{ path: dottedPath(at), message: `has more than ${MAX_VALUES} values; split it into several resources` }];
}
