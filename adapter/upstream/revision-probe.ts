import { LRUCache } from 'lru-cache';

import { packageVersion } from '../../lib/package-version.ts';
import { SESSIONLESS_REVISION } from '../exchange/message.ts';
import { ownRequest } from './own-request.ts';
import type { RequestTrace } from '../exchange/request-trace.ts';
import type { Upstream } from '../exchange/upstream.ts';
import { META } from '../exchange/protocol-meta.ts';

/** `_meta` of the adapter's own requests in the sessionless revision (MCP 2026-07-28, per-request metadata). */
export const SESSIONLESS_META = {
  [META.protocolVersion]: SESSIONLESS_REVISION,
  [META.clientInfo]: { name: 'mcp-adapter', version: packageVersion(import.meta.url) },
  [META.clientCapabilities]: {},
};

/** The headers that such a request needs beside the usual ones. */
export function sessionlessHeaders(method: string): string[] {
  return ['mcp-protocol-version', SESSIONLESS_REVISION, 'mcp-method', method];
}

/** `declined`: it knows the sessionless revisions, says so, and speaks none of those that the adapter does. */
export type RevisionFamily = 'modern' | 'declined' | 'legacy' | 'unknown';

/** What a server of the sessionless revision says that it can do. */
export type Capability = 'tools' | 'resources';

const SESSIONLESS_TTL_MS = 300_000;
const WITHOUT_TTL_MS = 30_000;
const MAX_WITHOUT = 1_000;
/** Refusals of a client, or of this moment. */
const NO_EVIDENCE = new Set([401, 403, 408, 425, 429]);

/** Whether a status says nothing of revisions. */
export const saysNothing = (status: number): boolean => NO_EVIDENCE.has(status) || status >= 500;

/**
 * Whether an upstream speaks the sessionless revision, found out by `server/discover` and remembered. That it does
 * counts for all clients; that it does not only for those with the same headers, as it may mean that one of these was
 * wrong. A server that answers with other revisions than that one knows itself how to refuse requests of it. Answers that are no
 * evidence (401, 429, 5xx) leave it unknown: then the client's own request shows what the server
 * says.
 */
export class RevisionProbe {
  readonly #upstream: Upstream;
  readonly #timeoutMs: number;
  #modernUntil = 0;
  /** By the keys of clients. */
  readonly #without = new LRUCache<string, { readonly family: 'declined' | 'legacy'; readonly until: number }>({
    max: MAX_WITHOUT,
  });
  #capabilities: Readonly<Record<string, unknown>> | undefined;
  readonly #running = new Map<string, Promise<RevisionFamily>>();

  constructor(upstream: Upstream, timeoutMs: number) {
    this.#upstream = upstream;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * `headers` are those of the request that asks, so that its credentials are used, and `client` the key of what in them
   * is the client's own; `trace` is that request's. Rejects when unreachable.
   */
  async of(client: string, headers: readonly string[], trace?: RequestTrace): Promise<RevisionFamily> {
    if (!this.#upstream.modern) return 'legacy';
    const now = Date.now();
    if (now < this.#modernUntil) return 'modern';
    const without = this.#without.get(client);
    if (without !== undefined && now < without.until) return without.family;
    let running = this.#running.get(client);
    if (running === undefined) {
      running = this.#probe(client, trace?.of(this.#upstream) ?? this.#upstream, headers).finally(() =>
        this.#running.delete(client),
      );
      this.#running.set(client, running);
    }
    return running;
  }

  /** Whether it is known to speak the sessionless revision, to whoever asks. */
  get speaksNewest(): boolean {
    return Date.now() < this.#modernUntil;
  }

  /** What is known now without asking, for whoever brings no headers of their own; undefined: nothing. */
  get known(): RevisionFamily | undefined {
    if (!this.#upstream.modern) return 'legacy';
    const now = Date.now();
    if (now < this.#modernUntil) return 'modern';
    const without = this.#without.get('');
    return without !== undefined && now < without.until ? without.family : undefined;
  }

  /** Whether the upstream has said that it has none of these. */
  lacks(capability: Capability): boolean {
    return this.#capabilities !== undefined && this.#capabilities[capability] === undefined;
  }

  async #probe(client: string, upstream: Upstream, headers: readonly string[]): Promise<RevisionFamily> {
    const answer = await ownRequest(upstream, {
      session: undefined,
      headers: [...headers, ...sessionlessHeaders('server/discover')],
      message: { method: 'server/discover', params: JSON.stringify({ _meta: SESSIONLESS_META }) },
      timeoutMs: this.#timeoutMs,
    });
    const versions = answer.message?.result?.['supportedVersions'];
    if (Array.isArray(versions)) {
      if (!versions.some(isSessionless)) return this.#remember(client, 'declined');
      const capabilities = answer.message?.result?.['capabilities'];
      this.#capabilities = typeof capabilities === 'object' && capabilities !== null ? { ...capabilities } : undefined;
      this.#modernUntil = Date.now() + SESSIONLESS_TTL_MS;
      return 'modern';
    }
    if (saysNothing(answer.status)) return 'unknown';
    return this.#remember(client, 'legacy');
  }

  #remember(client: string, family: 'declined' | 'legacy'): RevisionFamily {
    this.#without.set(client, { family, until: Date.now() + WITHOUT_TTL_MS });
    return family;
  }
}

const isSessionless = (version: unknown): boolean => typeof version === 'string' && version >= SESSIONLESS_REVISION;
