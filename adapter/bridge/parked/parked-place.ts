import { AdapterError } from '../../errors.ts';
import type { MessageBus } from '../../state/message-bus.ts';
import { OwnerLease, type OwnerLeaseDeps } from './owner-lease.ts';
import { ORDERS, parkedKey, type ParkedOrder } from './parked-entry.ts';

export interface ParkedPlaceDeps {
  readonly serverId: string;
  readonly bus: Pick<MessageBus, 'follow'>;
  readonly owners: OwnerLeaseDeps;
  /** Takes a place among the calls that are parked; false: there is none. */
  readonly take: () => boolean;
  readonly leave: () => void;
}

/** What a parked call has at this replica: a place among the others, the lease that says whose it is, and its orders. */
export class ParkedPlace {
  readonly #deps: ParkedPlaceDeps;
  readonly #exchange: string;
  readonly #onLost: () => void;
  #isPlaced = false;
  #lease: OwnerLease | undefined;
  #unfollow: (() => Promise<void>) | undefined;

  /** @param onLost it is another replica's now */
  constructor(deps: ParkedPlaceDeps, exchange: string, onLost: () => void) {
    this.#deps = deps;
    this.#exchange = exchange;
    this.#onLost = onLost;
  }

  /** Resolves once others can see whose the call is. */
  async own(): Promise<void> {
    if (this.#lease !== undefined) return;
    this.#lease = new OwnerLease(this.#deps.owners, this.#exchange, this.#onLost);
    await this.#lease.take();
  }

  /** As `own`; from then on orders are heard. Rejects where there is no place. */
  async take(onOrder: (order: ParkedOrder) => void): Promise<void> {
    const { take, bus, serverId } = this.#deps;
    if (!take()) throw new AdapterError('overloaded', 'Too many calls wait for answers; try again.');
    this.#isPlaced = true;
    await this.own();
    this.#unfollow = await bus.follow(parkedKey(serverId, this.#exchange), ORDERS, null, ({ message }) =>
      onOrder(JSON.parse(message) as ParkedOrder),
    );
  }

  /** Gives back what there is. What cannot be given back expires. */
  async free(): Promise<void> {
    if (this.#isPlaced) this.#deps.leave();
    this.#isPlaced = false;
    const unfollow = this.#unfollow;
    this.#unfollow = undefined;
    await unfollow?.();
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.free();
  }
}
