import { open, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { ConfigError, formatProblems } from '../../crds/config/load/problem.ts';
import type { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import { readLock } from './read-lock.ts';
import { ToolLock } from './tool-lock.ts';

/** How often it is looked at. */
const INTERVAL_MS = 2_000;
/** A lock of a thousand tools has about one. */
const MAX_BYTES = 16 << 20;

export interface WatchedLock {
  readonly lock: ToolLock;
  /** Resolves when the last look has ended. */
  stop(): Promise<void>;
}

/**
 * Reads the lock at `core.tool_lock.path`, and again whenever the file is another one. One that breaks or vanishes later leaves
 * the last good one in force.
 * @param onChanged another lock is in force
 * @param onProblem why the one that was written last is not; told once for each reason
 * @throws Error with all that is wrong with it, at the start
 */
export async function watchLock(
  path: string,
  listeners: { readonly onChanged: () => void; readonly onProblem: (problem: string) => void },
  intervalMs = INTERVAL_MS,
): Promise<WatchedLock> {
  let inForce = await stateOf(path);
  const lock = new ToolLock(await readLockFile(path));
  const stopping = new AbortController();
  /** The state of a file that was refused. */
  let broken = '';
  const look = async (): Promise<void> => {
    let now = '';
    try {
      now = await stateOf(path);
      if (now === inForce) lock.recovered();
      if (now === inForce || now === broken) return;
      lock.replace(await readLockFile(path));
      inForce = now;
      listeners.onChanged();
    } catch (error) {
      broken = now;
      const { message } = error as Error;
      if (message === lock.problem) return;
      lock.failed(message);
      listeners.onProblem(message);
    }
  };
  const watching = (async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      await delay(intervalMs, undefined, { signal: stopping.signal, ref: false }).then(look, () => undefined);
    }
  })();
  return {
    lock,
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

/** What a lock says. Throws an Error that names the file and all that is wrong with it. */
export async function readLockFile(path: string): Promise<LockDocument> {
  return lockIn(await lockTextAt(path), path);
}

/** The same of the text of a file. */
export function lockIn(text: string, path: string): LockDocument {
  try {
    return readLock(text).document;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new Error(formatProblems(error, path).trimEnd(), { cause: error });
  }
}

/** Throws an Error that names the file. */
export async function lockTextAt(path: string): Promise<string> {
  await stateOf(path);
  return await textOf(path).catch((error: unknown) => {
    throw new Error(`the tool lock ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  });
}

async function textOf(path: string): Promise<string> {
  await using file = await open(path);
  const { size } = await file.stat();
  if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
  return await file.readFile('utf8');
}

/** What tells one file from the next at the same path; links are followed, as the kubelet's files are some. */
async function stateOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch((error: unknown) => {
    throw new Error(`the tool lock ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  });
  // Reading from a pipe would wait for someone to write.
  if (!found.isFile()) throw new Error(`the tool lock ${path} is no file`);
  const { ino, size, mtimeNs, ctimeNs } = found;
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}
