import type { Cache, Caches } from '../caches.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import { type ListingRequest, wholeList } from './list-tools.ts';
import { LISTS, type ListOf } from './list-of.ts';
import { SingleFlight } from './single-flight.ts';

/** Also where lists are not cached for clients: every call would wait for one. */
export const LEAST_TTL_MS = 1_000;

/** Whose tools, and what is known of them already. */
export interface InventoryRequest extends ListingRequest {
  readonly inventory: ToolInventory;
}

/** All tools of an upstream as it listed them at one time. */
export interface Listed {
  /** JSON text of a tools/list result without pages. */
  readonly result: string;
  /** In milliseconds since 1970. */
  readonly until: number;
}

/**
 * What one upstream lists, by what its clients authenticate with: asked for once for all questions of the adapter, and
 * learned from the lists that clients ask for themselves.
 */
export class ToolInventory {
  readonly #ttlMs: number;
  readonly #kept: Cache<Listed>;
  #epoch = 0;
  readonly #asking = new SingleFlight<Listed>();

  /** @param ttlMs how long a list counts, unless its upstream says that it does so for less */
  constructor(ttlMs: number, caches: Caches) {
    this.#ttlMs = ttlMs;
    this.#kept = caches.region(({ result }) => result.length);
  }

  /** Undefined where the upstream has to be asked. */
  known(request: ListingRequest, of: ListOf = LISTS.tools): Listed | undefined {
    const listed = this.#kept.get(this.#keyOf(request, of));
    return listed !== undefined && Date.now() < listed.until ? listed : undefined;
  }

  /** Asks the upstream. Throws as `wholeList` does. */
  ask(request: ListingRequest, signal: AbortSignal, of: ListOf = LISTS.tools): Promise<Listed> {
    const key = this.#keyOf(request, of);
    return this.#asking.of(key, signal, async (shared) =>
      this.#keep(key, await wholeList(request, shared, undefined, of)),
    );
  }

  /** A client was given this list of all tools, by the upstream. */
  saw(request: ListingRequest, result: string): void {
    this.#keep(this.#keyOf(request, LISTS.tools), result);
  }

  /** The upstream has other lists now. */
  forget(): void {
    this.#epoch += 1;
  }

  /** A server may list other tools in its sessions than without. */
  #keyOf({ clientKey, inSession }: ListingRequest, { method }: ListOf): string {
    return [this.#epoch, method, inSession === undefined ? '' : 'session', clientKey].join('\n');
  }

  #keep(key: string, result: string): Listed {
    const ttlMs = Math.max(LEAST_TTL_MS, Math.min(this.#ttlMs, hintIn(result)));
    const listed = { result, until: Date.now() + ttlMs };
    this.#kept.set(key, listed);
    return listed;
  }
}

/** How long a list counts as its upstream says (MCP 2026-07-28, caching: `ttlMs`), Infinity where it says nothing. */
function hintIn(result: string): number {
  const span = locate(result, ['ttlMs']);
  const ttlMs = span === undefined ? NaN : Number(result.slice(span.start, span.end));
  return ttlMs >= 0 ? ttlMs : Infinity;
}
