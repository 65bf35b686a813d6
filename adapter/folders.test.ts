import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

import { expect, test } from 'vitest';

const ROOT = import.meta.dirname;
/** Folders and rooms in them. Each knows only those before it, and what stands in `lib/`, `crds/` and the files below. */
const ORDER = (
  'exchange identity catalog telemetry state state/tables state/memory state/sqlite state/redis state/availability ' +
  'state/open path upstream sessions ' +
  'files/keys files/disk files/s3 files/locks files/urls files/store files/uploads files/reconcile cleanup ' +
  'tools lists uploads artifacts mount code-mode health steps callers gateway http'
).split(' ');
/** Files beside the folders that know none of them; the others put the program together. */
const FOR_ALL = ['errors.ts', 'limits.ts', 'byte-account.ts', 'caches.ts'];
const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

const isProduct = (name: string): boolean => name.endsWith('.ts') && !/\.(test|contract)\.ts$/.test(name);

/** Which folder, or room in one, or file beside them, a file belongs to. */
function placeOf(path: string): string {
  const [folder = '', room] = relative(ROOT, path).split('/');
  return ORDER.includes(`${folder}/${room}`) ? `${folder}/${room}` : folder;
}

function importsOf(path: string): string[] {
  const found = readFileSync(path, 'utf8').matchAll(IMPORT);
  return Array.from(found, ([, specifier = '']) => resolve(dirname(path), specifier)).filter(
    (one) => !relative(ROOT, one).startsWith('..'),
  );
}

test('the arrows between the folders point one way', () => {
  const wrong: string[] = [];
  const places = [...ORDER, ...FOR_ALL];
  for (const place of places) {
    const isFile = FOR_ALL.includes(place);
    const files = isFile
      ? [place]
      : readdirSync(join(ROOT, place))
          .filter(isProduct)
          .map((name) => join(place, name));
    for (const file of files) {
      for (const target of importsOf(join(ROOT, file))) {
        const other = placeOf(target);
        const isBelow = ORDER.indexOf(other) <= ORDER.indexOf(place) && ORDER.includes(other);
        if (FOR_ALL.includes(other) || (isBelow && !isFile)) continue;
        wrong.push(`${file} imports ${relative(ROOT, target)}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

test('each folder has its place in the order', () => {
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter(isProduct);
  const folders = new Set(files.map(dirname).filter((name) => name !== '.' && !/\btesting\b/.test(name)));
  expect([...folders].toSorted()).toEqual(ORDER.toSorted());
});
