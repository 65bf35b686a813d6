import type { z } from 'zod';
import { nearest } from './nearest.ts';
import { type Problem, dottedPath } from './problem.ts';
import { redactUrl } from '../../../lib/redaction/redact-url.ts';
import type { ReferenceFound } from '../../../lib/references/reference.ts';
import { isSection, knownKeys, schemaAt } from './schema-at.ts';
import { REDACTED, isSecretPath } from '../../../lib/redaction/secret-names.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';

/** A problem with the path that it was found at, so that its place in the file can be looked up. */
export interface LocatedProblem {
  at: Path;
  problem: Problem;
}

interface Checked {
  schema: z.core.$ZodType;
  /** The document that was parsed, with its references resolved. */
  document: unknown;
  references: readonly ReferenceFound[];
}

/** Nobody reads more, and words for each of many thousands take long. */
const MAX_ISSUES = 1000;
/** Of the unknown keys of one mapping, how many are compared with those that are known. */
const MAX_SUGGESTIONS = 20;

/**
 * Turns what zod says about a document into problems: one for each unknown key, and one for each other mistake. The first
 * 1,000 count.
 */
export function schemaProblems(issues: readonly z.core.$ZodIssue[], checked: Checked): LocatedProblem[] {
  const all = issues.slice(0, MAX_ISSUES).flatMap((issue) => {
    const at = issue.path.filter((key) => typeof key !== 'symbol');
    if (issue.code !== 'unrecognized_keys') return [{ at, problem: valueProblem(issue, at, checked) }];
    const known = knownKeys(schemaAt(checked.schema, at, checked.document));
    const keys = issue.keys.slice(0, MAX_ISSUES);
    return keys.map((key, index) => ({
      at: [...at, key],
      problem: keyProblem([...at, key], key, known, index < MAX_SUGGESTIONS),
    }));
  });
  // Several checks of one field have the same message.
  const seen = new Set<string>();
  const different = all.filter(({ problem: { path, message } }) => {
    const isNew = !seen.has(`${path}\n${message}`);
    seen.add(`${path}\n${message}`);
    return isNew;
  });
  return different.slice(0, MAX_ISSUES);
}

function keyProblem(at: Path, key: string, known: readonly string[], suggests: boolean): Problem {
  const path = dottedPath(at);
  const suggestion = suggests ? nearest(key, known) : undefined;
  const message = 'is not a known key';
  if (suggestion !== undefined) return { path, message: `${message}; did you mean ${suggestion}?`, suggestion };
  return { path, message: `${message}; known here: ${known.join(', ')}`, allowed: known.join(', ') };
}

function valueProblem(issue: z.core.$ZodIssue, at: Path, checked: Checked): Problem {
  const path = dottedPath(at);
  const found = valueAt(checked.document, at);
  const value = found === undefined ? {} : { value: shown(found, at, checked.references) };
  if (issue.code === 'custom' && issue.params?.['rule'] === true) return { path, message: issue.message, ...value };

  const allowed = allowedAt(issue, at, checked);
  if (found === undefined) return { path, message: `is required: ${allowed}`, allowed };
  const message = `must be ${allowed}, not ${value.value ?? ''}${hint(issue, found)}`;
  const suggestion = typeof found === 'string' ? nearest(found, wordsOf(issue)) : undefined;
  return suggestion === undefined
    ? { path, message, allowed, ...value }
    : { path, message: `${message}; did you mean ${suggestion}?`, allowed, ...value, suggestion };
}

function allowedAt(issue: z.core.$ZodIssue, at: Path, { schema, document }: Checked): string {
  const field = schemaAt(schema, at, document);
  const section = issue.code === 'invalid_type' && isSection(field);
  const phrase = section ? `a mapping with the keys ${knownKeys(field).join(', ')}` : issue.message;
  return field?.nullable === true && !/\bnull\b/.test(phrase) ? `${phrase}, or null` : phrase;
}

/** What usually helps against this mistake. */
function hint(issue: z.core.$ZodIssue, found: unknown): string {
  if (issue.code !== 'invalid_type') return '';
  if (issue.expected === 'string' && (typeof found === 'number' || typeof found === 'boolean'))
    return '; put it in quotes';
  if (issue.expected === 'array' && typeof found === 'string') return '; write it as a list, as in [a, b]';
  return '';
}

/** The words that were possible: an enum's, or the tags of the kinds of an entry. */
function wordsOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return issue.options.map(String);
  return [];
}

const MAX_SHOWN = 80;

/** A value that came from the environment is not shown, only the reference: nobody knows what it is. */
function shown(value: unknown, at: Path, references: readonly ReferenceFound[]): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'a mapping';
  if (isSecretPath(at)) return REDACTED;
  if (typeof value !== 'string') return String(value);
  const path = dottedPath(at);
  const reference = references.find((one) => dottedPath(one.path) === path);
  const text = redactUrl(reference?.written ?? value);
  const quoted = JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
  return reference === undefined ? quoted : `the value of ${quoted}`;
}
