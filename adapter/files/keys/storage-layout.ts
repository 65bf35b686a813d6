import { posix } from 'node:path';
import { serverFolder, SHARED_FOLDER } from '../../../crds/config/adapter-file/server-folder.ts';
import type { Storage } from '../../../crds/config/adapter-file/storage.ts';
import type { FileKind } from '../../state/file-records.ts';

/**
 * One of the folders below `storage.root` that hold one folder for each session: of all servers together (null), or of one
 * server.
 *
 *     {kind}s/sessions/{sessionId}/{fileId}/{filename}              storage.layout: shared
 *     {kind}s/{serverId}/sessions/{sessionId}/{fileId}/{filename}   storage.layout: per_server
 */
export type Tree = string | null;

/** Names of the folders that lead from the root to the sessions of a tree. */
export const foldersTo = (kind: FileKind, tree: Tree): readonly string[] =>
  tree === null ? [`${kind}s`, SHARED_FOLDER] : [`${kind}s`, serverFolder(tree), SHARED_FOLDER];

export const sessionsFolder = (root: string, kind: FileKind, tree: Tree): string =>
  posix.join(root, ...foldersTo(kind, tree));

/**
 * Where files of a server may lie, first where new ones go: what was written before `storage.layout` was changed stays
 * where it is until it expires. Without a server: only what all have together.
 */
export function treesOf(layout: Storage['layout'], serverId: string | undefined): readonly [Tree, ...Tree[]] {
  if (serverId === undefined) return [null];
  return layout === 'per_server' ? [serverId, null] : [null, serverId];
}

/** The tree that an entry of `{kind}s/` is; undefined for what the adapter does not make. */
export function treeCalled(name: string): Tree | undefined {
  if (name === SHARED_FOLDER) return null;
  try {
    const id = decodeURIComponent(name);
    return serverFolder(id) === name ? id : undefined;
  } catch {
    return undefined;
  }
}
