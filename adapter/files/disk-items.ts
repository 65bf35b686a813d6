import type { FileKind } from '../state/file-records.ts';
import type { AnchoredFolder } from './anchored-folder.ts';
import type { StagedItem } from './file-stage.ts';
import { isId, TEMPORARY_NAME } from './paths.ts';
import { FileRefused } from './places.ts';

/** An upstream may fill a folder with any number of files; so many tell its age well enough. */
const ENTRIES_LOOKED_AT = 1_000;

/** Everything in the folder of all sessions of one kind, one step at a time: nothing is collected or sorted. */
export async function* stagedItems(
  sessions: AnchoredFolder,
  kind: FileKind,
  signal: AbortSignal,
): AsyncGenerator<StagedItem> {
  for await (const { name } of sessions.entries()) {
    signal.throwIfAborted();
    const stray = { kind, sessionId: name, entry: null, fileId: null, temporary: [] };
    const session = await folderAt(sessions, name);
    if (session === 'gone') continue;
    if (session === 'no folder') {
      const stats = await sessions.stats(name);
      if (stats !== undefined) yield { ...stray, modifiedAt: stats.mtimeMs };
      continue;
    }
    using opened = session;
    let empty = true;
    for await (const item of sessionItems(opened, { kind, sessionId: name }, signal)) {
      empty = false;
      yield item;
    }
    if (empty) yield { ...stray, modifiedAt: (await opened.ownStats()).mtimeMs };
  }
}

async function* sessionItems(
  session: AnchoredFolder,
  { kind, sessionId }: { kind: FileKind; sessionId: string },
  signal: AbortSignal,
): AsyncGenerator<StagedItem> {
  for await (const { name } of session.entries()) {
    signal.throwIfAborted();
    const folder = await folderAt(session, name);
    if (folder === 'gone') continue;
    if (folder === 'no folder') {
      const stats = await session.stats(name);
      if (stats === undefined) continue;
      yield { kind, sessionId, entry: name, fileId: null, temporary: [], modifiedAt: stats.mtimeMs };
      continue;
    }
    using opened = folder;
    const proper = isId(sessionId) && isId(name);
    const { temporary, modifiedAt } = await contents(opened);
    yield {
      kind,
      sessionId,
      entry: name,
      fileId: proper ? name : null,
      temporary: proper ? temporary : [],
      modifiedAt,
    };
  }
}

async function contents(folder: AnchoredFolder): Promise<{ temporary: string[]; modifiedAt: number }> {
  let modifiedAt = (await folder.ownStats()).mtimeMs;
  const temporary: string[] = [];
  let seen = 0;
  for await (const { name } of folder.entries()) {
    const stats = await folder.stats(name);
    if (stats === undefined) continue;
    modifiedAt = Math.max(modifiedAt, stats.mtimeMs);
    if (TEMPORARY_NAME.test(name)) temporary.push(name);
    if (++seen === ENTRIES_LOOKED_AT) break;
  }
  return { temporary, modifiedAt };
}

async function folderAt(parent: AnchoredFolder, name: string): Promise<AnchoredFolder | 'gone' | 'no folder'> {
  try {
    return await parent.openFolder(name);
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    return error.reason === 'missing' ? 'gone' : 'no folder';
  }
}
