import { type Problem, dottedPath } from '../../crds/config/load/problem.ts';
import type { Path } from '../../lib/json/tree.ts';

/** Most fields, entries and values of a resource's configuration; it is what 256 servers have, each with forty of its fields. */
const MAX_VALUES = 10_000;
/** Deepest nesting: whoever goes down into a document calls itself once for each level. The configuration has ten. */
const MAX_DEPTH = 100;

/** A document that would take long to check, whatever stands in it. Looks at no more of it than it may have. */
export function sizeProblems(document: unknown, at: Path): Problem[] {
  let values = 0;
  let level: unknown[] = [document];
  for (let depth = 0; level.length > 0; depth += 1) {
    values += level.length;
    if (values > MAX_VALUES) {
      return [{ path: dottedPath(at), message: `has more than ${MAX_VALUES} values; split it into several resources` }];
    }
    if (depth > MAX_DEPTH) {
      return [{ path: dottedPath(at), message: `is nested deeper than ${MAX_DEPTH} levels` }];
    }
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
  return [];
}
