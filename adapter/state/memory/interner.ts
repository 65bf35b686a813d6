/**
 * Keeps one copy of equal strings: thousands of sessions carry the same initialize parameters. Counts the uses of
 * each string, so that the pool never holds more than its users do.
 */
export class Interner {
  readonly #pooled = new Map<string, { readonly text: string; uses: number }>();

  get size(): number {
    return this.#pooled.size;
  }

  /** The shared copy of `text`. Every call needs one `release`. */
  acquire(text: string): string {
    const known = this.#pooled.get(text);
    if (known === undefined) {
      this.#pooled.set(text, { text, uses: 1 });
      return text;
    }
    known.uses += 1;
    return known.text;
  }

  release(text: string): void {
    const known = this.#pooled.get(text);
    if (known === undefined) return;
    known.uses -= 1;
    if (known.uses === 0) this.#pooled.delete(text);
  }
}
