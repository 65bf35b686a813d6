import { LRUCache } from 'lru-cache';

import { SESSIONLESS_REVISION } from '../exchange/message.ts';
import type { Upstream } from '../exchange/upstream.ts';
import { ownRequest } from '../upstream/own-request.ts';
import { objectOf } from './json-object.ts';
import { SESSIONLESS_META, sessionlessHeaders } from '../upstream/revision-probe.ts';

/** What a server says of itself (MCP 2026-07-28, `server/discover`). */
export interface Discovery {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: unknown;
  readonly instructions: unknown;
}

const MAX_KEPT = 1_000;
const TIMEOUT_MS = 20_000;
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** What one upstream says of itself, by what its clients authenticate with; kept for as long as it says, and no longer than `ttlMs`. */
export class Discoveries {
  readonly #upstream: Upstream;
  readonly #ttlMs: number;
  readonly #kept = new LRUCache<string, Promise<Discovery | undefined>>({ max: MAX_KEPT, perf: Date });

  constructor(upstream: Upstream, ttlMs: number) {
    this.#upstream = upstream;
    this.#ttlMs = ttlMs;
  }

  /**
   * Undefined where the server does not speak the revision without sessions. Rejects when it cannot be reached.
   * @param key stands for what the headers authenticate with
   * @param headers of a request of the adapter's own, names and values in turn
   */
  of(key: string, headers: readonly string[]): Promise<Discovery | undefined> {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const asked = this.#ask(key, headers);
    this.#kept.set(key, asked, { ttl: this.#ttlMs });
    asked.catch(() => this.forget(key));
    return asked;
  }

  /** It has shown that it is another one by now. */
  forget(key: string): void {
    this.#kept.delete(key);
  }

  async #ask(key: string, headers: readonly string[]): Promise<Discovery | undefined> {
    const { message } = await ownRequest(this.#upstream, {
      session: undefined,
      headers: [...headers, ...sessionlessHeaders('server/discover')],
      message: { method: 'server/discover', params: JSON.stringify({ _meta: SESSIONLESS_META }) },
      timeoutMs: TIMEOUT_MS,
    });
    const { supportedVersions, capabilities, instructions, ttlMs, _meta } = message?.result ?? {};
    if (!Array.isArray(supportedVersions) || !supportedVersions.includes(SESSIONLESS_REVISION)) {
      this.forget(key);
      return undefined;
    }
    const discovery: Discovery = {
      capabilities: objectOf(capabilities),
      serverInfo: objectOf(_meta)[SERVER_INFO],
      instructions,
    };
    const ttl = Math.min(this.#ttlMs, typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : Infinity);
    if (ttl > 0) this.#kept.set(key, Promise.resolve(discovery), { ttl });
    else this.forget(key);
    return discovery;
  }
}
