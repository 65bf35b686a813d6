import { LRUCache } from 'lru-cache';

import type { FileRecord, FileRecords } from '../state/file-records.ts';
import { type Removal, removed, untouched, type WorkCopy } from './work-copy.ts';

/** How long one waits, in milliseconds; less than any lease lasts. */
const IDLE_MS = 20_000;
const MAX_IDLE = 1_000;
/** Larger ones go at once: they count in the quotas. */
const MAX_BYTES = 256 * 1024;
/** A lease that ends so soon may be over before a pause of this process is. In milliseconds. */
const SPARE_MS = 30_000;

interface Copying extends Removal {
  readonly records: Pick<FileRecords, 'remove' | 'lease' | 'now'>;
}

/**
 * Copies of small files that tools have read, for the next call that reads the same: to make a folder with a file and to
 * remove both takes more than the rest of such a call. One call at a time has a copy, and nobody gets one that has been
 * touched. Leases bound how long they lie there after this process.
 */
export class ReadCopies {
  readonly #deps: Copying;
  readonly #idle: LRUCache<string, WorkCopy>;
  readonly #sweepMs: number;
  /** One for all, while there are any: one for each would be made and cleared with each call. */
  #sweeping: NodeJS.Timeout | undefined;

  /** `idleMs`: how long a copy waits. */
  constructor(deps: Copying, idleMs: number = IDLE_MS) {
    this.#deps = deps;
    this.#idle = new LRUCache({
      max: MAX_IDLE,
      ttl: idleMs,
      dispose: ({ place }, _key, reason) => {
        if (reason !== 'delete') void removed(deps, place);
      },
    });
    this.#sweepMs = idleMs / 2;
  }

  /** A copy of `file` in a session, leased until about `leaseUntil`. Undefined: none waits. */
  async take(file: FileRecord, sessionId: string, leaseUntil: number): Promise<WorkCopy | undefined> {
    const { records, files } = this.#deps;
    const key = keyOf(file, sessionId);
    const copy = this.#idle.get(key);
    if (copy === undefined) return undefined;
    this.#idle.delete(key);
    const { place } = copy;
    try {
      if (place.leaseUntil >= records.now() + SPARE_MS && (await untouched(files, copy)).folder) {
        if (place.leaseUntil >= leaseUntil - SPARE_MS) return copy;
        await records.lease([place], leaseUntil);
        return { ...copy, place: { ...place, leaseUntil } };
      }
    } catch {
      // Another one is made.
    }
    await removed(this.#deps, place);
    return undefined;
  }

  /** The call has ended, and its tool with it. Never fails. */
  async keep(file: FileRecord, copy: WorkCopy): Promise<void> {
    const { files } = this.#deps;
    const left = file.sizeBytes <= MAX_BYTES ? await untouched(files, copy).catch(() => undefined) : undefined;
    if (left?.folder !== true) return removed(this.#deps, copy.place);
    this.#idle.set(keyOf(file, copy.place.sessionId), copy);
    this.#sweeping ??= setInterval(() => this.#sweep(), this.#sweepMs).unref();
  }

  #sweep(): void {
    this.#idle.purgeStale();
    if (this.#idle.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}

const keyOf = ({ serverId, sessionId, kind, fileId, contentId }: FileRecord, reader: string): string =>
  [reader, serverId, sessionId, kind, fileId, contentId].join(' ');
