import { MODERN_REVISION } from '../exchange/message.ts';
import { ownRequest } from './own-request.ts';
import type { Upstream } from './upstream.ts';

/** `_meta` of the adapter's own requests in the sessionless revision (MCP 2026-07-28, per-request metadata). */
export const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': MODERN_REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** The headers that such a request needs beside the usual ones. */
export function modernHeaders(method: string): string[] {
  return ['mcp-protocol-version', MODERN_REVISION, 'mcp-method', method];
}

export type Era = 'modern' | 'legacy' | 'unknown';

/** What a server of the sessionless revision says that it can do. */
export type Capability = 'tools' | 'resources';

const MODERN_TTL_MS = 300_000;
const LEGACY_TTL_MS = 30_000;

/**
 * Whether an upstream speaks the sessionless revision, found out by `server/discover` and remembered. Answers that
 * are no evidence (401, 403, 5xx) leave it unknown: then the client's own request shows what the server says.
 */
export class EraProbe {
  readonly #upstream: Upstream;
  readonly #timeoutMs: number;
  #era: Era = 'unknown';
  #until = 0;
  #capabilities: Readonly<Record<string, unknown>> | undefined;
  #running: Promise<Era> | undefined;

  constructor(upstream: Upstream, timeoutMs: number) {
    this.#upstream = upstream;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * `headers` are those of the request that asks, so that its credentials are used; `upstream` is the same one as this
   * request sees it. Rejects when unreachable.
   */
  async era(headers: readonly string[], upstream = this.#upstream): Promise<Era> {
    if (!this.#upstream.modern) return 'legacy';
    if (this.#era !== 'unknown' && Date.now() < this.#until) return this.#era;
    this.#running ??= this.#probe(upstream, headers).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Whether the upstream has said that it has none of these. */
  lacks(capability: Capability): boolean {
    return this.#capabilities !== undefined && this.#capabilities[capability] === undefined;
  }

  async #probe(upstream: Upstream, headers: readonly string[]): Promise<Era> {
    const answer = await ownRequest(upstream, {
      session: undefined,
      headers: [...headers, ...modernHeaders('server/discover')],
      message: { method: 'server/discover', params: JSON.stringify({ _meta: MODERN_META }) },
      timeoutMs: this.#timeoutMs,
    });
    const versions = answer.message?.result?.['supportedVersions'];
    if (
      Array.isArray(versions) &&
      versions.some((version) => typeof version === 'string' && version >= MODERN_REVISION)
    ) {
      const capabilities = answer.message?.result?.['capabilities'];
      this.#capabilities = typeof capabilities === 'object' && capabilities !== null ? { ...capabilities } : undefined;
      this.#remember('modern', MODERN_TTL_MS);
    } else if (answer.status === 401 || answer.status === 403 || answer.status >= 500) return 'unknown';
    else this.#remember('legacy', LEGACY_TTL_MS);
    return this.#era;
  }

  #remember(era: Era, ttlMs: number): void {
    this.#era = era;
    this.#until = Date.now() + ttlMs;
  }
}
