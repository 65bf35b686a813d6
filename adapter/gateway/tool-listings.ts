import { hash } from 'node:crypto';

import { MODERN_META, modernHeaders } from '../upstream/era.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { UpstreamSession } from '../upstream/upstream.ts';
import type { Mount } from './mount.ts';

const TIMEOUT_MS = 10_000;
const MAX_PAGES = 64;
const MAX_KEPT = 200;

/** Whose list of tools is asked for. */
export interface ListingRequest {
  readonly mount: Mount;
  /** Headers of an own request for this client: what it authenticates with. */
  readonly base: readonly string[];
  /** The session to ask in, with the headers of a request in it; undefined in the sessionless revision. */
  readonly inSession: { readonly session: UpstreamSession; readonly headers: readonly string[] } | undefined;
}

/** One page of the answer: its JSON text and the parsed result in it. */
export interface ListingPage {
  readonly text: string;
  readonly result: Readonly<Record<string, unknown>>;
}

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
  readonly #read: (page: ListingPage) => Iterable<readonly [tool: string, value: T]>;
  readonly #kept = new Map<string, Promise<Listing<T>>>();

  /** @param read what is kept of a page, by the name of the tool */
  constructor(ttlMs: number, read: (page: ListingPage) => Iterable<readonly [string, T]>) {
    this.#ttlMs = ttlMs;
    this.#read = read;
  }

  /** Says also whether the upstream was asked for it just now, which `again` has done in any case. */
  async of(request: ListingRequest, again = false): Promise<{ byTool: ReadonlyMap<string, T>; fresh: boolean }> {
    const key = hash('sha256', JSON.stringify([request.mount.serverId, request.base]), 'base64');
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
  async #list({ mount, base, inSession }: ListingRequest): Promise<Listing<T>> {
    const byTool = new Map<string, T>();
    const meta = inSession === undefined ? { _meta: MODERN_META } : {};
    let params = JSON.stringify(meta);
    try {
      for (let page = 0; page < MAX_PAGES; page++) {
        const answer = await ownRequest(mount.upstream, {
          session: inSession?.session,
          headers: inSession?.headers ?? [...base, ...modernHeaders('tools/list')],
          message: { method: 'tools/list', params },
          timeoutMs: TIMEOUT_MS,
        });
        const { text, message } = answer;
        const result: unknown = message?.result;
        if (text === undefined || typeof result !== 'object' || result === null) return { byTool, until: 0 };
        for (const [tool, value] of this.#read({ text, result: { ...result } })) byTool.set(tool, value);
        const { nextCursor } = result as { nextCursor?: unknown };
        if (typeof nextCursor !== 'string') break;
        params = JSON.stringify({ ...meta, cursor: nextCursor });
      }
    } catch {
      return { byTool, until: 0 };
    }
    return { byTool, until: Date.now() + this.#ttlMs };
  }
}
