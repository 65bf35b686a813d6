import { LRUCache } from 'lru-cache';

import type { FirstTextTable } from '../tables/first-text-table.ts';

/** Clients make the names: beyond this, what was asked for longest ago is forgotten. In characters. */
const MAX_CHARS = 32 << 20;
/** About what one takes up beside its texts. */
const OVERHEAD = 200;

/** First texts in memory. */
export class MemoryFirstTexts implements FirstTextTable {
  readonly #texts: LRUCache<string, { readonly text: string; readonly expiresAt: number }>;

  constructor(maxChars = MAX_CHARS) {
    this.#texts = new LRUCache({
      maxSize: maxChars,
      sizeCalculation: ({ text }, name) => name.length + text.length + OVERHEAD,
    });
  }

  get(name: string, now: number): string | undefined {
    // Only what is set again lives longer, so that the order is nearly that of the ends.
    const kept = this.#texts.peek(name);
    return kept === undefined || kept.expiresAt <= now ? undefined : kept.text;
  }

  set(name: string, text: string, expiresAt: number): void {
    this.#texts.set(name, { text, expiresAt });
  }

  dropExpired(now: number): void {
    for (const name of this.#texts.rkeys()) {
      if ((this.#texts.peek(name)?.expiresAt ?? 0) > now) break;
      this.#texts.delete(name);
    }
  }
}
