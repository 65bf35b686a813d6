/**
 * The original's form of a time in its state: Python's `isoformat`, in UTC with microseconds. Versions of Python before
 * 3.11 read no `Z` and no milliseconds.
 */
export const lastSuccessText = (time: Date): string => time.toISOString().replace(/Z$/, '000+00:00');

/** Undefined for a text that is no time, which the original takes for "never scraped". Without an offset it is UTC. */
export function parseLastSuccess(text: string): Date | undefined {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, day, clock, fraction = '', offset = 'Z'] = match;
  // Cut, not rounded: scraping from a little earlier leaves nothing out.
  const time = new Date(
    `${day}T${clock}.${fraction.padEnd(3, '0').slice(0, 3)}${offset.replace(/^(...)(\d\d)$/, '$1:$2')}`,
  );
  return Number.isNaN(time.getTime()) ? undefined : time;
}
