import { setImmediate as turn } from 'node:timers/promises';

import { FileRefused } from '../keys/file-key.ts';
import { type AnchoredFolder, utf8 } from './anchored-folder.ts';

/** Each level keeps a descriptor open. */
const DEEPEST = 8;
/** A tool may fill its folder with any number of entries; nobody looks at more of them. */
const MOST_ENTRIES = 20_000;
/** The disk may be one whose steps keep everybody waiting (see `immediate`). */
const AT_ONCE = 200;

/** The plain files in a folder and those below it. Links are not followed. */
export async function* filesBelow(folder: AnchoredFolder): AsyncGenerator<readonly string[]> {
  let seen = 0;
  async function* below(inner: AnchoredFolder, names: readonly string[]): AsyncGenerator<readonly string[]> {
    for await (const { name } of inner.entries()) {
      if (++seen > MOST_ENTRIES) return;
      if (seen % AT_ONCE === 0) await turn();
      const stats = await inner.stats(name);
      const path = [...names, utf8(name)];
      if (stats?.isFile() === true) yield path;
      else if (stats?.isDirectory() === true && path.length < DEEPEST) {
        using opened = await inner.openFolder(name).catch(nothing);
        if (opened !== undefined) yield* below(opened, path);
      }
    }
  }
  yield* below(folder, []);
}

/** Moves the file at some names below a folder; no link is followed on the way. FileRefused: it is not there. */
export async function moveBelow(
  folder: AnchoredFolder,
  names: readonly string[],
  to: AnchoredFolder,
  filename: string,
): Promise<void> {
  const [name = '', ...rest] = names;
  if (rest.length > 0) {
    using inner = await folder.openFolder(name);
    return await moveBelow(inner, rest, to, filename);
  }
  const stats = await folder.stats(name);
  if (stats === undefined) throw new FileRefused('missing', `${folder.pathOf(name)} is not there`);
  if (!stats.isFile()) throw new FileRefused('not_a_file', `${folder.pathOf(name)} is no regular file`);
  if (stats.nlink > 1) throw new FileRefused('linked', `${folder.pathOf(name)} has ${stats.nlink} names`);
  await folder.rename(name, filename, to);
}

/** It has gone, or is no folder any more. */
function nothing(error: unknown): undefined {
  if (!(error instanceof FileRefused)) throw error;
}
