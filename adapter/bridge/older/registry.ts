/** Several things under each key. */
export class Registry<T> {
  readonly #all = new Map<string, Set<T>>();

  /** @returns what takes it out again */
  add(key: string, value: T): () => void {
    const set = this.#all.get(key) ?? new Set();
    this.#all.set(key, set.add(value));
    return () => {
      set.delete(value);
      if (set.size === 0 && this.#all.get(key) === set) this.#all.delete(key);
    };
  }

  of(key: string): readonly T[] {
    return [...(this.#all.get(key) ?? [])];
  }
}
