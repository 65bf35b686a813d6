import { RE2JS } from 're2js';

export interface DisabledTools {
  /** Whether a tool of this name is neither listed nor callable. */
  readonly matches: (name: string) => boolean;
  /** Entries that are no valid pattern; they still count as exact names. */
  readonly invalid: readonly string[];
  readonly any: boolean;
}

/**
 * `servers[].disabled_tools`: every entry is an exact name, and a regular expression for the whole name. RE2, so that
 * no pattern can take more than linear time.
 */
export function disabledTools(entries: readonly string[]): DisabledTools {
  const exact = new Set(entries);
  const invalid: string[] = [];
  const patterns: RE2JS[] = [];
  for (const entry of entries) {
    try {
      patterns.push(RE2JS.compile(entry));
    } catch {
      invalid.push(entry);
    }
  }
  return {
    matches: (name) => exact.has(name) || patterns.some((pattern) => pattern.matches(name)),
    invalid,
    any: entries.length > 0,
  };
}
