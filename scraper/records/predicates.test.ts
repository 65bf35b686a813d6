import { describe, expect, test } from 'vitest';
import type { Predicate } from '../../crds/config/scraper-file/filters.ts';
import { InvalidSetting } from './invalid-setting.ts';
import { parseJson } from './json-body.ts';
import { compilePredicate } from './predicates.ts';
import { ShapeMismatch } from './shape-mismatch.ts';

type MatchType = Predicate['matchType'];
type Value = Predicate['value'];

/** A predicate of a field that holds the JSON `field`. */
function holds(matchType: MatchType, field: string, value: Value): boolean {
  const record = parseJson(`{"f":${field}}`, { exact: true });
  return compilePredicate({ field: 'f', matchType, value }, 'filters.drop[0].any[0]')(record, record);
}

/** Facts 15.3: match type, the field's JSON, the value. */
describe('a predicate', () => {
  test.each<[MatchType, string, Value, boolean]>([
    ['equals', '1', 1.0, true],
    ['equals', '1.0', 1, true],
    ['equals', 'true', 1, true],
    ['equals', '"1"', 1, false],
    ['not_equals', 'null', 'x', true],
    ['in', '"a"', ['a'], true],
    ['in', 'null', [null], true],
    ['in', '"abc"', 'b', true],
    ['in', '["b"]', 'b', true],
    ['in', '5', 5, false],
    ['in', '{"b":1}', 'b', false],
    ['regex', '404', '^4', true],
    ['regex', 'true', 'True', true],
    ['regex', '[1]', '1', true],
    ['equals', '[1,2]', [2, 1], false],
  ])('%s of %s and %j: %s', (matchType, field, value, result) => {
    expect(holds(matchType, field, value)).toBe(result);
  });

  test.each<[MatchType, string, Value, boolean]>([
    ['equals', 'null', null, true],
    ['equals', '{"a":[1]}', { a: [1.0] }, true],
    ['not_equals', '1', true, false],
    ['in', 'true', [1], true],
    ['in', '"a"', ['abc'], false],
    ['in', '"a"', [], false],
    ['in', '[1.0]', 1, true],
    ['in', 'null', 'a', false],
    ['in', '"abc"', '', true],
    ['regex', 'null', 'None', false],
    ['regex', '1.0', String.raw`^1\.0$`, true],
    ['regex', '{"a":null}', "'a': None", true],
    ['regex', '1404', 404, true],
    ['regex', '"yes"', null, false],
    ['regex', '"None"', null, true],
  ])('%s of %s and %j: %s (as Python has it)', (matchType, field, value, result) => {
    expect(holds(matchType, field, value)).toBe(result);
  });

  test('sees a field that is missing as null', () => {
    const missing = (matchType: MatchType, value: Value): boolean =>
      compilePredicate({ field: 'a.b', matchType, value }, '')({}, {});
    expect(missing('equals', null)).toBe(true);
    expect(missing('not_equals', 'x')).toBe(true);
    expect(missing('in', [null])).toBe(true);
    expect(missing('regex', '.*')).toBe(false);
  });

  test('fails when another value than a text is looked for in a text', () => {
    expect(() => holds('in', '"5"', 5)).toThrow(ShapeMismatch);
    expect(() => holds('in', '"5"', 5)).toThrow('filters.drop[0].any[0].value is a number');
  });

  test('with an invalid pattern fails before there is a record', () => {
    const compile = (): unknown =>
      compilePredicate({ field: 'f', matchType: 'regex', value: '(' }, 'filters.keep[1].all[2]');
    expect(compile).toThrow(InvalidSetting);
    expect(compile).toThrow('filters.keep[1].all[2].value: is no regular expression that RE2 can run');
  });

  test('reads the answer with $root., which the original could not', () => {
    const test = compilePredicate({ field: '$root.meta.env', matchType: 'equals', value: 'eu' }, '');
    expect(test({}, { meta: { env: 'eu' } })).toBe(true);
    expect(test({}, { meta: { env: 'us' } })).toBe(false);
    expect(() => test({}, [])).toThrow(ShapeMismatch);
  });
});
