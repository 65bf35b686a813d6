import { createHash, type Hash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * How a program notices that a Secret or ConfigMap behind its environment variables has changed: the operator mounts
 * them as files too, and the program compares these with what they were at its start. Only whether they differ leaves
 * the program, never a value.
 */

/** Mounted files have few levels; links that lead in a circle have no end. */
const MAX_DEPTH = 8;
/** The kubelet itself takes up to a minute to bring a change. */
const INTERVAL_MS = 10_000;

export interface ReferencesWatch {
  /** Whether the files differ now from those at the start. */
  changed(): boolean;
  /** Resolves when the last look has ended. */
  stop(): Promise<void>;
}

/**
 * Looks at the files below a folder now, and again every `intervalMs`. What is missing or cannot be read counts as
 * such; nothing makes it fail.
 */
export async function watchReferences(folder: string, intervalMs = INTERVAL_MS): Promise<ReferencesWatch> {
  const first = await fingerprint(folder);
  let changed = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let look = Promise.resolve();
  const schedule = (): void => {
    timer = setTimeout(() => {
      look = fingerprint(folder).then((now) => {
        changed = now !== first;
        if (!stopped) schedule();
      });
    }, intervalMs);
    timer.unref();
  };
  schedule();
  return {
    changed: () => changed,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await look;
    },
  };
}

/** A hash of the names and contents of all files below a folder. */
async function fingerprint(folder: string): Promise<string> {
  const hash = createHash('sha256');
  await addEntry(hash, folder, '', 0);
  return hash.digest('hex');
}

async function addEntry(hash: Hash, folder: string, path: string, depth: number): Promise<void> {
  const place = join(folder, path);
  try {
    // Follows links: the kubelet's files are links into a folder that it replaces as a whole.
    const found = await stat(place);
    if (found.isDirectory()) {
      add(hash, 'folder', path);
      // Names that start with two dots are the kubelet's own; its files lead there anyway.
      const names = (await readdir(place)).filter((name) => !name.startsWith('..')).sort();
      for (const name of depth < MAX_DEPTH ? names : []) await addEntry(hash, folder, join(path, name), depth + 1);
    } else {
      // Reading from a pipe would wait for someone to write.
      add(hash, 'file', path, found.isFile() ? await readFile(place) : undefined);
    }
  } catch (error) {
    add(hash, 'error', path, Buffer.from((error as NodeJS.ErrnoException).code ?? 'unknown'));
  }
}

/** With their lengths, so that no two different trees have the same bytes. */
function add(hash: Hash, kind: string, path: string, content = Buffer.alloc(0)): void {
  hash.update(`${kind} ${Buffer.byteLength(path)} ${content.length}\n${path}`).update(content);
}
