import { Refusal } from '../../lib/http/answer.ts';

const MOST = 500;
const USUAL = 100;

export interface Paging {
  readonly offset: number;
  readonly limit: number;
}

/**
 * `?offset=…&limit=…`
 *
 * @throws Refusal when one of them is no number in its bounds
 */
export const pagingOf = (query: URLSearchParams): Paging => ({
  offset: number(query, 'offset', { usual: 0, least: 0, most: Number.MAX_SAFE_INTEGER - MOST }),
  limit: number(query, 'limit', { usual: USUAL, least: 1, most: MOST }),
});

function number(
  query: URLSearchParams,
  name: string,
  { usual, least, most }: { usual: number; least: number; most: number },
): number {
  const text = query.get(name);
  if (text === null) return usual;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Refusal(400, `${name} must be a whole number from ${least} to ${most}`);
}
