type Value = string | number | boolean | undefined;

/**
 * What is made once for each combination of a few values, such as the series of all metrics that a request counts in. When
 * there are too many of them all are forgotten: who chooses values at will makes it slow, not large.
 */
export class Combinations<T> {
  readonly #max: number;
  #tree = new Map<Value, unknown>();
  #size = 0;

  /** @param max combinations that are kept */
  constructor(max: number) {
    this.#max = max;
  }

  /** @param values always equally many, and none of them long: they are kept */
  get(values: readonly Value[], make: () => T): T {
    // A map for each value costs less than a text of all of them, which would have to be put together and hashed.
    let branch = this.#tree;
    const last = values.length - 1;
    for (let at = 0; at < last; at += 1) {
      let next = branch.get(values[at]) as Map<Value, unknown> | undefined;
      if (next === undefined) {
        next = new Map();
        branch.set(values[at], next);
      }
      branch = next;
    }
    let found = branch.get(values[last]) as T | undefined;
    if (found === undefined) {
      found = make();
      if (this.#size === this.#max) {
        this.#tree = new Map();
        this.#size = 0;
        return found;
      }
      branch.set(values[last], found);
      this.#size += 1;
    }
    return found;
  }
}
