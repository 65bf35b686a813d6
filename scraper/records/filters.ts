import type { Filters } from '../../crds/config/scraper-file/filters.ts';
import { type RecordTest, compilePredicate } from './predicates.ts';

/** The records of an answer that are emitted. */
export type RecordFilter = (records: readonly unknown[], root: unknown) => readonly unknown[];

/**
 * `filters.drop` and then `filters.keep` of a source: a record goes when any predicate of any drop rule holds,
 * and stays when all predicates of one keep rule hold, or when there is no keep rule. The limit is not applied here,
 * because it counts the records of a scrape that are left after delta detection.
 *
 * @throws InvalidSetting for an invalid regular expression
 */
export function compileFilters({ drop, keep }: Pick<Filters, 'drop' | 'keep'>): RecordFilter {
  if (drop.length === 0 && keep.length === 0) return (records) => records;
  const dropped = drop.flatMap((rule, index) => compile(rule.any, `filters.drop[${index}].any`));
  const kept = keep.map((rule, index) => compile(rule.all, `filters.keep[${index}].all`));
  return (records, root) =>
    records.filter(
      (record) =>
        !dropped.some((test) => test(record, root)) &&
        (kept.length === 0 || kept.some((rule) => rule.every((test) => test(record, root)))),
    );
}

const compile = (predicates: Filters['drop'][number]['any'], at: string): RecordTest[] =>
  predicates.map((predicate, index) => compilePredicate(predicate, `${at}[${index}]`));
