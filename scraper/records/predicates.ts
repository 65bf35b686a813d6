import type { Predicate } from '../../crds/config/scraper-file/filters.ts';
import { InvalidSetting } from './invalid-setting.ts';
import { pythonEquals } from './python-equals.ts';
import { compileSearch } from './python-regex.ts';
import { pythonStr } from './python-text.ts';
import { ShapeMismatch, shapeOf } from './shape-mismatch.ts';
import { compilePath } from './value-path.ts';

/** Whether something holds for a record of an answer. */
export type RecordTest = (record: unknown, root: unknown) => boolean;

type ValueTest = (value: unknown) => boolean;

/**
 * A predicate of `filters`. A field that is missing is null. `at` is where the predicate stands in the source.
 * New: the field may start with `$root.`.
 *
 * @throws InvalidSetting when its regular expression is invalid; the original failed with the first record
 */
export function compilePredicate({ field, matchType, value }: Predicate, at: string): RecordTest {
  const valueAt = compilePath(field);
  const test = tests[matchType](value, at);
  return (record, root) => test(valueAt(record, root));
}

const tests: Readonly<Record<Predicate['matchType'], (expected: unknown, at: string) => ValueTest>> = {
  equals: (expected) => (value) => pythonEquals(value, expected),
  not_equals: (expected) => (value) => !pythonEquals(value, expected),
  in: (expected, at) =>
    Array.isArray(expected)
      ? (value) => expected.some((element) => pythonEquals(value, element))
      : (value) => holds(value, expected, at),
  regex: (expected, at) => {
    const found = search(pythonStr(expected), at);
    return (value) => value !== null && found(pythonStr(value));
  },
};

/** A text in a text, or a value in a list. Python refuses to look for anything else than text in a text. */
function holds(value: unknown, expected: unknown, at: string): boolean {
  if (Array.isArray(value)) return value.some((element) => pythonEquals(element, expected));
  if (typeof value !== 'string') return false;
  if (typeof expected === 'string') return value.includes(expected);
  throw new ShapeMismatch(`${at}.value is ${shapeOf(expected)}, which cannot be in the text that the field holds`);
}

function search(pattern: string, at: string): (text: string) => boolean {
  try {
    return compileSearch(pattern);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidSetting(`${at}.value`, `is no regular expression that RE2 can run: ${reason}`);
  }
}
