import type { StateStore } from '../../state/state-store.ts';
import { ownerLock } from './parked-entry.ts';
import type { ReplicaLease } from './replica-lease.ts';

/** Longer than a replica is away for before another one takes its calls. */
const LEASE_MS = 60_000;
const RENEW_MS = LEASE_MS / 3;

export interface OwnerLeaseDeps {
  readonly store: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;
  readonly serverId: string;
  readonly replica: ReplicaLease;
}

/** Says which replica has a parked call. */
export class OwnerLease {
  readonly #deps: OwnerLeaseDeps;
  readonly #exchange: string;
  readonly #onLost: () => void;
  readonly #check = (): void => this.#renew();
  #timer: NodeJS.Timeout | undefined;
  #isFree = true;

  /** @param onLost it is another replica's now */
  constructor(deps: OwnerLeaseDeps, exchange: string, onLost: () => void) {
    this.#deps = deps;
    this.#exchange = exchange;
    this.#onLost = onLost;
  }

  /** Resolves once others can see whose the call is. */
  async take(): Promise<void> {
    this.#isFree = false;
    await this.#deps.replica.hold(this.#check);
    await this.#lock();
    // It may have been freed meanwhile.
    if (this.#isFree) await this.#unlock();
    else this.#timer = setInterval(this.#check, RENEW_MS).unref();
  }

  async free(): Promise<void> {
    if (this.#isFree) return;
    this.#isFree = true;
    clearInterval(this.#timer);
    this.#deps.replica.release(this.#check);
    await this.#unlock();
  }

  #unlock(): Promise<void> {
    const { store, serverId, replica } = this.#deps;
    return store.unlock(ownerLock(serverId, this.#exchange), replica.id);
  }

  #lock(): Promise<boolean> {
    const { store, serverId, replica } = this.#deps;
    return store.tryLock(ownerLock(serverId, this.#exchange), replica.id, LEASE_MS);
  }

  #renew(): void {
    this.#lock().then(
      (isOurs) => {
        if (!isOurs && !this.#isFree) this.#onLost();
      },
      () => undefined,
    );
  }
}

/** Whether a living replica has the call. */
export async function isOwned({ store, serverId, replica }: OwnerLeaseDeps, exchange: string): Promise<boolean> {
  const holder = await store.lockHolder(ownerLock(serverId, exchange));
  return holder !== undefined && replica.isAlive(holder);
}

/** Takes a call whose replica is gone; false: another replica has taken it. */
export async function succeed({ store, serverId, replica }: OwnerLeaseDeps, exchange: string): Promise<boolean> {
  const lock = ownerLock(serverId, exchange);
  const holder = await store.lockHolder(lock);
  if (holder !== undefined) {
    if (holder === replica.id || (await replica.isAlive(holder))) return false;
    // Nobody's where another one was faster.
    await store.unlock(lock, holder);
  }
  return store.tryLock(lock, replica.id, LEASE_MS);
}
