import type { FileKey } from '../keys/file-key.ts';

/** Keys of objects: the same layout as under `storage.root`, behind the prefix. */
export const keyOf = (prefix: string, { kind, sessionId, fileId, contentId, filename }: FileKey): string =>
  `${folderOf(prefix, kind)}${sessionId}/${fileId}/${contentId === undefined ? '' : `${contentId}/`}${filename}`;

/** What all keys of one kind start with. */
export const folderOf = (prefix: string, kind: FileKey['kind']): string => `${prefix}${kind}s/sessions/`;

const REST =
  /^(?<sessionId>[0-9a-f]{32})\/(?<fileId>[0-9a-f]{32})\/(?:(?<contentId>[0-9a-f]{32})\/)?(?<filename>[^/]+)$/;

/** Undefined for a key that `keyOf` does not make: the bucket may hold what belongs to others. */
export function placeOf(prefix: string, kind: FileKey['kind'], key: string): FileKey | undefined {
  const folder = folderOf(prefix, kind);
  const found = key.startsWith(folder) ? REST.exec(key.slice(folder.length))?.groups : undefined;
  const { sessionId, fileId, contentId, filename } = found ?? {};
  if (sessionId === undefined || fileId === undefined || filename === undefined) return undefined;
  return { kind, sessionId, fileId, filename, ...(contentId !== undefined && { contentId }) };
}
