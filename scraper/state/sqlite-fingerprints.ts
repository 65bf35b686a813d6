import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * The original's table of fingerprints. Whole pages go to SQLite as one JSON text: a statement for each record would cost
 * more than its work. Times are in seconds, and each row keeps the time to live that it was written with.
 */
export class SqliteFingerprints {
  readonly #seen: StatementSync;
  readonly #add: StatementSync;
  readonly #count: StatementSync;
  readonly #dropOldest: StatementSync;
  readonly #sources: StatementSync;
  readonly #dropExpired: StatementSync;

  constructor(connection: DatabaseSync) {
    this.#seen = connection.prepare(
      `SELECT page.value FROM json_each(?) AS page WHERE EXISTS (
         SELECT 1 FROM fingerprints WHERE hash = page.value AND source = ? AND ? - last_seen <= ttl)`,
    );
    this.#seen.setReturnArrays(true);
    // In the order of the index, which is what makes a large page quick.
    this.#add = connection.prepare(
      `INSERT INTO fingerprints (hash, source, first_seen, last_seen, ttl)
       SELECT value, ?1, ?2, ?2, ?3 FROM json_each(?4) WHERE true ORDER BY value
       ON CONFLICT (hash, source) DO UPDATE SET last_seen = excluded.last_seen, ttl = excluded.ttl`,
    );
    this.#count = connection.prepare('SELECT count(*) AS count FROM fingerprints WHERE source = ?');
    this.#dropOldest = connection.prepare(
      `DELETE FROM fingerprints WHERE rowid IN (
         SELECT rowid FROM fingerprints WHERE source = ? ORDER BY last_seen, ttl, rowid LIMIT ?)`,
    );
    // One step in the index for each source, however many fingerprints it has.
    this.#sources = connection.prepare(
      `WITH RECURSIVE found (source) AS (
         SELECT min(source) FROM fingerprints
         UNION ALL
         SELECT (SELECT min(source) FROM fingerprints WHERE source > found.source) FROM found
         WHERE found.source IS NOT NULL
       ) SELECT source FROM found WHERE source IS NOT NULL`,
    );
    this.#dropExpired = connection.prepare('DELETE FROM fingerprints WHERE source = ? AND last_seen + ttl < ?');
  }

  seen(source: string, hashes: readonly string[], now: Date): ReadonlySet<string> {
    if (hashes.length === 0) return new Set();
    const rows: unknown[] = this.#seen.all(JSON.stringify(hashes), source, seconds(now));
    return new Set(rows.map((row) => String((row as unknown[])[0])));
  }

  add(
    source: string,
    {
      now,
      fingerprints,
      ttlMs,
      maxEntries,
    }: { now: Date; fingerprints: readonly string[]; ttlMs: number; maxEntries: number },
  ): void {
    if (fingerprints.length === 0) return;
    this.#add.run(source, seconds(now), Math.ceil(ttlMs / 1000), JSON.stringify(fingerprints));
    const excess = Number(this.#count.get(source)?.['count']) - maxEntries;
    if (excess > 0) this.#dropOldest.run(source, excess);
  }

  /** All sources with fingerprints, also those of the past. */
  sources(): string[] {
    return this.#sources.all().map(({ source }) => String(source));
  }

  dropExpired(source: string, now: Date): number {
    return Number(this.#dropExpired.run(source, seconds(now)).changes);
  }
}

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000);
