import type { RE2JS } from 're2js';
import { patternOf } from './pattern.ts';

export interface DisabledTools {
  /** Whether a tool of this name is neither listed nor callable. */
  readonly matches: (name: string) => boolean;
  readonly any: boolean;
}

/**
 * `servers[].disabled_tools`: every entry is an exact name, and a regular expression for the whole name. One that is no
 * valid pattern still counts as a name, or hides all tools (`core.invalid_patterns`).
 */
export function disabledTools(entries: readonly string[], hidesAllIfInvalid = false): DisabledTools {
  const exact = new Set(entries);
  const patterns: RE2JS[] = [];
  for (const entry of entries) {
    const pattern = patternOf(entry, true);
    if ('re2' in pattern) patterns.push(pattern.re2);
    else if (hidesAllIfInvalid) return { matches: () => true, any: true };
  }
  return {
    matches: (name) => exact.has(name) || patterns.some((pattern) => pattern.matches(name)),
    any: entries.length > 0,
  };
}
