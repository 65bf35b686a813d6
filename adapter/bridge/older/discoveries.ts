import type { Cache, Caches } from '../../caches.ts';
import { SESSIONLESS_REVISION } from '../../exchange/message.ts';
import type { Upstream } from '../../exchange/upstream.ts';
import { MAX_DISCOVERY_CHARS } from '../../limits.ts';
import { ownRequest } from '../../upstream/own-request.ts';
import { objectOf } from '../../../lib/json/json-object.ts';
import { saysNothing, SESSIONLESS_META, sessionlessHeaders } from '../../upstream/revision-probe.ts';
import { META } from '../../exchange/protocol-meta.ts';

/** What a server says of itself (MCP 2026-07-28, `server/discover`). */
export interface Discovery {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: unknown;
  readonly instructions: unknown;
}

/** What is kept of it, until then in milliseconds since 1970. */
interface Kept {
  readonly discovery: Discovery;
  readonly until: number;
  readonly chars: number;
}

const TIMEOUT_MS = 20_000;

/** What one upstream says of itself, by what its clients authenticate with; kept for as long as it says, and no longer than `ttlMs`. */
export class Discoveries {
  readonly #upstream: Upstream;
  readonly #ttlMs: number;
  readonly #kept: Cache<Kept>;
  readonly #asking = new Map<string, Promise<Discovery | undefined>>();

  constructor(upstream: Upstream, ttlMs: number, caches: Pick<Caches, 'region'>) {
    this.#upstream = upstream;
    this.#ttlMs = ttlMs;
    this.#kept = caches.region(({ chars }) => chars);
  }

  /**
   * Undefined where the server does not speak the revision without sessions. Rejects when it cannot be reached, or does not
   * say now.
   * @param key stands for what the headers authenticate with
   * @param headers of a request of the adapter's own, names and values in turn
   */
  of(key: string, headers: readonly string[]): Promise<Discovery | undefined> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && Date.now() < kept.until) return Promise.resolve(kept.discovery);
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      const asked = this.#ask(key, headers).finally(() => {
        if (this.#asking.get(key) === asked) this.#asking.delete(key);
      });
      this.#asking.set(key, asked);
      asking = asked;
    }
    return asking;
  }

  /** It has shown that it is another one by now. */
  forget(key: string): void {
    this.#kept.delete(key);
    this.#asking.delete(key);
  }

  async #ask(key: string, headers: readonly string[]): Promise<Discovery | undefined> {
    const { status, body, message } = await ownRequest(this.#upstream, {
      session: undefined,
      headers: [...headers, ...sessionlessHeaders('server/discover')],
      message: { method: 'server/discover', params: JSON.stringify({ _meta: SESSIONLESS_META }) },
      timeoutMs: TIMEOUT_MS,
    });
    const { supportedVersions, capabilities, instructions, ttlMs, _meta } = message?.result ?? {};
    if (!Array.isArray(supportedVersions)) {
      if (saysNothing(status)) throw new Error(`the upstream server answered with HTTP ${status}`);
      return undefined;
    }
    if (!supportedVersions.includes(SESSIONLESS_REVISION)) return undefined;
    if (body.length > MAX_DISCOVERY_CHARS) throw new Error('the upstream server says too much of itself');
    const discovery: Discovery = {
      capabilities: objectOf(capabilities),
      serverInfo: objectOf(_meta)[META.serverInfo],
      instructions,
    };
    const ttl = Math.min(this.#ttlMs, typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : Infinity);
    if (ttl > 0) this.#kept.set(key, { discovery, until: Date.now() + ttl, chars: body.length });
    return discovery;
  }
}
