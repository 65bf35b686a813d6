import type { RE2JS } from 're2js';

import type { ArtifactProducer } from '../../crds/config/adapter-file/entry.ts';
import { patternOf } from '../catalog/pattern.ts';
import { cleanedPaths, pathOf, pathsInText } from './paths-in-text.ts';

/** How much text is looked through; a result that names a file is far shorter. */
const MAX_TEXT_CHARS = 1 << 20;
/** More names than this are no hint where the file is. */
const MAX_CANDIDATES = 64;
const MAX_NODES = 10_000;
const MAX_DEPTH = 64;

/** The members of a tool's result that may say where its file is, or hold it. */
export interface ToolResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
}

/** Absolute paths that a result names, in the order in which they are to be tried. Nothing says that they exist. */
export type LocateOutput = (result: ToolResult) => string[];

type OutputLocator = ArtifactProducer['output_locator'];

/**
 * `output_locator` as a function. An invalid pattern is left out (specification 2.8), which is told at the start.
 */
export function locateOutput(locator: OutputLocator): LocateOutput {
  const { mode, output_path_key: key, output_path_regexes: regexes } = locator;
  if (mode === 'structured' && key !== null && key !== '') {
    const path = key.split('.').map((part) => part.trim());
    return ({ structuredContent }) => distinct(stringsAt(structuredContent, path, MAX_CANDIDATES).flatMap(asPath));
  }
  if (mode !== 'regex') return () => [];
  if (regexes.length === 0) return (result) => distinct(pathsInText(textOf(result), MAX_CANDIDATES));
  const patterns = regexes.flatMap(compiled);
  return (result) => {
    const text = textOf(result);
    return distinct(patterns.flatMap((pattern) => matches(pattern, text)));
  };
}

/** Every string of the structured content that is an absolute path, wherever it stands. */
export function pathsIn(structuredContent: unknown): string[] {
  const found: string[] = [];
  let nodes = 0;
  const visit = (value: unknown, depth: number): void => {
    if (nodes++ > MAX_NODES || depth > MAX_DEPTH || found.length >= MAX_CANDIDATES) return;
    if (typeof value === 'string') found.push(...asPath(value));
    else if (typeof value === 'object' && value !== null) {
      for (const member of Object.values(value)) visit(member, depth + 1);
    }
  };
  visit(structuredContent, 0);
  return distinct(found);
}

function compiled(source: string): RE2JS[] {
  const pattern = patternOf(source, false);
  return 're2' in pattern ? [pattern.re2] : [];
}

function matches(pattern: RE2JS, text: string): string[] {
  const matcher = pattern.matcher(text);
  const group = matcher.groupCount() > 0 ? 1 : 0;
  const found: string[] = [];
  while (found.length < MAX_CANDIDATES && matcher.find()) found.push(...cleanedPaths(matcher.group(group) ?? ''));
  return found;
}

function textOf({ content }: ToolResult): string {
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const block of content as unknown[]) {
    if (text.length >= MAX_TEXT_CHARS) break;
    const { type, text: own } = (block ?? {}) as { type?: unknown; text?: unknown };
    if (type === 'text' && typeof own === 'string') text += (text === '' ? '' : '\n') + own.slice(0, MAX_TEXT_CHARS);
  }
  return text.slice(0, MAX_TEXT_CHARS);
}

/** Strings, and those of lists, at a path; lists on the way are looked through, so many elements of each. */
export function stringsAt(value: unknown, path: readonly string[], limit: number): string[] {
  if (Array.isArray(value)) return value.slice(0, limit).flatMap((one: unknown) => stringsAt(one, path, limit));
  const [key, ...rest] = path;
  if (key === undefined) return typeof value === 'string' ? [value] : [];
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return [];
  return stringsAt((value as Record<string, unknown>)[key], rest, limit);
}

function asPath(value: string): string[] {
  const path = pathOf(value.trim());
  return path === undefined ? [] : [path];
}

const distinct = (paths: readonly string[]): string[] => [...new Set(paths)].slice(0, MAX_CANDIDATES);
