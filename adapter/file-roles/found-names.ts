import type { FoundFiles } from '../../crds/config/adapter-file/file-rules.ts';
import { argumentKeys } from '../../crds/config/adapter-file/file-rules.ts';
import { patternOf } from '../catalog/pattern.ts';
import { stringsAt, type ToolResult } from '../artifacts/locate-output.ts';

/** The paths that a result names, as they stand there, each once. Nothing says that they exist. */
export type FoundNames = (result: ToolResult) => string[];

/** How much text is looked through, and how many names are taken from one result. */
const MAX_TEXT_CHARS = 1 << 20;
const MAX_NAMES = 100;
const MAX_NAME_CHARS = 4096;

/** A rule of `found` as a function. A pattern that cannot be compiled finds nothing, which is told at the start. */
export function foundNames({ pattern, path_key: key }: Pick<FoundFiles, 'pattern' | 'path_key'>): FoundNames {
  if (key !== null) {
    const keys = argumentKeys(key);
    return ({ structuredContent }) => distinct(stringsAt(structuredContent, keys, MAX_NAMES));
  }
  const compiled = patternOf(pattern ?? '', false);
  if (!('re2' in compiled)) return () => [];
  return (result) => {
    const names: string[] = [];
    for (const text of textsOf(result)) {
      const matcher = compiled.re2.matcher(text);
      const group = matcher.groupCount() > 0 ? 1 : 0;
      while (names.length < MAX_NAMES && matcher.find()) names.push(matcher.group(group) ?? '');
    }
    return distinct(names);
  };
}

const distinct = (names: readonly string[]): string[] =>
  [...new Set(names.filter((name) => name !== '' && name.length <= MAX_NAME_CHARS))].slice(0, MAX_NAMES);

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
