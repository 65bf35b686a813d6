import { dirname, join } from 'node:path';
import type { FileKind } from '../../state/file-records.ts';
import { AnchoredFolder, syncFolders } from './anchored-folder.ts';
import { type DiskCalls, fewCalls } from './disk-calls.ts';
import { type FileKey, FileRefused } from '../keys/file-key.ts';
import { foldersTo, sessionsFolder, type Tree } from '../keys/storage-layout.ts';

export type Item = Omit<FileKey, 'filename'>;

export interface DiskWays {
  /** Whether /proc/self/fd leads to open files. */
  readonly anchored: boolean;
  readonly calls: DiskCalls;
}

export interface FolderOptions extends DiskWays {
  /** Real. */
  readonly root: string;
  readonly permissions: number;
  /** Whether new folders shall survive a crash of the machine. */
  readonly synced: boolean;
}

const ATTEMPTS = 20;
const VANISHED: ReadonlySet<FileRefused['reason']> = new Set(['missing', 'changed']);

export const sessionFolder = (root: string, { kind, sessionId }: Item, tree: Tree): string =>
  join(sessionsFolder(root, kind, tree), sessionId);

export const itemFolder = (root: string, item: Item, tree: Tree): string =>
  join(sessionFolder(root, item, tree), item.fileId, ...(item.contentId === undefined ? [] : [item.contentId]));

/** Opens a folder at a real path; undefined when there is none. */
export async function openedFolder(
  path: string,
  anchored: boolean,
  calls?: DiskCalls,
): Promise<AnchoredFolder | undefined> {
  try {
    return await AnchoredFolder.open(path, anchored, calls);
  } catch (error) {
    if (error instanceof FileRefused && error.reason === 'missing') return undefined;
    throw error;
  }
}

/** Works in a folder at a real path; does nothing when there is none. */
export async function inFolder(
  path: string,
  { anchored, calls }: DiskWays,
  work: (folder: AnchoredFolder) => Promise<void>,
): Promise<void> {
  const folder = await openedFolder(path, anchored, fewCalls(calls));
  if (folder === undefined) return;
  using opened = folder;
  await work(opened);
}

/** In all of them, whatever fails in some; then the first failure counts. */
export async function inEachFolder(
  paths: readonly string[],
  ways: DiskWays,
  work: (folder: AnchoredFolder) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const path of paths) {
    try {
      await inFolder(path, ways, work);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

export interface ItemFolder {
  readonly folder: AnchoredFolder;
  /** The folder above it, which has it as a new entry. */
  readonly session: AnchoredFolder;
  /** Paths of those above both that may have a new entry. */
  readonly above: readonly string[];
}

/**
 * Makes an item's folder, or that of one version of it, and those above; several may do so at once. Both that it gives are
 * to be closed.
 */
export async function makeItemFolder(item: Item, tree: Tree, options: FolderOptions): Promise<ItemFolder> {
  return whileItVanishes(itemFolder(options.root, item, tree), async () => {
    const { folder: session, made } = await makeSession(item, tree, options);
    try {
      const { folder } = await session.makeFolder(item.fileId, options.permissions);
      const above = made ? [dirname(session.path)] : [];
      return item.contentId === undefined
        ? { folder, session, above }
        : await versionFolder(folder, session, item.contentId, above, options);
    } catch (error) {
      session.close();
      throw error;
    }
  });
}

async function versionFolder(
  item: AnchoredFolder,
  session: AnchoredFolder,
  contentId: string,
  above: readonly string[],
  { permissions }: FolderOptions,
): Promise<ItemFolder> {
  try {
    const { folder } = await item.makeFolder(contentId, permissions);
    session.close();
    return { folder, session: item, above: [dirname(item.path), ...above] };
  } catch (error) {
    item.close();
    throw error;
  }
}

/**
 * Does something in a folder again when somebody has removed it just then, because it was empty. Fails with FileRefused
 * `changed` when that happens again and again.
 */
export async function whileItVanishes<T>(path: string, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FileRefused && VANISHED.has(error.reason))) throw error;
      if (attempt === ATTEMPTS) {
        throw new FileRefused('changed', `${path} is removed while it is made`, { cause: error });
      }
    }
  }
}

async function makeSession(
  item: Item,
  tree: Tree,
  options: FolderOptions,
): Promise<{ folder: AnchoredFolder; made: boolean }> {
  const there = await openedFolder(sessionFolder(options.root, item, tree), options.anchored, options.calls);
  if (there !== undefined) return { folder: there, made: false };
  using sessions = await makeSessions(item.kind, tree, options);
  // Awaited here: `sessions` must not be closed before.
  return await sessions.makeFolder(item.sessionId, options.permissions);
}

async function makeSessions(kind: FileKind, tree: Tree, options: FolderOptions): Promise<AnchoredFolder> {
  const { root, permissions, anchored, calls, synced } = options;
  const there = await openedFolder(sessionsFolder(root, kind, tree), anchored, calls);
  if (there !== undefined) return there;
  let folder = await AnchoredFolder.open(root, anchored, calls);
  const above: string[] = [];
  for (const name of foldersTo(kind, tree)) {
    using parent = folder;
    above.push(parent.path);
    folder = (await parent.makeFolder(name, permissions)).folder;
  }
  if (synced) await syncFolders(above, anchored);
  return folder;
}
