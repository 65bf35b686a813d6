import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { foldersOf, productFiles, wrongImports } from '../lib/testing/folder-order.ts';

const ROOT = import.meta.dirname;
/** Each imports only those before it. Files beside them put the program together. */
const ORDER = 'times records limits requests output state window run source explain http'.split(' ');
/** Files beside the folders that folders may import. */
const SHARED = ['logger.ts', 'status.ts'];
/** The admin API is the only one that knows the whole. */
const OF_HTTP = 'scraper.ts';
const MAX_FILES = 25;
const MAX_LINES = 350;

test('the arrows between the folders point one way', () => {
  const wrong = wrongImports(ROOT, ORDER, SHARED);
  expect(wrong.filter((arrow) => !(arrow.startsWith('http/') && arrow.endsWith(` ${OF_HTTP}`)))).toEqual([]);
});

test('each folder has its place in the order and few files, each of them short', () => {
  const folders = [...foldersOf(ROOT)];
  const linesOf = (file: string): number => readFileSync(join(ROOT, file), 'utf8').trimEnd().split('\n').length;
  expect(folders.map(([folder]) => folder).toSorted()).toEqual(ORDER.toSorted());
  const files = productFiles(ROOT);
  const beside = files.filter((file) => !file.includes('/'));
  const crowded = [['.', beside] as const, ...folders].filter(([, own]) => own.length > MAX_FILES);
  expect(crowded).toEqual([]);
  expect(files.filter((file) => linesOf(file) > MAX_LINES)).toEqual([]);
});
