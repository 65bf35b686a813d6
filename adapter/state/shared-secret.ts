import { StoreUnavailable } from './state-store.ts';

/**
 * What keys are derived from, those that sign URLs and those of hashes: the configured one, else one that all replicas share
 * in the store, which may have to be waited for. One that comes from memory while the store is down is this replica's alone: it is
 * good until the store is back, and then the shared one is asked for.
 */
export class SharedSecret {
  readonly #load: () => Promise<string>;
  readonly #isFallback: () => boolean;
  #value: string | undefined;
  /** From memory, in the place of the store that is down. */
  #meanwhile: string | undefined;
  #loading: Promise<void> | undefined;

  /** `isFallback`: the store is replaced by memory (`unavailable_policy: fallback_memory`). */
  constructor(configured: string | null, load: () => Promise<string>, isFallback: () => boolean) {
    this.#value = configured ?? undefined;
    this.#load = load;
    this.#isFallback = isFallback;
  }

  /** Throws StoreUnavailable while the store has not given it; then it is asked again. */
  get value(): string {
    if (this.#value !== undefined) return this.#value;
    if (this.#meanwhile !== undefined && this.#isFallback()) return this.#meanwhile;
    void this.load();
    throw new StoreUnavailable('the secret of all replicas could not be read');
  }

  /** Never fails: what needs the secret says so. */
  load(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #read(): Promise<void> {
    if (this.#value !== undefined) return;
    // The store may fail, or come back, while it is asked.
    const began = this.#isFallback();
    try {
      const secret = await this.#load();
      if (began || this.#isFallback()) this.#meanwhile = secret;
      else this.#value = secret;
    } catch {
      // See `value`.
    }
  }
}
