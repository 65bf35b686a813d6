import type { StateStore } from '../../state/state-store.ts';
import { ownerLock } from './parked-entry.ts';

const LEASE_MS = 1_500;
const RENEW_MS = 300;

export interface OwnerLeaseDeps {
  readonly store: Pick<StateStore, 'tryLock' | 'unlock'>;
  readonly serverId: string;
  readonly exchange: string;
  /** Whose it is. */
  readonly owner: string;
}

/** Takes the lock of a parked call for a moment; false: somebody has it. */
export const takeOwnerLock = ({ store, serverId, exchange, owner }: OwnerLeaseDeps): Promise<boolean> =>
  store.tryLock(ownerLock(serverId, exchange), owner, LEASE_MS);

/** The lock of a parked call, extended for as long as this replica lives and holds it. */
export class OwnerLease {
  readonly #deps: OwnerLeaseDeps;
  readonly #timer: NodeJS.Timeout;

  /** @param onLost it could not be extended in time, and is somebody else's */
  constructor(deps: OwnerLeaseDeps, onLost: () => void) {
    this.#deps = deps;
    this.#timer = setInterval(() => {
      takeOwnerLock(deps).then(
        (isOurs) => {
          if (!isOurs) onLost();
        },
        () => undefined,
      );
    }, RENEW_MS).unref();
  }

  async free(): Promise<void> {
    clearInterval(this.#timer);
    const { store, serverId, exchange, owner } = this.#deps;
    await store.unlock(ownerLock(serverId, exchange), owner);
  }
}
