import { LRUCache } from 'lru-cache';

import type { FileRecord } from '../../state/file-records.ts';
import { FileRefused, type OpenedFile } from '../keys/file-key.ts';
import { hashOf } from '../keys/opened-bytes.ts';

/** What a check needs of a file that is open. */
export type CheckedFile = Pick<OpenedFile, 'path' | 'size' | 'version' | 'read'>;

/** So many files are remembered, each with some 200 bytes. */
const REMEMBERED = 10_000;
/**
 * Clocks of file systems stand still for a while (NFS in whole seconds, FAT in two): what is written in that time has
 * the times of what was written before.
 */
const CLOCK_STEP_MS = 2_500;

/**
 * Compares files with the size and the hash that were recorded when they came, because those who share the folder may
 * have changed or replaced them. What was read once is not read again while its file is the same by its times: the last
 * change of a file (ctime) is set by the system and cannot be set back, unlike that of its content (mtime).
 */
export class ContentChecks {
  /** File and version of it → the version that was right. */
  readonly #right = new LRUCache<string, string>({ max: REMEMBERED });
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Whether a file is known to be what was recorded, without looking at its bytes. */
  knows(record: FileRecord, file: CheckedFile): boolean {
    const { fileId, contentId = '', sha256, sizeBytes } = record;
    if (sha256 === null) return true;
    return file.size === sizeBytes && this.#right.get(fileId + contentId) === file.version.id;
  }

  /** Throws FileRefused `changed` when the file is not what was recorded. Without a hash nothing is compared. */
  async check(record: FileRecord, file: CheckedFile, signal?: AbortSignal): Promise<void> {
    const { fileId, contentId = '', kind, sha256, sizeBytes } = record;
    const key = fileId + contentId;
    if (sha256 === null) return;
    if (file.size !== sizeBytes) {
      throw new FileRefused('changed', `${kind} ${fileId} has ${file.size} bytes instead of ${sizeBytes}`);
    }
    const { id, changedAt } = file.version;
    const known = this.#right.get(key);
    this.#right.delete(key);
    if (known !== id) {
      const openedAt = this.#now();
      if ((await hashOf(file, signal)) !== sha256) {
        throw new FileRefused('changed', `${kind} ${fileId} has the size but not the bytes of what was stored`);
      }
      if (changedAt + CLOCK_STEP_MS > openedAt) return;
    }
    this.#right.set(key, id);
  }
}
