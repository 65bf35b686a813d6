import { describe, expect, test } from 'vitest';
import { Filters } from '../../crds/config/scraper-file/filters.ts';
import { compileFilters } from './filters.ts';

const records = [
  { id: 1, kind: 'order', ok: true },
  { id: 2, kind: 'order', ok: false },
  { id: 3, kind: 'login', ok: true },
  { id: 4 },
];

const kind = (value: unknown) => ({ field: 'kind', matchType: 'equals' as const, value });
const ok = (value: unknown) => ({ field: 'ok', matchType: 'equals' as const, value });

function idsOf(filters: unknown): number[] {
  const kept = compileFilters(Filters.parse(filters))(records, null);
  return kept.map((record) => (record as { id: number }).id);
}

describe('filters', () => {
  test('keep everything when there are none', () => {
    expect(idsOf({})).toEqual([1, 2, 3, 4]);
  });

  test('drop a record when any predicate of any rule holds', () => {
    expect(idsOf({ drop: [{ any: [kind('login'), ok(false)] }, { any: [kind(null)] }] })).toEqual([1]);
  });

  test('keep a record when all predicates of one rule hold', () => {
    expect(idsOf({ keep: [{ all: [kind('order'), ok(true)] }, { all: [kind('login')] }] })).toEqual([1, 3]);
  });

  test('drop before they keep', () => {
    expect(idsOf({ drop: [{ any: [ok(false)] }], keep: [{ all: [kind('order')] }] })).toEqual([1]);
  });

  test('drop nothing by an empty rule, and keep everything by one', () => {
    expect(idsOf({ drop: [{ any: [] }] })).toEqual([1, 2, 3, 4]);
    expect(idsOf({ keep: [{ all: [kind('nope')] }, { all: [] }] })).toEqual([1, 2, 3, 4]);
  });

  test('leave the limit to the scrape', () => {
    expect(idsOf({ limits: { maxRecordsPerScrape: 1 } })).toEqual([1, 2, 3, 4]);
  });

  test('name the predicate that is invalid', () => {
    const drop = [{ any: [kind('a')] }, { any: [kind('a'), { field: 'kind', matchType: 'regex', value: '(' }] }];
    expect(() => idsOf({ drop })).toThrow('filters.drop[1].any[1].value: ');
  });
});
