import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { FileDiscard } from '../../sessions/session-files.ts';
import type { FileRecord, FileRecords } from '../../state/file-records.ts';
import { count, type RemovedFiles } from '../store/expire-files.ts';
import type { StagingArea } from '../disk/staging-area.ts';
import type { BlobStore } from '../s3/blob-store.ts';

export interface DanglingDeps {
  readonly records: Pick<FileRecords, 'page' | 'remove'>;
  readonly stage: Pick<StagingArea, 'pathsOf'>;
  readonly bytes: Pick<FileDiscard, 'discard'>;
  readonly blobStore: Pick<BlobStore, 'has'> | undefined;
  /** False while the store is unavailable or replaced by memory: what it says then proves nothing. */
  readonly usable: () => boolean;
}

/** Enough to see 100,000 files in an hour, little enough to be no burden on a network file system. */
const CHECKED_PER_PASS = 2_000;
/** Replicas without a common folder have to ask object storage about most files, and each question costs something. */
const CHECKED_WITH_BLOB_STORE = 100;
const PAGE = 100;

/**
 * Finds records whose file is gone, some in each pass: somebody has deleted it by hand, or a disk has lost it. A file
 * that can be fetched back from object storage is not gone.
 */
export class DanglingRecords {
  readonly #deps: DanglingDeps;
  /** Another client of a network file system may see a new file that much later. */
  readonly #minAgeMs: number;
  /** Where the next pass goes on; undefined: from the start. */
  #cursor: string | undefined;

  constructor(deps: DanglingDeps, minAgeMs: number) {
    this.#deps = deps;
    this.#minAgeMs = minAgeMs;
  }

  async check(now: number, signal: AbortSignal): Promise<RemovedFiles> {
    const removed = { uploads: 0, artifacts: 0 };
    const most = this.#deps.blobStore === undefined ? CHECKED_PER_PASS : CHECKED_WITH_BLOB_STORE;
    for (let checked = 0; checked < most && !signal.aborted; checked += PAGE) {
      const { files, next } = await this.#deps.records.page(this.#cursor, PAGE);
      for (const file of files) {
        if (signal.aborted) return removed;
        if (file.createdAt + this.#minAgeMs > now || !(await this.#isGone(file, signal))) continue;
        if (!this.#deps.usable()) return removed;
        const gone = await this.#deps.records.remove(file);
        if (gone === undefined) continue; // Somebody else removed it first, which is why the file was not there.
        await this.#deps.bytes.discard([gone], 'dangling', signal);
        count(removed, [gone]);
      }
      this.#cursor = next;
      if (next === undefined) break;
    }
    return removed;
  }

  async #isGone(file: FileRecord, signal: AbortSignal): Promise<boolean> {
    const paths = this.#deps.stage.pathsOf(file);
    if (!(await areMissing(paths))) return false;
    const { blobStore } = this.#deps;
    if (blobStore !== undefined) return !(await blobStore.has(file, signal));
    // A volume that is not mounted looks the same, but for the folder of all sessions.
    const allSessions = paths.map((path) => dirname(dirname(dirname(path))));
    if (await areMissing(allSessions)) throw new Error(`the folder ${allSessions[0]} is not there`);
    return true;
  }
}

async function areMissing(paths: readonly string[]): Promise<boolean> {
  for (const path of paths) if (!(await isMissing(path))) return false;
  return true;
}

/** Any other failure says nothing about the file. */
async function isMissing(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ENOENT' || code === 'ENOTDIR';
  }
}
