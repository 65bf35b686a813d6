import { posix } from 'node:path';
import { isInside } from '../keys/paths.ts';
import { sessionsFolder } from '../keys/storage-layout.ts';

/** Where files that tools wrote may lie; real paths. */
export interface OutputFences {
  readonly root: string;
  /** `storage.root` as it is configured, which is what upstreams know it by. */
  readonly configuredRoot: string;
  /** `storage.artifact_locator_allowed_roots` that apply: as configured → real. */
  readonly roots: readonly { readonly configured: string; readonly real: string }[];
  /** Files of ours that no tool may name; also what SQLite puts beside them. */
  readonly forbidden: readonly string[];
}

/** Whose output it is. */
export interface OutputSession {
  readonly sessionId: string;
  readonly serverId?: string | undefined;
}

/** What a tool prints is text; longer is no path (PATH_MAX of Linux). */
const LONGEST_PATH = 4096;
/** Files there are windows into the system, not files: environments, memory, secrets. */
const SYSTEM_FOLDERS = ['/proc', '/sys', '/dev'];

/**
 * The places that a path named by a tool may mean, in the order in which they are looked at: the path itself, then
 * what follows the first `/artifacts/` or `/uploads/` in it under our root, because an upstream may have mounted the
 * folder elsewhere. Only what is inside this session's own folders or the other roots is left.
 */
export function outputCandidates(path: string, session: OutputSession, fences: OutputFences): string[] {
  if (path.length > LONGEST_PATH || path.includes('\0')) return [];
  const candidates = ['artifacts', 'uploads'].flatMap((tree) => {
    const start = path.indexOf(`/${tree}/`);
    return start === -1 ? [] : [posix.join(fences.root, path.slice(start))];
  });
  if (posix.isAbsolute(path)) candidates.unshift(realPath(posix.normalize(path), fences));
  return [...new Set(candidates)].filter((candidate) => isAllowed(candidate, session, fences));
}

/** The place of a file that a tool has written into one folder outside of ours; none where the path leads elsewhere. */
export function foundCandidates(path: string, folder: string, fences: OutputFences): string[] {
  if (path.length > LONGEST_PATH || path.includes('\0')) return [];
  const place = realPath(posix.normalize(posix.isAbsolute(path) ? path : posix.join(folder, path)), fences);
  return isInFolder(place, fences) ? [place] : [];
}

/** What lies under a configured folder, under the folder that it really is. */
function realPath(path: string, { root, configuredRoot, roots }: OutputFences): string {
  const known = [{ configured: configuredRoot, real: root }, ...roots];
  const folder = known.find(({ configured }) => isInside(path, configured));
  return folder === undefined ? path : posix.join(folder.real, path.slice(folder.configured.length));
}

function isAllowed(
  path: string,
  { sessionId, serverId }: OutputSession,
  { root, roots, forbidden }: OutputFences,
): boolean {
  const trees = serverId === undefined ? [null] : [null, serverId];
  const isOwn = (['upload', 'artifact'] as const).some((kind) =>
    trees.some((tree) => isInside(path, posix.join(sessionsFolder(root, kind, tree), sessionId))),
  );
  return isOwn || isInFolder(path, { root, roots, forbidden });
}

/** Whether a path lies below one of the other roots, and is none of ours or the system's. */
function isInFolder(
  path: string,
  { root, roots, forbidden }: Pick<OutputFences, 'root' | 'roots' | 'forbidden'>,
): boolean {
  const isOurs = ['uploads', 'artifacts', 'state'].some((tree) => isInside(path, posix.join(root, tree)));
  if (isOurs || SYSTEM_FOLDERS.some((folder) => isInside(path, folder))) return false;
  if (forbidden.some((file) => path === file || path.startsWith(`${file}-`) || isInside(path, file))) return false;
  return roots.some(({ real }) => isInside(path, real));
}
