import { elements, type Span } from '../exchange/scanning/json-scan.ts';

/** The edits (of `splice`) that put JSON texts at the end of a list. */
export function insertElements(text: string, list: Span, added: readonly string[]): (Span & { with: string })[] {
  if (added.length === 0) return [];
  const end = text.lastIndexOf(']', list.end - 1);
  const isEmpty = elements(text, list.start).next().done === true;
  return [{ start: end, end, with: `${isEmpty ? '' : ','}${added.join(',')}` }];
}
