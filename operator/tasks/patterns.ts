import { RE2JS } from 're2js';
import type { Budget } from './budget.ts';

/** Patterns of thousands of resources, most of which have the same few. */
const MAX_KNOWN = 5000;

interface Compiled {
  /** Why it cannot be compiled; undefined when it can. */
  readonly error: string | undefined;
  /** What compiling it took. */
  readonly ms: number;
}

const known = new Map<string, Compiled>();

/**
 * Why a text is no regular expression of RE2; undefined when it is one. A text is compiled once, and counts each time.
 * @param path of the field that it stands in
 * @throws BudgetError before it is compiled
 */
export function patternError(pattern: string, path: string, budget: Budget): string | undefined {
  budget.step(path);
  const compiled = known.get(pattern);
  if (compiled !== undefined) {
    budget.charge(compiled.ms);
    return compiled.error;
  }
  const before = process.threadCpuUsage();
  const error = compileError(pattern);
  const { user, system } = process.threadCpuUsage(before);
  const [oldest] = known.keys();
  if (known.size >= MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  known.set(pattern, { error, ms: (user + system) / 1000 });
  return error;
}

function compileError(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
