import type { Problem } from '../../crds/config/load/problem.ts';

const MAX_PROBLEMS = 20;

/** All problems in one text, each with its path. */
export function problemsText(problems: readonly Pick<Problem, 'path' | 'message'>[]): string {
  const lines = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${path} ${message}`);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
