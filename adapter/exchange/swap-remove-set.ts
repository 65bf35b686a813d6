/** What is in a SwapRemoveSet knows its place there. */
export interface Slotted {
  slot: number;
}

/**
 * An unordered collection for things that come and go with every request. Not a Set: V8's hash tables that shrink and
 * grow leave dead tables behind that keep each other, and all that was in them, alive until the next full collection.
 */
export class SwapRemoveSet<T extends Slotted> {
  readonly #items: T[] = [];

  add(item: T): void {
    item.slot = this.#items.length;
    this.#items.push(item);
  }

  /** False when it is not in the bag. */
  delete(item: T): boolean {
    const { slot } = item;
    if (this.#items[slot] !== item) return false;
    const last = this.#items.pop() as T;
    if (last !== item) {
      this.#items[slot] = last;
      last.slot = slot;
    }
    item.slot = -1;
    return true;
  }

  get size(): number {
    return this.#items.length;
  }

  /** A copy, so that what is done to the items may remove them. */
  values(): T[] {
    return this.#items.slice();
  }
}
