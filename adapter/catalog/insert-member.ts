import { members, type Span } from '../exchange/scanning/json-scan.ts';

/** The edit (of `splice`) that gives an object one member more, as its first. `value` is JSON text. */
export function insertMember(text: string, object: Span, key: string, value: string): Span & { with: string } {
  const at = text.indexOf('{', object.start) + 1;
  const isEmpty = members(text, object.start).next().done === true;
  return { start: at, end: at, with: `${JSON.stringify(key)}:${value}${isEmpty ? '' : ','}` };
}
