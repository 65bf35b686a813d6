import { setImmediate as turn } from 'node:timers/promises';

import type { FoundFiles } from '../../crds/config/adapter-file/file-rules.ts';
import { argumentKeys } from '../../crds/config/adapter-file/file-rules.ts';
import { patternOf } from '../catalog/pattern.ts';
import { stringsAt, type ToolResult } from '../artifacts/locate-output.ts';

/** The paths that a result names, as they stand there, each once. Nothing says that they exist. */
export type FoundNames = (result: ToolResult) => Promise<string[]>;

/** How much text is looked through, and how many names are taken from one result. */
const MAX_TEXT_CHARS = 1 << 20;
/** So much is looked through before others have their turn: a pattern takes some hundred milliseconds for a megabyte. */
const PIECE_CHARS = 1 << 16;
const MAX_NAMES = 100;
const MAX_NAME_CHARS = 4096;

/** A rule of `found` as a function. A pattern that cannot be compiled finds nothing, which is told at the start. */
export function foundNames({ pattern, path_key: key }: Pick<FoundFiles, 'pattern' | 'path_key'>): FoundNames {
  if (key !== null) {
    const keys = argumentKeys(key);
    return async ({ structuredContent }) => distinct(stringsAt(structuredContent, keys, MAX_NAMES));
  }
  const compiled = patternOf(pattern ?? '', false);
  if (!('re2' in compiled)) return () => Promise.resolve([]);
  return async (result) => {
    const names: string[] = [];
    const pieces = textsOf(result).flatMap(piecesOf);
    for (const [place, text] of pieces.entries()) {
      // oxlint-disable-next-line no-await-in-loop -- see PIECE_CHARS
      if (place > 0) await turn();
      const matcher = compiled.re2.matcher(text);
      const group = matcher.groupCount() > 0 ? 1 : 0;
      while (names.length < MAX_NAMES && matcher.find()) names.push(matcher.group(group) ?? '');
    }
    return distinct(names);
  };
}

const distinct = (names: readonly string[]): string[] =>
  [...new Set(names.filter((name) => name !== '' && name.length <= MAX_NAME_CHARS))].slice(0, MAX_NAMES);

/** A long text in pieces that end with lines. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const most = Math.min(text.length, start + PIECE_CHARS);
    const line = text.lastIndexOf('\n', most - 1) + 1;
    const end = most < text.length && line > start ? line : most;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

function textsOf({ content }: ToolResult): string[] {
  if (!Array.isArray(content)) return [];
  let left = MAX_TEXT_CHARS;
  return (content as unknown[]).flatMap((block) => {
    const { type, text } = Object(block) as { type?: unknown; text?: unknown };
    if (type !== 'text' || typeof text !== 'string' || left <= 0) return [];
    const part = text.slice(0, left);
    left -= part.length;
    return [part];
  });
}
