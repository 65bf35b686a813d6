import { AdapterError } from '../../errors.ts';
import type { FileKey, FileKind, FileRecords, Reserved } from '../../state/file-records.ts';
import { expireFiles, type FileTimes } from './expire-files.ts';
import type { FileStore } from './file-store.ts';

/** Whether a code of an error says that a quota is used up. */
export const isQuota = (code: string): boolean => code === 'session_quota' || code === 'storage_quota';

export interface QuotaLimits {
  /** `storage.max_size`: bytes of all files of all sessions; null: no limit. */
  readonly maxTotal: number | null;
  /** `sessions.max_total_session_size`; null: no limit. */
  readonly maxSession: number | null;
  /** `sessions.eviction_policy`: the kind that goes first. */
  readonly evictFirst: FileKind;
}

type Records = Pick<FileRecords, 'reserve' | 'expire' | 'purgeAbandoned' | 'adopt'>;

const EXPIRE_TIMEOUT_MS = 10_000;

/** The two quotas of bytes. Space is reserved before it is used, so neither is ever exceeded. */
export class Quotas {
  readonly #records: Records;
  readonly #files: Pick<FileStore, 'discard'>;
  readonly #limits: QuotaLimits;
  readonly #times: FileTimes;
  readonly #clock: () => number;
  readonly #usable: (() => boolean) | undefined;
  #expiring: Promise<unknown> | undefined;

  constructor(options: {
    records: Records;
    files: Pick<FileStore, 'discard'>;
    limits: QuotaLimits;
    times: FileTimes;
    /** Milliseconds since the epoch. */
    clock: () => number;
    /** False while the store is replaced by memory, which has not seen what others did with a file. */
    usable?: () => boolean;
  }) {
    this.#records = options.records;
    this.#files = options.files;
    this.#limits = options.limits;
    this.#times = options.times;
    this.#clock = options.clock;
    this.#usable = options.usable;
  }

  /**
   * Makes room for `bytes` in all of a pending file and extends its lease. Without quotas it does nothing. Fails with
   * `session_quota`, with `storage_quota`, and with `session_ended` when the file is pending no more.
   */
  async reserve(file: FileKey, bytes: number, leaseUntil: number): Promise<void> {
    if (this.#limits.maxTotal === null && this.#limits.maxSession === null) return;
    const wasUsable = this.#isUsable();
    let reserved = await this.#reserve(file, bytes, leaseUntil);
    if (reserved.state === 'over' && reserved.quota === 'storage') {
      await this.#expire();
      reserved = await this.#reserve(file, bytes, leaseUntil);
    }
    if (reserved.state === 'gone') throw new AdapterError('session_ended');
    if (reserved.state === 'over') throw new AdapterError(`${reserved.quota}_quota`);
    if (reserved.evicted.length > 0 && !(wasUsable && this.#isUsable())) {
      // On the word of the memory that replaces the store no bytes are deleted.
      await this.#records.adopt(reserved.evicted);
      throw new AdapterError('session_quota');
    }
    // Their bytes must be gone before others are written in their place.
    await this.#files.discard(reserved.evicted, 'evicted');
  }

  #isUsable(): boolean {
    return this.#usable?.() ?? true;
  }

  #reserve(file: FileKey, bytes: number, leaseUntil: number): Promise<Reserved> {
    return this.#records.reserve(file, { bytes, leaseUntil, now: this.#clock(), ...this.#limits });
  }

  /** `storage.max_size` evicts nothing, but does not count what only waits for the next cleanup. */
  #expire(): Promise<unknown> {
    this.#expiring ??= expireFiles(
      { records: this.#records, bytes: this.#files, usable: this.#usable },
      this.#times,
      this.#clock,
      AbortSignal.timeout(EXPIRE_TIMEOUT_MS),
    ).finally(() => {
      this.#expiring = undefined;
    });
    return this.#expiring;
  }
}
