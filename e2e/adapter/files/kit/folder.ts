import { lstat, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** A folder that replicas and upstreams share, deleted at the end. */
export interface SharedFolder extends AsyncDisposable {
  readonly path: string;
}

export async function sharedFolder(): Promise<SharedFolder> {
  const path = await mkdtemp(join(tmpdir(), 'shared-files-'));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Something that lies under a shared folder. */
export interface Lying {
  /** Relative to the folder. */
  readonly path: string;
  readonly size: number;
  readonly isFile: boolean;
}

/** All that lies under `uploads` and `artifacts` and is no folder. What vanishes meanwhile is left out. */
export async function lying(root: string): Promise<Lying[]> {
  const found: Lying[] = [];
  for (const kind of ['uploads', 'artifacts']) {
    const entries = await readdir(join(root, kind), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.isDirectory()) continue;
      const path = join(entry.parentPath, entry.name);
      const stat = await lstat(path).catch(() => undefined);
      if (stat !== undefined) found.push({ path: relative(root, path), size: stat.size, isFile: stat.isFile() });
    }
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

export const sizeOf = (files: readonly Lying[]): number => files.reduce((sum, { size }) => sum + size, 0);

/** Puts a file there that has no record, as a crash leaves one behind, so old that no grace protects it. */
export async function leaveOrphan(
  root: string,
  kind: 'upload' | 'artifact',
  sessionId: string,
  id: string,
): Promise<string> {
  const path = join(root, `${kind}s`, 'sessions', sessionId, id, 'orphan.bin');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'orphan');
  const longAgo = new Date(Date.now() - 3_600_000);
  // Without a grace it may have been removed already.
  for (const old of [path, dirname(path), dirname(dirname(path))]) await utimes(old, longAgo, longAgo).catch(() => {});
  return path;
}
