import type { FileKey, FileRecords } from '../state/file-records.ts';

/** How long a lease outlives the work that it covers, and how long one lasts that is renewed. */
const LEASE_MS = 60_000;
/** How long a call without a time limit may go on when nobody is connected that could renew its leases. */
const LEFT_MS = 600_000;

/** Until when a file is kept that is used for at most so long at a time (null: nobody knows); it is renewed meanwhile. */
export function leaseUntil(now: number, timeoutMs: number | null): number {
  return now + (timeoutMs ?? 0) + LEASE_MS;
}

/** How long a call is waited for that goes on while no exchange belongs to it. */
export function leftForMs(timeoutMs: number | null): number {
  return (timeoutMs ?? LEFT_MS) + LEASE_MS;
}

/** Extends the lease of files of a call that goes on while no exchange belongs to it. Never fails. */
export async function leaseWithoutExchange(
  records: Pick<FileRecords, 'lease' | 'now'>,
  keys: readonly FileKey[],
  timeoutMs: number | null,
): Promise<void> {
  try {
    await records.lease(keys, records.now() + leftForMs(timeoutMs));
  } catch {
    // What there is of it lasts for a while.
  }
}

/**
 * Extends the leases of files while a call runs, also beyond its time limit: the time in which a client answers questions does
 * not count there.
 */
export class RenewedLease {
  readonly #timer: NodeJS.Timeout;

  /** Of files that are leased with `leaseUntil`. */
  constructor(records: Pick<FileRecords, 'lease' | 'now'>, keys: readonly FileKey[], timeoutMs: number | null) {
    const renew = (): void => {
      records.lease(keys, leaseUntil(records.now(), timeoutMs)).catch(() => {
        // Tried again at the next turn, twice before the lease ends.
      });
    };
    this.#timer = setInterval(renew, leaseUntil(0, timeoutMs) / 3).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Files that a call uses: they neither expire nor are evicted until it ends. */
export class FileUse {
  readonly #records: Pick<FileRecords, 'lease' | 'release' | 'now'>;
  readonly #keys: readonly FileKey[];
  readonly #renewed: RenewedLease;
  #isOver = false;

  /** Of files that were taken into use with `leaseUntil`. */
  constructor(
    records: Pick<FileRecords, 'lease' | 'release' | 'now'>,
    keys: readonly FileKey[],
    timeoutMs: number | null,
  ) {
    this.#records = records;
    this.#keys = keys;
    this.#renewed = new RenewedLease(records, keys, timeoutMs);
  }

  /** Never fails: what is not released is so when the lease ends. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#renewed.stop();
    try {
      await this.#records.release(this.#keys, this.#records.now());
    } catch {
      // See above.
    }
  }

  /** The call goes on without its exchange: its files are kept for as long as it may take. Never fails. */
  async leave(timeoutMs: number | null): Promise<void> {
    this.#isOver = true;
    this.#renewed.stop();
    await leaseWithoutExchange(this.#records, this.#keys, timeoutMs);
  }
}
