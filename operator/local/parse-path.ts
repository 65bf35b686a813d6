import type { Path } from '../../lib/json/tree.ts';

/** The inverse of `dottedPath`: `servers[0]["a b"].url` → `['servers', 0, 'a b', 'url']`. */
export function parsePath(text: string): Path {
  const path: (string | number)[] = [];
  for (const [, word, index, quoted] of text.matchAll(/([^.[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    if (index !== undefined) path.push(Number(index));
    else if (quoted !== undefined) path.push(JSON.parse(quoted) as string);
    else if (word !== undefined) path.push(word);
  }
  return path;
}
