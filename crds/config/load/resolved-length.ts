import { dottedPath } from './problem.ts';
import { hasReference, resolvedLength } from '../../../lib/references/reference.ts';
import type { LocatedProblem } from './schema-problems.ts';
import type { Path } from '../../../lib/json/tree.ts';

/** In UTF-16 code units. */
export interface LengthLimits {
  /** Longest text that references may make. */
  readonly text: number;
  /** Longest that all texts with references may become together. */
  readonly all: number;
}

/**
 * Texts that become too long when their references are resolved, counted before anything is put together.
 * @param lengthOf the value of a variable; 0 when it is unset or not known
 * @param at path of the document, with which those of the problems begin
 */
export function lengthProblems(
  document: unknown,
  lengthOf: (name: string) => number,
  limits: LengthLimits,
  at: Path = [],
): LocatedProblem[] {
  const problems: LocatedProblem[] = [];
  const found = (path: Path, length: number, limit: number, where: string): LocatedProblem => {
    const message = `becomes ${length} characters long with the values of its variables; at most ${limit} are allowed${where}`;
    return { at: path, problem: { path: dottedPath(path), message } };
  };
  let all = 0;
  const visit = (value: unknown, path: Path): void => {
    if (typeof value === 'string') {
      const length = hasReference(value) ? resolvedLength(value, lengthOf) : 0;
      all += length;
      if (length > limits.text) problems.push(found(path, length, limits.text, ''));
    } else if (Array.isArray(value)) {
      value.forEach((item, index) => visit(item, [...path, index]));
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
    }
  };
  visit(document, at);
  if (problems.length > 0 || all <= limits.all) return problems;
  return [found(at, all, limits.all, ' in all its texts with references')];
}
