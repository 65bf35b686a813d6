import type { Source } from '../../crds/config/scraper-file/source.ts';

/**
 * Whether the answers of a source must be parsed exactly: where 1.0 and 1, or integers beyond 2^53, would come out
 * differently: in fingerprints, in log records and their times, in attributes, and in filters, where a regular expression
 * sees the text of a number. Readings are doubles anyway.
 */
export function needsExactNumbers({
  deltaDetection,
  emitLogs,
  attributes,
  filters,
}: Pick<Source, 'deltaDetection' | 'emitLogs' | 'attributes' | 'filters'>): boolean {
  return (
    deltaDetection.enabled || emitLogs || attributes.length > 0 || filters.drop.length > 0 || filters.keep.length > 0
  );
}
