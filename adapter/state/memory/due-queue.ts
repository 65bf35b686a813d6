interface Entry<T> {
  readonly item: T;
  readonly at: number;
}

/** How many entries of items that are gone may lie around before they are swept out. */
const SLACK = 1_000;

/**
 * Items by a time at which each becomes due, as a binary heap. The time of an item may only move later, and may do so
 * without a word here: it is looked at when the item comes up.
 */
export class DueQueue<T> {
  readonly #dueAt: (item: T) => number | undefined;
  #heap: Entry<T>[] = [];
  #size = 0;

  /** `dueAt` says when an item is due now, undefined once it has left the queue. */
  constructor(dueAt: (item: T) => number | undefined) {
    this.#dueAt = dueAt;
  }

  add(item: T): void {
    this.#size += 1;
    this.#push({ item, at: this.#dueAt(item) ?? Infinity });
  }

  /** Call it once for each item that has left. */
  left(): void {
    this.#size -= 1;
    if (this.#heap.length <= 2 * this.#size + SLACK) return;
    const kept = this.#heap.filter(({ item }) => this.#dueAt(item) !== undefined);
    this.#heap = [];
    for (const { item } of kept) this.#push({ item, at: this.#dueAt(item) ?? Infinity });
  }

  /** Up to `limit` items that are due at `until` or earlier and `wanted`, earliest first. They stay in the queue. */
  due(until: number, limit: number, wanted: (item: T) => boolean): T[] {
    const found: T[] = [];
    const seen: Entry<T>[] = [];
    while (found.length < limit) {
      const [first] = this.#heap;
      if (first === undefined || first.at > until) break;
      this.#pop();
      const at = this.#dueAt(first.item);
      if (at === undefined) continue;
      if (at > first.at) {
        this.#push({ item: first.item, at });
        continue;
      }
      seen.push(first);
      if (wanted(first.item)) found.push(first.item);
    }
    for (const entry of seen) this.#push(entry);
    return found;
  }

  #push(entry: Entry<T>): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.at <= entry.at) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const entry = heap.pop();
    if (entry === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      const left = heap[below];
      if (left === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && right.at < left.at) below += 1;
      const child = heap[below];
      if (child === undefined || child.at >= entry.at) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = entry;
  }
}
