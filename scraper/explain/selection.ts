import type { PreparedSource } from '../window/prepared-source.ts';
import type { StateReader } from '../state/read-state.ts';

/** What becomes of the records of an answer, step by step. */
export class Selection {
  #found = 0;
  #filteredOut = 0;
  #unchanged = 0;
  #overLimit = 0;
  #emitted = 0;
  readonly #prepared: PreparedSource;
  readonly #reader: Pick<StateReader, 'seen'> | undefined;
  readonly #now: Date;
  readonly #hashes = new Set<string>();

  /** @param reader undefined: what was emitted before is not known */
  constructor(prepared: PreparedSource, reader: Pick<StateReader, 'seen'> | undefined, now: Date) {
    this.#prepared = prepared;
    this.#reader = reader;
    this.#now = now;
  }

  counts(): Readonly<Record<string, number>> {
    return {
      found: this.#found,
      filtered_out: this.#filteredOut,
      // Also what stands twice in these answers.
      emitted_before: this.#unchanged,
      over_limit: this.#overLimit,
      emitted: this.#emitted,
    };
  }

  /** The records of a page that would be emitted. */
  async take(records: readonly unknown[], root: unknown): Promise<readonly unknown[]> {
    const passed = this.#prepared.filter(records, root);
    const fresh = await this.#unseen(passed, root);
    const { maxRecordsPerScrape: limit } = this.#prepared.source.filters.limits;
    const emitted: readonly unknown[] = limit === null ? fresh : fresh.slice(0, Math.max(0, limit - this.#emitted));
    this.#found += records.length;
    this.#filteredOut += records.length - passed.length;
    this.#unchanged += passed.length - fresh.length;
    this.#overLimit += fresh.length - emitted.length;
    this.#emitted += emitted.length;
    return emitted;
  }

  async #unseen(records: readonly unknown[], root: unknown): Promise<readonly unknown[]> {
    const { fingerprint, source } = this.#prepared;
    if (fingerprint === undefined) return records;
    const candidates = new Map<string, unknown>();
    for (const record of records) {
      const hash = fingerprint(record, root);
      if (this.#hashes.has(hash)) continue;
      this.#hashes.add(hash);
      candidates.set(hash, record);
    }
    const seen = await this.#reader?.seen(source.name, [...candidates.keys()], this.#now);
    return [...candidates].filter(([hash]) => seen?.has(hash) !== true).map(([, record]) => record);
  }
}
