/** Each holds a connection to an upstream. */
const MAX_PARKED = 4_096;
/** Of one caller, so that others find a place. */
const MAX_OF_CALLER = MAX_PARKED / 8;

/** Places for calls that wait for answers of their clients. */
export class ParkingPlaces {
  #taken = 0;
  readonly #byCaller = new Map<string, number>();

  /** @param principal '' where nobody knows who is calling: these may be many. */
  take(principal: string): boolean {
    const own = this.#byCaller.get(principal) ?? 0;
    if (this.#taken >= MAX_PARKED || (principal !== '' && own >= MAX_OF_CALLER)) return false;
    this.#taken += 1;
    this.#byCaller.set(principal, own + 1);
    return true;
  }

  leave(principal: string): void {
    const own = this.#byCaller.get(principal) ?? 0;
    this.#taken -= 1;
    if (own > 1) this.#byCaller.set(principal, own - 1);
    else this.#byCaller.delete(principal);
  }
}
