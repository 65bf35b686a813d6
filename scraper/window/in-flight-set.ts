/** Fingerprints of one source that are on their way: two windows at a time must not both emit a record. */
export class InFlightSet {
  readonly #claimed = new Set<string>();

  /** False when another window, or this one, has it already. */
  claim(fingerprint: string): boolean {
    if (this.#claimed.has(fingerprint)) return false;
    this.#claimed.add(fingerprint);
    return true;
  }

  release(fingerprints: Iterable<string>): void {
    for (const fingerprint of fingerprints) this.#claimed.delete(fingerprint);
  }
}
