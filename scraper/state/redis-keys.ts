/**
 * The names of everything in Redis, all under `fingerprintStore.valkey.keyPrefix`: deployments with different prefixes
 * never touch each other's keys. Each key is about one source, or one host, or bounded, and every one of them expires:
 *
 * | key | holds | expires |
 * | --- | --- | --- |
 * | `ledger:<source>` | hash: plannedUntil, lastCommitAt, paused, owner, token, asked, `begun:<window id>` | 400 days after the last write |
 * | `windows:<source>` | hash: window id → window (see lua/ledger/ledger.lua) | the same |
 * | `due:<source>`, `due_backfill:<source>` | sorted set: open windows by when they are due | the same |
 * | `uncommitted:<source>` | sorted set: scheduled windows that are open or dead, by start | the same |
 * | `dead:<source>` | sorted set: dead windows by start; those that touch are joined, moments at most 100 | the same |
 * | `committed:<source>` | sorted set: the last 100 committed windows by time | the same |
 * | `fp_until:<source>` | sorted set: fingerprints by their end, at most `maxEntries` | with the last of them |
 * | `pods` | sorted set: live pods of all shards by the end of their lease | an hour after the last renewal |
 * | `rate:<host>` | string: when the next request may be sent | when that is past |
 *
 * Of the original, `last_success:<source>`, `fp_index:<source>` and `fp:<source>:<hash>` are read once, when a source is
 * first planned, and never written. One script has keys of several slots, so Redis Cluster is not served.
 */
export class RedisKeys {
  readonly pods: string;
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.pods = `${prefix}pods`;
  }

  /** In the order in which all scripts of the ledger have them. */
  ledger(source: string): string[] {
    return LEDGER.map((kind) => `${this.#prefix}${kind}:${source}`);
  }

  /** The hash with owner and token of a source. */
  owner(source: string): string {
    return `${this.#prefix}ledger:${source}`;
  }

  windows(source: string): string {
    return `${this.#prefix}windows:${source}`;
  }

  fingerprints(source: string): string {
    return `${this.#prefix}fp_until:${source}`;
  }

  /** The original's: time of the last success, index of fingerprints, and what fingerprints begin with. */
  original(source: string): [string, string, string] {
    return [
      `${this.#prefix}last_success:${source}`,
      `${this.#prefix}fp_index:${source}`,
      `${this.#prefix}fp:${source}:`,
    ];
  }

  rate(host: string): string {
    return `${this.#prefix}rate:${host}`;
  }
}

const LEDGER = ['ledger', 'windows', 'due', 'due_backfill', 'uncommitted', 'dead', 'committed'] as const;
