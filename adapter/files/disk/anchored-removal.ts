import { randomBytes } from 'node:crypto';
import type { AnchoredFolder } from './anchored-folder.ts';
import { diskFailure, errorCode } from './disk-failure.ts';
import { FileRefused, StorageFault } from '../keys/file-key.ts';

/** Each level keeps a descriptor open. What lies deeper is moved up first, so that nobody can use all of them up. */
const DEEPEST = 16;
/** How often in a row a folder may be found filled again with nothing removed. */
const FRUITLESS_ROUNDS = 5;

/**
 * Removes an entry of a folder, whatever it is and holds, whatever changes meanwhile. Links are removed, not followed.
 * Harmless when it is gone already.
 */
export async function removeEntry(folder: AnchoredFolder, name: string): Promise<void> {
  for (let round = 0; round < FRUITLESS_ROUNDS; round++) {
    if ((await unlinked(folder, name)) || (await removedFolder(folder, name))) return;
    // It was replaced between the two.
  }
  throw new StorageFault('EBUSY', `${folder.pathOf(name)} keeps changing while it is removed`);
}

/** Removes a folder that is empty, or what is no folder; leaves a folder into which something has come. */
export async function removeEmpty(parent: AnchoredFolder, name: string): Promise<void> {
  try {
    await parent.rmdir(name);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOTDIR') await removeEntry(parent, name);
    else if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(code)) throw diskFailure(error, parent.pathOf(name));
  }
}

/** Removes everything in a folder but the entry `except`. */
export async function emptyFolder(folder: AnchoredFolder, except?: string): Promise<void> {
  for await (const entry of folder.entries()) {
    if (entry.name !== except) await removeEntry(folder, entry.name);
  }
}

/** False: it is a folder. */
async function unlinked(folder: AnchoredFolder, name: string): Promise<boolean> {
  try {
    await folder.unlink(name);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return true;
    // POSIX says EPERM for a folder, Linux EISDIR; EPERM is also what it means.
    if (code === 'EISDIR') return false;
    if (code === 'EPERM' && (await folder.stats(name))?.isDirectory() !== false) return false;
    throw diskFailure(error, folder.pathOf(name));
  }
}

/** False: it is no folder (any more). */
async function removedFolder(parent: AnchoredFolder, name: string): Promise<boolean> {
  for (let fruitless = 0; fruitless < FRUITLESS_ROUNDS; fruitless++) {
    try {
      using folder = await parent.openFolder(name);
      if ((await removeContents(folder, { top: folder, depth: 0 })) > 0) fruitless = 0;
    } catch (error) {
      if (error instanceof FileRefused) return error.reason === 'missing';
      throw error;
    }
    // Closed before: the last descriptor of a folder that is gone frees it on the disk, while everything waits.
    try {
      await parent.rmdir(name);
      return true;
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT') return true;
      if (code === 'ENOTDIR') return false;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw diskFailure(error, parent.pathOf(name));
    }
  }
  throw new StorageFault('ENOTEMPTY', `${parent.pathOf(name)} is filled again while it is removed`);
}

/** Returns how many entries were removed or moved up. */
async function removeContents(
  folder: AnchoredFolder,
  { top, depth }: { top: AnchoredFolder; depth: number },
): Promise<number> {
  let removed = 0;
  for await (const { name } of folder.entries()) {
    if (!(await unlinked(folder, name))) {
      if (depth < DEEPEST) await removeSubfolder(folder, name, { top, depth: depth + 1 });
      else await moveUp(folder, name, top);
    }
    removed += 1;
  }
  return removed;
}

/** What stands in the way is left for the next round. */
async function removeSubfolder(
  parent: AnchoredFolder,
  name: string,
  place: { top: AnchoredFolder; depth: number },
): Promise<void> {
  try {
    await removeContentsOf(parent, name, place);
    await parent.rmdir(name);
  } catch (error) {
    const gone = error instanceof FileRefused && error.reason !== 'changed';
    if (!gone && !['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) {
      throw diskFailure(error, parent.pathOf(name));
    }
  }
}

async function removeContentsOf(
  parent: AnchoredFolder,
  name: string,
  place: { top: AnchoredFolder; depth: number },
): Promise<void> {
  using folder = await parent.openFolder(name);
  await removeContents(folder, place);
}

async function moveUp(folder: AnchoredFolder, name: string, top: AnchoredFolder): Promise<void> {
  try {
    await folder.rename(name, randomBytes(16).toString('hex'), top);
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
  }
}
