import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

import { expect, test } from 'vitest';

const ROOT = import.meta.dirname;
/** Each imports only those before it. Files beside them put the program together. */
const ORDER = [
  ...'kubernetes cache apply status controllers leader metrics tasks validation pods health'.split(' '),
  ...'config build check health status'.split(' ').map((room) => `mcp-adapter/${room}`),
  'mcp-adapter',
  ...'group build status'.split(' ').map((room) => `scrape-group/${room}`),
  'scrape-group',
  'local',
];
/** Files beside the folders that folders may import. */
const SHARED = ['command-line.ts', 'controller-deps.ts'];
const MAX_FILES = 25;
const MAX_LINES = 350;
const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

const FILES = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !/\.(test|contract)\.ts$|(^|\/)testing\//.test(file),
);

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const importsOf = (file: string): string[] =>
  Array.from(textOf(file).matchAll(IMPORT), ([, target = '']) =>
    relative(ROOT, resolve(ROOT, dirname(file), target)),
  ).filter((target) => !target.startsWith('..'));

test('the arrows between the folders point one way', () => {
  const isBelow = (target: string, file: string): boolean => {
    const place = ORDER.indexOf(dirname(target));
    return SHARED.includes(target) || (place >= 0 && place <= ORDER.indexOf(dirname(file)));
  };
  const wrong = FILES.filter((file) => file.includes('/')).flatMap((file) =>
    importsOf(file).flatMap((target) => (isBelow(target, file) ? [] : [`${file} imports ${target}`])),
  );
  expect(wrong).toEqual([]);
});

test('each folder has its place in the order and few files, each of them short', () => {
  const folders = Object.entries(Object.groupBy(FILES, (file) => dirname(file)));
  expect(
    folders
      .map(([folder]) => folder)
      .filter((folder) => folder !== '.')
      .toSorted(),
  ).toEqual(ORDER.toSorted());
  expect(folders.filter(([, files]) => (files ?? []).length > MAX_FILES)).toEqual([]);
  expect(FILES.filter((file) => textOf(file).trimEnd().split('\n').length > MAX_LINES)).toEqual([]);
});
