/** The name that folders of sessions have where files of all servers lie together. */
export const SHARED_FOLDER = 'sessions';

/**
 * The folder of a server in `uploads/` and `artifacts/` with `storage.layout: per_server`: its id, with what a path or a
 * mount would read otherwise as in a URL. No two ids have the same, and none has that of the other layout.
 */
export function serverFolder(id: string): string {
  const folder = encodeURIComponent(id.toWellFormed());
  return folder === SHARED_FOLDER ? '%73essions' : folder;
}
