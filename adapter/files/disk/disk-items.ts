import type { FileKind } from '../../state/file-records.ts';
import { type AnchoredFolder, rawName, utf8 } from './anchored-folder.ts';
import { isForbidden } from './disk-failure.ts';
import type { StagedItem } from './staging-area.ts';
import { isId, TEMPORARY_NAME } from '../keys/paths.ts';
import { FileRefused } from '../keys/file-key.ts';

/** An upstream may fill a folder with any number of files; so many tell its age well enough. */
const ENTRIES_LOOKED_AT = 1_000;

interface Where {
  readonly kind: FileKind;
  readonly serverId?: string;
}

/**
 * Everything in one folder of sessions, one step at a time: nothing is collected or sorted. What an
 * upstream of another user has made for itself alone is given as `unreadable`; all else has its turn all the same.
 */
export async function* stagedItems(
  sessions: AnchoredFolder,
  where: Where,
  signal: AbortSignal,
): AsyncGenerator<StagedItem> {
  for await (const { name } of sessions.entries()) {
    signal.throwIfAborted();
    try {
      yield* sessionItems(sessions, { ...where, sessionId: name }, signal);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      yield { ...where, sessionId: name, entry: null, fileId: null, temporary: [], modifiedAt: 0, unreadable: error };
    }
  }
}

/** The same of one server, whose folder is only read: others may have made it, or put a link in its place. */
export async function* itemsOfServer(
  open: () => Promise<AnchoredFolder | undefined>,
  where: Where & { serverId: string },
  signal: AbortSignal,
): AsyncGenerator<StagedItem> {
  let sessions;
  try {
    sessions = await open();
  } catch (error) {
    if (isForbidden(error))
      yield { ...where, sessionId: '', entry: null, fileId: null, temporary: [], modifiedAt: 0, unreadable: error };
    else if (!(error instanceof FileRefused)) throw error;
  }
  if (sessions === undefined) return;
  using opened = sessions;
  yield* stagedItems(opened, where, signal);
}

/** Files directly in an item's folder, temporary ones left out. */
export async function* regularFiles(folder: AnchoredFolder): AsyncGenerator<{ name: string; modifiedAt: number }> {
  for await (const { name } of folder.entries()) {
    const readable = utf8(name);
    if (TEMPORARY_NAME.test(readable) || rawName(readable) !== name) continue;
    const stats = await folder.stats(name);
    if (stats?.isFile()) yield { name: readable, modifiedAt: stats.mtimeMs };
  }
}

async function* sessionItems(
  sessions: AnchoredFolder,
  where: Where & { sessionId: string },
  signal: AbortSignal,
): AsyncGenerator<StagedItem> {
  const { sessionId } = where;
  const stray = { ...where, entry: null, fileId: null, temporary: [] };
  const session = await folderAt(sessions, sessionId);
  if (session === 'gone') return;
  if (session === 'no folder') {
    const stats = await sessions.stats(sessionId);
    if (stats !== undefined) yield { ...stray, modifiedAt: stats.mtimeMs };
    return;
  }
  using opened = session;
  let empty = true;
  for await (const { name } of opened.entries()) {
    signal.throwIfAborted();
    const item = await itemAt(opened, { ...where, entry: name });
    if (item === undefined) continue;
    empty = false;
    yield item;
  }
  if (empty) yield { ...stray, modifiedAt: (await opened.ownStats()).mtimeMs };
}

/** Undefined when it is gone. */
async function itemAt(
  session: AnchoredFolder,
  place: Where & { sessionId: string; entry: string },
): Promise<StagedItem | undefined> {
  const { sessionId, entry } = place;
  const other = { ...place, fileId: null, temporary: [] };
  try {
    const folder = await folderAt(session, entry);
    if (folder === 'gone') return undefined;
    if (folder === 'no folder') {
      const stats = await session.stats(entry);
      return stats && { ...other, modifiedAt: stats.mtimeMs };
    }
    using opened = folder;
    const { temporary, versions, modifiedAt } = await contents(opened);
    return isId(sessionId) && isId(entry)
      ? { ...place, fileId: entry, temporary, ...(versions.length > 0 && { versions }), modifiedAt }
      : { ...other, modifiedAt };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { ...other, modifiedAt: 0, unreadable: error };
  }
}

async function contents(
  folder: AnchoredFolder,
): Promise<{ temporary: string[]; versions: string[]; modifiedAt: number }> {
  let modifiedAt = (await folder.ownStats()).mtimeMs;
  const temporary: string[] = [];
  const others: string[] = [];
  let isEdited = false;
  let seen = 0;
  for await (const { name } of folder.entries()) {
    const stats = await folder.stats(name);
    if (stats === undefined) continue;
    modifiedAt = Math.max(modifiedAt, stats.mtimeMs);
    if (TEMPORARY_NAME.test(name)) temporary.push(name);
    else others.push(name);
    if (isId(name) && stats.isDirectory()) isEdited = true;
    if (++seen === ENTRIES_LOOKED_AT) break;
  }
  return { temporary, versions: isEdited ? others : [], modifiedAt };
}

async function folderAt(parent: AnchoredFolder, name: string): Promise<AnchoredFolder | 'gone' | 'no folder'> {
  try {
    return await parent.openFolder(name);
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    return error.reason === 'missing' ? 'gone' : 'no folder';
  }
}
