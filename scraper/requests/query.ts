import { isJsonObject } from '../records/shape-mismatch.ts';
import { pythonStr } from '../records/python-text.ts';

/** One parameter of a request; a raw one is sent as it is. */
export interface Parameter {
  readonly name: string;
  readonly value: unknown;
  readonly raw: boolean;
}

/**
 * A query as the original sends it: first the encoded parameters, then the raw ones, each in their order. Lists repeat
 * the name and mappings send their keys. Without a question mark.
 */
export function queryOf(parameters: readonly Parameter[]): string {
  const encoded = parameters.filter(({ raw }) => !raw).flatMap(({ name, value }) => formPairs(name, value));
  const raw = parameters.filter(({ raw }) => raw).map(({ name, value }) => `${name}=${pythonStr(value)}`);
  return [...encoded, ...raw.map(asUrl)].join('&');
}

/** A mapping as `application/x-www-form-urlencoded`. */
export function formOf(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .flatMap(([name, value]) => formPairs(name, value))
    .join('&');
}

const formPairs = (name: string, value: unknown): string[] =>
  elements(value).map((element) => `${formEncoded(name)}=${formEncoded(pythonStr(element))}`);

function elements(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.keys(value) : [value];
}

/** Python's quote_plus: all but letters, digits and `_.-~` as UTF-8, and a space as a plus. */
export function formEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

/** What cannot stand in the query of a URL, escaped; `%` and all other signs stay. */
export const asUrl = (text: string): string =>
  text.toWellFormed().replaceAll(/[^!$-;=?-~]+/g, (characters) => encodeURIComponent(characters));
