import { type ListingRequest, listTools } from './list-tools.ts';

const MAX_KEPT = 200;
/** For all pages: calls wait for it, and go on without it. */
const TIMEOUT_MS = 30_000;

interface Listing<T> {
  readonly byTool: ReadonlyMap<string, T>;
  readonly until: number;
}

/**
 * What the definitions of upstream tools say, for the questions that a call alone does not answer. Listed by requests of
 * the adapter's own, and kept for each server and for what its clients authenticate with.
 */
export class ToolListings<T> {
  readonly #ttlMs: number;
  readonly #read: (page: string) => Iterable<readonly [tool: string, value: T]>;
  readonly #kept = new Map<string, Promise<Listing<T>>>();

  /** @param read what is kept of a page (the JSON text of a result), by the name of the tool */
  constructor(ttlMs: number, read: (page: string) => Iterable<readonly [string, T]>) {
    this.#ttlMs = ttlMs;
    this.#read = read;
  }

  /** Says also whether the upstream was asked for it just now, which `again` has done in any case. */
  async of(request: ListingRequest, again = false): Promise<{ byTool: ReadonlyMap<string, T>; fresh: boolean }> {
    const key = `${request.serverId}\n${request.clientKey}`;
    const known = again ? undefined : this.#kept.get(key);
    // Nothing is awaited where there is none, so that calls of one moment share one listing.
    if (known !== undefined) {
      const { byTool, until } = await known;
      if (Date.now() < until) return { byTool, fresh: false };
    }
    const listing = this.#list(request);
    this.#kept.delete(key);
    this.#kept.set(key, listing);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return { byTool: (await listing).byTool, fresh: true };
  }

  /** Never fails. What an upstream says that does not list is not kept. */
  async #list(request: ListingRequest): Promise<Listing<T>> {
    const byTool = new Map<string, T>();
    try {
      for await (const page of listTools(request, AbortSignal.timeout(TIMEOUT_MS)))
        for (const [tool, value] of this.#read(page)) byTool.set(tool, value);
    } catch {
      return { byTool, until: 0 };
    }
    return { byTool, until: Date.now() + this.#ttlMs };
  }
}
