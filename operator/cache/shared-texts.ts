/** More than the words that fleets have in common, and little memory for what has gone. */
const MAX_KNOWN = 8_192;
/** Longer ones, such as files, are seldom the same twice. */
const MAX_CHARS = 512;

/**
 * Texts that stand in thousands of objects, once in memory: each parsed object brings copies of its own, and a fleet's
 * statuses say much the same. What is not seen any more is forgotten with all the rest when there are too many.
 */
export class SharedTexts {
  readonly #known = new Map<string, string>();
  readonly #maxKnown: number;

  constructor(maxKnown = MAX_KNOWN) {
    this.#maxKnown = maxKnown;
  }

  /** Number of texts that are known. */
  get size(): number {
    return this.#known.size;
  }

  /** The copy of this text that all share. */
  text(text: string): string {
    if (text.length > MAX_CHARS) return text;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= this.#maxKnown) this.#known.clear();
    this.#known.set(text, text);
    return text;
  }

  /** Puts shared copies into a document of parsed JSON that only the caller holds. @returns the same document */
  within<T extends object>(document: T): T {
    for (const [key, value] of Object.entries(document)) {
      if (typeof value === 'string') Reflect.set(document, key, this.text(value));
      else if (typeof value === 'object' && value !== null) this.within(value as object);
    }
    return document;
  }
}
