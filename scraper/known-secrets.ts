import { scraperSecrets } from '../crds/config/scraper-file/redact.ts';
import type { ScraperConfig } from '../crds/config/scraper-file/scraper.ts';

/** The secrets of all configurations that there were, and what stands for them in requests, such as tokens. */
export class KnownSecrets {
  readonly #others: () => Iterable<string>;
  readonly #configured = new Set<string>();
  #known: readonly string[] = [];
  #ordered: readonly string[] = [];

  constructor(others: () => Iterable<string>) {
    this.#others = others;
  }

  add(config: ScraperConfig): void {
    for (const secret of scraperSecrets(config)) this.#configured.add(secret);
  }

  /** All of them, longest first; the same list while there is no other. */
  readonly all = (): readonly string[] => {
    // Asked for with every line of the log, and seldom different.
    const all = [...this.#configured, ...this.#others()];
    if (all.length === this.#known.length && all.every((secret, index) => secret === this.#known[index]))
      return this.#ordered;
    this.#known = all;
    this.#ordered = all.toSorted((a, b) => b.length - a.length);
    return this.#ordered;
  };
}
