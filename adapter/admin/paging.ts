import { Refusal } from '../../lib/http/answer.ts';

const MOST = 500;
const USUAL = 100;
/** Deeper pages are found by going through all before them. */
const DEEPEST = 1_000_000;

/** `?limit=` @throws Refusal when it is no number in its bounds */
export const limitOf = (query: URLSearchParams): number => numberOf(query, 'limit', USUAL, 1, MOST);

/** `?offset=` @throws Refusal when it is no number in its bounds */
export const offsetOf = (query: URLSearchParams): number => numberOf(query, 'offset', 0, 0, DEEPEST);

function numberOf(query: URLSearchParams, name: string, usual: number, least: number, most: number): number {
  const text = query.get(name);
  if (text === null) return usual;
  const value = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Refusal(400, `${name} must be a whole number from ${least} to ${most}`);
}
