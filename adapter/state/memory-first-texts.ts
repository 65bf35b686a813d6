import type { FirstTextTable } from './first-text-table.ts';

/** Clients make the names: beyond this, what was asked for longest ago is forgotten. In characters. */
const MAX_CHARS = 32 << 20;
/** About what one takes up beside its texts. */
const OVERHEAD = 200;

/** First texts in memory. */
export class MemoryFirstTexts implements FirstTextTable {
  /** Those that were used last at the end, which is nearly the order of their end. */
  readonly #texts = new Map<string, { readonly text: string; readonly expiresAt: number }>();
  readonly #maxChars: number;
  #chars = 0;

  constructor(maxChars = MAX_CHARS) {
    this.#maxChars = maxChars;
  }

  get(name: string, now: number): string | undefined {
    const kept = this.#texts.get(name);
    return kept === undefined || kept.expiresAt <= now ? undefined : kept.text;
  }

  set(name: string, text: string, expiresAt: number): void {
    this.#delete(name);
    this.#texts.set(name, { text, expiresAt });
    this.#chars += name.length + text.length + OVERHEAD;
    for (const oldest of this.#texts.keys()) {
      if (this.#chars <= this.#maxChars) break;
      this.#delete(oldest);
    }
  }

  dropExpired(now: number): void {
    for (const [name, { expiresAt }] of this.#texts) {
      if (expiresAt > now) break;
      this.#delete(name);
    }
  }

  #delete(name: string): void {
    const kept = this.#texts.get(name);
    if (kept === undefined) return;
    this.#texts.delete(name);
    this.#chars -= name.length + kept.text.length + OVERHEAD;
  }
}
