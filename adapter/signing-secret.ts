import { StoreUnavailable } from './state/state-store.ts';

/**
 * What upload and download URLs are signed with: the configured one, else one that all replicas share in the store,
 * which may have to be waited for.
 */
export class SigningSecret {
  readonly #load: () => Promise<string>;
  #value: string | undefined;
  #loading: Promise<void> | undefined;

  constructor(configured: string | null, load: () => Promise<string>) {
    this.#value = configured ?? undefined;
    this.#load = load;
  }

  /** Throws StoreUnavailable while the store has not given it; then it is asked again. */
  get value(): string {
    if (this.#value !== undefined) return this.#value;
    void this.load();
    throw new StoreUnavailable('the secret that signs URLs could not be read');
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
    try {
      this.#value = await this.#load();
    } catch {
      // See `value`.
    }
  }
}
