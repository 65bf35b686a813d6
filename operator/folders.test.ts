import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { foldersOf, productFiles, wrongImports } from '../lib/testing/folder-order.ts';

const ROOT = import.meta.dirname;
/** Each imports only those before it. Files beside them put the program together. */
const ORDER = [
  ...'kubernetes cache apply status controllers leader metrics tasks validation pods health'.split(' '),
  ...'config build check health lock status'.split(' ').map((room) => `mcp-adapter/${room}`),
  'mcp-adapter',
  ...'group build status'.split(' ').map((room) => `scrape-group/${room}`),
  'scrape-group',
  'local',
  ...'cluster output commands/status commands/lock commands/logs commands/call commands/report commands'
    .split(' ')
    .map((room) => `plugin/${room}`),
  'plugin',
];
/** Files beside the folders that folders may import. */
const SHARED = ['command-line.ts', 'controller-deps.ts'];
const MAX_FILES = 25;
const MAX_LINES = 350;

test('the arrows between the folders point one way', () => {
  expect(wrongImports(ROOT, ORDER, SHARED)).toEqual([]);
});

test('each folder has its place in the order and few files, each of them short', () => {
  const folders = [...foldersOf(ROOT)];
  const linesOf = (file: string): number => readFileSync(join(ROOT, file), 'utf8').trimEnd().split('\n').length;
  expect(folders.map(([folder]) => folder).toSorted()).toEqual(ORDER.toSorted());
  const files = productFiles(ROOT);
  expect(
    [['.', files.filter((file) => !file.includes('/'))] as const, ...folders].filter(
      ([, own]) => own.length > MAX_FILES,
    ),
  ).toEqual([]);
  expect(files.filter((file) => linesOf(file) > MAX_LINES)).toEqual([]);
});
