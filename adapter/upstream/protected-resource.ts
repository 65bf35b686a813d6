import { Agent, request } from 'undici';

import { boundedText } from '../../lib/net/bounded-text.ts';
import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 64 << 10;
const KEPT_MS = 300_000;
const FAILURE_KEPT_MS = 10_000;
const MAX_ENTRIES = 100;
const MAX_TEXT_CHARS = 2_048;
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** What an upstream says of itself as a protected resource that is as true of a mount before it. */
export interface ResourceMetadata {
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly bearer_methods_supported?: readonly string[];
  readonly resource_name?: string;
  readonly resource_documentation?: string;
}

/**
 * The description of an upstream as a protected resource (RFC 9728). It is read from the upstream's own origin only,
 * without anybody's credentials, and no redirect is followed: nobody can have another address read.
 */
export class ProtectedResource {
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #now: () => number;
  /** As a challenge of the upstream named it. */
  #named: string | undefined;
  #kept: { readonly metadata: Promise<ResourceMetadata | undefined>; until: number } | undefined;

  constructor(options: { url: string; insecureTls: boolean; now?: () => number }) {
    this.#url = new URL(options.url);
    this.#agent = new Agent({ connect: { timeout: TIMEOUT_MS, rejectUnauthorized: !options.insecureTls } });
    this.#now = options.now ?? Date.now;
  }

  /** A challenge of the upstream names this place; what lies elsewhere is forgotten. */
  learn(place: string): void {
    const url = URL.parse(place);
    if (url?.origin !== this.#url.origin || url.href === this.#named) return;
    this.#named = url.href;
    this.#kept = undefined;
  }

  /** Undefined where the upstream does not describe itself. Never fails. */
  metadata(): Promise<ResourceMetadata | undefined> {
    if (this.#kept !== undefined && this.#now() < this.#kept.until) return this.#kept.metadata;
    const kept = { metadata: this.#find(), until: this.#now() + KEPT_MS };
    this.#kept = kept;
    void kept.metadata.then((found) => {
      if (found === undefined) kept.until = this.#now() + FAILURE_KEPT_MS;
    });
    return kept.metadata;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #find(): Promise<ResourceMetadata | undefined> {
    const { origin, pathname } = this.#url;
    const places = [this.#named, `${origin}${WELL_KNOWN}${pathname.replace(/\/$/, '')}`, `${origin}${WELL_KNOWN}`];
    for (const place of new Set(places)) {
      // oxlint-disable-next-line no-await-in-loop -- the next one only where there is nothing at this one
      const found = place === undefined ? undefined : await this.#read(place).catch(() => undefined);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #read(place: string): Promise<ResourceMetadata | undefined> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const headers = { accept: 'application/json' };
    const { statusCode, body } = await request(place, { dispatcher: this.#agent, headers, signal });
    const text = await boundedText(body, MAX_BYTES);
    return statusCode === 200 ? relayable(parseJson(text, ANSWER_LIMITS)) : undefined;
  }
}

function relayable(value: unknown): ResourceMetadata | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const document = value as Record<string, unknown>;
  const servers = texts(document['authorization_servers'])?.filter((one) =>
    /^https?:$/.test(URL.parse(one)?.protocol ?? ''),
  );
  if (servers === undefined || servers.length === 0) return undefined;
  const scopes = texts(document['scopes_supported']);
  const methods = texts(document['bearer_methods_supported']);
  const { resource_name: name, resource_documentation: documentation } = document;
  return {
    authorization_servers: servers,
    ...(scopes !== undefined && { scopes_supported: scopes }),
    ...(methods !== undefined && { bearer_methods_supported: methods }),
    ...(isText(name) && { resource_name: name }),
    ...(isText(documentation) && { resource_documentation: documentation }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_TEXT_CHARS;

function texts(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter(isText).slice(0, MAX_ENTRIES) : undefined;
}
