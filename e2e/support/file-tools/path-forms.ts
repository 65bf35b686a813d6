import { dirname, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

const hex = (text: string, before: string): string =>
  [...Buffer.from(text)].map((byte) => before + byte.toString(16).padStart(2, '0')).join('');

/** A path, its folder and the one above, in the forms in which programs write paths. */
export function formsOf(path: string): string[] {
  const folders = [path, dirname(path), dirname(dirname(path))];
  return folders.flatMap((one) => [
    one,
    `"${one}"`,
    `[x](${one})`,
    `path=${one},`,
    relative(process.cwd(), one),
    pathToFileURL(one).href,
    encodeURIComponent(one),
    encodeURIComponent(encodeURIComponent(one)),
    `file://${hex(one, '%')}`,
    hex(one, String.raw`\u00`),
    JSON.stringify({ path: one }).replaceAll('/', String.raw`\/`),
    one.replaceAll('/', '//'),
    one.replaceAll('/', '/./'),
    `C:${one.replaceAll('/', '\\')}`,
    one.toUpperCase(),
  ]);
}
