import { skipSpace, type Span } from '../exchange/scanning/json-scan.ts';
import type { TextEdit } from './definition-texts.ts';

/** The edits (of `splice`) that take whole members or elements out, in their order, each with one comma. */
export function removals(text: string, parts: readonly Span[]): TextEdit[] {
  const edits: TextEdit[] = [];
  for (const part of parts) {
    // One directly before it: both go as one.
    const start = edits.at(-1)?.end === part.start ? (edits.pop()?.start ?? part.start) : part.start;
    const next = skipSpace(text, part.end);
    if (text.charAt(next) === ',') edits.push({ start, end: skipSpace(text, next + 1), with: '' });
    else edits.push({ start: withCommaBefore(text, start), end: part.end, with: '' });
  }
  return edits;
}

function withCommaBefore(text: string, start: number): number {
  const before = text.slice(0, start).trimEnd().length - 1;
  return text.charAt(before) === ',' ? before : start;
}
