import { randomUUID } from 'node:crypto';

import type { StateStore } from '../../state/state-store.ts';
import { replicaLock } from './parked-entry.ts';

const LEASE_MS = 1_500;
const RENEW_MS = 300;
/** How old what is known of another replica may be. */
const KNOWN_MS = 200;

/**
 * Says to the other replicas that this one lives, for as long as it holds calls; one lease for all of them, as there may be
 * thousands.
 */
export class ReplicaLease {
  readonly id = randomUUID();
  readonly #store: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;
  readonly #holders = new Set<() => void>();
  readonly #known = new Map<string, { readonly at: number; readonly isAlive: Promise<boolean> }>();
  #begun: Promise<unknown> | undefined;
  #renewedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>) {
    this.#store = store;
  }

  /**
   * Resolves once the others can see it; rejects where they cannot.
   * @param onLapsed it could not be renewed in time: others may have taken over what was held
   */
  async hold(onLapsed: () => void): Promise<void> {
    this.#holders.add(onLapsed);
    this.#begun ??= this.#begin();
    try {
      await this.#begun;
    } catch (error) {
      this.release(onLapsed);
      throw error;
    }
  }

  release(onLapsed: () => void): void {
    if (!this.#holders.delete(onLapsed) || this.#holders.size > 0) return;
    clearInterval(this.#timer);
    this.#begun = undefined;
    this.#unlock();
  }

  /** Whether the replica with this id lives. Rejects when nobody can say. */
  isAlive(id: string): Promise<boolean> {
    if (id === this.id) return Promise.resolve(true);
    const known = this.#known.get(id);
    if (known !== undefined && performance.now() - known.at < KNOWN_MS) return known.isAlive;
    const isAlive = this.#store.lockHolder(replicaLock(id)).then((holder) => holder === id);
    for (const [other, { at }] of this.#known) if (performance.now() - at >= KNOWN_MS) this.#known.delete(other);
    this.#known.set(id, { at: performance.now(), isAlive });
    return isAlive;
  }

  async #begin(): Promise<void> {
    await this.#renew();
    clearInterval(this.#timer);
    if (this.#holders.size === 0) return this.#unlock();
    this.#timer = setInterval(() => {
      const isLate = performance.now() - this.#renewedAt > LEASE_MS;
      this.#renew().then(
        () => {
          if (isLate) for (const onLapsed of this.#holders) onLapsed();
        },
        () => undefined,
      );
    }, RENEW_MS).unref();
  }

  #unlock(): void {
    // What stays expires.
    this.#store.unlock(replicaLock(this.id), this.id).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const at = performance.now();
    await this.#store.tryLock(replicaLock(this.id), this.id, LEASE_MS);
    this.#renewedAt = at;
  }
}
