import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';

/** A regular expression, or what is wrong with it: a sentence whose subject is the pattern. */
export type Pattern = { readonly re2: RE2JS } | { readonly fault: string };

const MAX_KEPT = 1_000;
const known = new LRUCache<string, Pattern>({ max: MAX_KEPT });

const LOOK_AROUND = /\(\?<?[=!]/;
const BACK_REFERENCE = /\\[1-9]|\(\?P=/;
/** All names that do not begin with a word. */
const ALL_BUT_PREFIX = /^\^?\(\?!\^?(?<prefix>[\w-]{1,40})(?:\.\*)?\)\.[*+]\$?$/;

/**
 * Compiled once for each text. RE2, so that no pattern can take more than linear time.
 * @param dotAll whether `.` matches line feeds
 */
export function patternOf(source: string, dotAll: boolean): Pattern {
  const key = `${dotAll}${source}`;
  let pattern = known.get(key);
  if (pattern === undefined) {
    pattern = compiled(source, dotAll);
    known.set(key, pattern);
  }
  return pattern;
}

function compiled(source: string, dotAll: boolean): Pattern {
  try {
    return { re2: RE2JS.compile(source, dotAll ? RE2JS.DOTALL : 0) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { fault: `is no valid regular expression (RE2): ${reason}${hint(source)}` };
  }
}

/** How to say the same otherwise, for what other engines know and this one does not. */
function hint(source: string): string {
  if (BACK_REFERENCE.test(source)) return '. RE2 has no references to groups: write out what they stand for';
  if (!LOOK_AROUND.test(source)) return '';
  const prefix = ALL_BUT_PREFIX.exec(source)?.groups?.['prefix'];
  const instead =
    prefix === undefined
      ? 'write out what is to match, such as "delete_.*|write_.*" for all names that begin with one of these'
      : `all that does not begin with ${prefix} is "${allBut(prefix)}"`;
  return `. RE2 has neither look-ahead nor look-behind: ${instead}`;
}

/** A pattern without look-ahead for whatever does not begin with a word. */
function allBut(prefix: string): string {
  const characters = Array.from(prefix, (one) => (one === '-' ? String.raw`\-` : one));
  const differ = characters.map((one, i) => `${characters.slice(0, i).join('')}[^${one}].*`);
  const shorter = characters.slice(0, -1).reduceRight((rest, one) => `(?:${one}${rest})?`, '');
  return [...differ, shorter].join('|');
}
