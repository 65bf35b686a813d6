import type { Subject } from './subject.ts';

const has = (words: readonly string[], ...wanted: readonly string[]): boolean =>
  wanted.some((word) => words.includes(word));

/** Names that are a file only where something else says so: `source` is a range of cells in one tool, a file in the next. */
const EITHER = (
  'source src destination dest dst target input output document doc image picture photo logo template attachment pdf csv video ' +
  'audio workbook presentation spreadsheet archive location'
).split(' ');

const SAYS_PATH =
  /\b(?:file ?paths?|file ?names?|paths? (?:to|of|for|where)|(?:absolute|relative|full|local|output|input) (?:\w+ )?(?:paths?|files?))\b/i;

/** What a description of a path begins with, whatever the argument is called. */
const IS_PATH =
  /^(?:(?:the|an?|optional|full|absolute|relative|local|valid|or|list of|array of|one or more) )*(?:file ?)?(?:paths?|file ?names?) (?:to|of|for|where|on)\b/i;

/** Whether an argument is a file or a folder by its name or by what is said of it. */
export function isPathLike({ words, says, toolWords }: Subject): boolean {
  if (has(words, 'path', 'file', 'filename', 'pathname', 'fname')) return true;
  if (isFolder(words, says)) return true;
  if (has(words, 'uri')) return true;
  if (IS_PATH.test(says)) return true;
  if (!has(words, ...EITHER)) return false;
  if (says !== '') return SAYS_PATH.test(says) || /\bpaths?\b/i.test(says);
  // `image_source`, `source` of move_file
  return (
    words.every((word) => EITHER.includes(word)) && (words.length > 1 || has(toolWords, 'file', 'document', 'workbook'))
  );
}

const FOLDER_SAID =
  /^(?:(?:the|an?|optional[.:,]?|custom|full|absolute|relative|local|path|to|of|output|target) )*(?:\w+ )?(?:director(?:y|ies)|folders?)\b/i;

/** Whether it is a folder rather than a file. */
export function isFolder(words: readonly string[], says: string): boolean {
  if (has(words, 'dir', 'directory', 'folder')) return true;
  return (
    has(words, 'path', 'output', 'destination', 'to') && FOLDER_SAID.test(says) && !/\bfile\b.{0,12}\bor\b/i.test(says)
  );
}
