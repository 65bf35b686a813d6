import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** The product files of a folder and all below it, as paths from there. */
export const productFiles = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/\.(test|contract|heavy)\.ts$|(^|\/)testing\//.test(file),
  );

/** The folders with product files below `root`, each with its own. */
export function foldersOf(root: string): ReadonlyMap<string, readonly string[]> {
  const folders = Map.groupBy(productFiles(root), (file) => dirname(file));
  folders.delete('.');
  return folders;
}

/**
 * Imports that go against an order of folders, where each may know itself and those before it.
 * @param shared files beside the folders that all of these may know
 */
export function wrongImports(root: string, order: readonly string[], shared: readonly string[]): string[] {
  return [...foldersOf(root)].flatMap(([folder, files]) => {
    const known = new Set(order.slice(0, order.indexOf(folder) + 1));
    return files.flatMap((file) =>
      importsOf(root, file)
        .filter((target) => !shared.includes(target) && !known.has(dirname(target)))
        .map((target) => `${file} imports ${target}`),
    );
  });
}

/** What a file imports of all that is below `root`. */
export const importsOf = (root: string, file: string): string[] =>
  Array.from(readFileSync(join(root, file), 'utf8').matchAll(IMPORT), ([, specifier = '']) =>
    relative(root, resolve(root, dirname(file), specifier)),
  ).filter((target) => !target.startsWith('..'));
