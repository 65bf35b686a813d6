import { hash } from 'node:crypto';

/** Names of tools that have buckets of their own before their server has listed them, in an hour. */
const MAX_UNLISTED = 1_000;
const HOUR_MS = 3_600_000;
/** Names that are kept to be recognised. Sessions may see different lists; the latest count. */
const MAX_LISTED = 5_000;
/** Longer names are known by their hashes. */
const MAX_CHARS = 64;
/** What all other tools have together. No name is empty that is not this one. */
const OTHERS = '';

/**
 * Which tools have buckets of their own. Clients may call anything, so of what the server has not listed only some do, and
 * all others share one: nobody makes buckets without end. Before a list is known the first calls already count for their tool.
 */
export class BucketNames {
  readonly #now: () => number;
  /** In the order in which they were listed last. */
  readonly #listed = new Set<string>();
  readonly #unlisted = new Set<string>();
  #unlistedUntil = 0;

  /** @param now in milliseconds, of any clock that only runs forwards */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The server has these tools. */
  listed(names: Iterable<string>): void {
    for (const tool of names) {
      const name = nameOf(tool);
      this.#listed.delete(name);
      this.#listed.add(name);
    }
    for (const oldest of this.#listed) {
      if (this.#listed.size <= MAX_LISTED) break;
      this.#listed.delete(oldest);
    }
  }

  of(tool: string): string {
    const name = nameOf(tool);
    if (this.#listed.has(name) || this.#unlisted.has(name)) return name;
    const now = this.#now();
    if (now >= this.#unlistedUntil) {
      this.#unlisted.clear();
      this.#unlistedUntil = now + HOUR_MS;
    }
    if (this.#unlisted.size >= MAX_UNLISTED) return OTHERS;
    this.#unlisted.add(name);
    return name;
  }
}

const nameOf = (tool: string): string => (tool.length <= MAX_CHARS ? tool : `#${hash('sha256', tool)}`);
