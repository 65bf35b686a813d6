import { randomUUID } from 'node:crypto';
import { AdapterError } from '../../errors.ts';
import type { LockGuard } from '../../state/file-records.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { PolledLock, TakenLock } from './polled-lock.ts';

export type LockStore = Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;

/** In milliseconds. */
export interface LeaseTimes {
  /** How long a lock lasts that nobody extends. */
  readonly ttl: number;
  /** Between two extensions. */
  readonly renew: number;
  /** After one that the store did not answer. */
  readonly retry: number;
}

/** Less than anybody waits for a lock: a replica that dies holds nobody up so long that he gives up. */
const TIMES: LeaseTimes = { ttl: 6_000, renew: 2_000, retry: 250 };
/** Clocks of two machines run apart, and the server's answer takes its time. */
const DRIFT_MS = 100;

/**
 * `lock_mode: redis`: one holder among all replicas, by the store's own locks: a random owner in a key that expires,
 * extended while the work goes on, given back by its owner only. The name and owner are also the fencing token: the
 * store commits files only while the key still says so, so a holder that slept too long cannot write any more.
 *
 * This is what the package redlock (5 beta) does for one server. It is not used: its types cannot be imported as a
 * module, `using` tells nobody the owner that the store must check, an outage looks like a lock that is taken and is
 * told after 2 s of retries, and work that is done after its lock was lost fails 2 s later when it is given back.
 */
export class RedisLock implements PolledLock {
  readonly #store: LockStore;
  readonly #times: LeaseTimes;

  constructor(store: LockStore, times: LeaseTimes = TIMES) {
    this.#store = store;
    this.#times = times;
  }

  async take(name: string): Promise<TakenLock | undefined> {
    const guard = { name: `files/${name}`, owner: randomUUID() };
    const asked = performance.now();
    if (!(await this.#store.tryLock(guard.name, guard.owner, this.#times.ttl))) return undefined;
    const lease = new Lease(() => this.#extend(guard), asked, this.#times);
    return {
      held: { signal: lease.signal, guard },
      release: async () => {
        lease.stop();
        await lease.renewing;
        // It expires by itself where this fails.
        await this.#store.unlock(guard.name, guard.owner).catch(() => undefined);
      },
    };
  }

  /** `tryLock` alone would take a lock again that somebody else has had in between. */
  async #extend({ name, owner }: LockGuard): Promise<boolean> {
    return (await this.#store.lockHolder(name)) === owner && this.#store.tryLock(name, owner, this.#times.ttl);
  }
}

/** Extends a lock until it is stopped; `signal` ends when the lock may have gone to somebody else. */
class Lease {
  readonly #lost = new AbortController();
  readonly #extend: () => Promise<boolean>;
  readonly #times: LeaseTimes;
  #end: NodeJS.Timeout | undefined;
  #next: NodeJS.Timeout | undefined;
  #stopped = false;
  renewing: Promise<void> = Promise.resolve();

  constructor(extend: () => Promise<boolean>, asked: number, times: LeaseTimes) {
    this.#extend = extend;
    this.#times = times;
    this.#heldSince(asked);
    this.#renewIn(times.renew);
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#end);
    clearTimeout(this.#next);
  }

  #renewIn(ms: number): void {
    this.#next = setTimeout(() => {
      this.renewing = this.#renew();
    }, ms);
  }

  async #renew(): Promise<void> {
    const asked = performance.now();
    let extended: boolean | undefined;
    try {
      extended = await this.#extend();
    } catch {
      // The store is out of reach; the lock is ours until its time is over.
    }
    if (this.#stopped) return;
    if (extended === false) return this.#lose();
    if (extended === true) this.#heldSince(asked);
    this.#renewIn(extended === true ? this.#times.renew : this.#times.retry);
  }

  /** Counts from before the request was sent: the server's time cannot have begun earlier. */
  #heldSince(asked: number): void {
    clearTimeout(this.#end);
    this.#end = setTimeout(() => this.#lose(), asked + this.#times.ttl - DRIFT_MS - performance.now());
  }

  #lose(): void {
    this.stop();
    this.#lost.abort(new AdapterError('storage_busy', 'The lock on the file was lost; try again.'));
  }
}
