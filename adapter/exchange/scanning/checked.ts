import { upstreamNotJson } from '../../errors.ts';

/** Where something stands in a text can be said of JSON only. */
export function checked(text: string): string {
  if (!isJson(text)) throw upstreamNotJson();
  return text;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
