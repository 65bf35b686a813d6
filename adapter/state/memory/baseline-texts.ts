/**
 * The texts of baselines by their fingerprints: one copy of each, which thousands of sessions share, and which goes with
 * the last of them. The text of one that is in use may be unknown.
 */
export class BaselineTexts {
  readonly #used = new Map<string, { readonly fingerprint: string; text: string; uses: number }>();

  /** Counts one use more, and returns the shared copy of the fingerprint. Every call needs one `release`. */
  acquire(fingerprint: string | null): string | null {
    if (fingerprint === null) return null;
    const known = this.#used.get(fingerprint) ?? { fingerprint, text: '', uses: 0 };
    known.uses += 1;
    this.#used.set(known.fingerprint, known);
    return known.fingerprint;
  }

  release(fingerprint: string | null): void {
    if (fingerprint === null) return;
    const known = this.#used.get(fingerprint);
    if (known === undefined) return;
    known.uses -= 1;
    if (known.uses === 0) this.#used.delete(fingerprint);
  }

  /** Takes in the text of a baseline that is in use; any other is passed over. */
  learn(fingerprint: string, text: string): void {
    const known = this.#used.get(fingerprint);
    if (known !== undefined && text !== '') known.text = text;
  }

  /** '' when it is unknown. */
  get(fingerprint: string): string {
    return this.#used.get(fingerprint)?.text ?? '';
  }

  /** All that are known. */
  all(): Map<string, string> {
    const known = [...this.#used.values()].filter(({ text }) => text !== '');
    return new Map(known.map(({ fingerprint, text }) => [fingerprint, text]));
  }
}
