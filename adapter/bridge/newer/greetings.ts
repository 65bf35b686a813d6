import { LRUCache } from 'lru-cache';

import { packageVersion } from '../../../lib/package-version.ts';
import { locate } from '../../exchange/scanning/json-scan.ts';
import type { Upstream } from '../../exchange/upstream.ts';
import { newSession } from '../wire/bridged-session.ts';
import { endUnused, handshake } from '../../upstream/handshake.ts';

/** What a server says of itself when a session is opened: JSON texts. */
export interface Greeting {
  readonly capabilities: string | undefined;
  readonly serverInfo: string | undefined;
  readonly instructions: string | undefined;
}

const MAX_KEPT = 1_000;
const TIMEOUT_MS = 20_000;
/** Nothing can be asked of the adapter itself. */
const OWN = JSON.stringify({
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'mcp-adapter', version: packageVersion(import.meta.url) },
});

/** What an older server says of itself, by what its clients authenticate with; kept for `ttlMs`. */
export class Greetings {
  readonly #serverId: string;
  readonly #upstream: Upstream;
  readonly #kept: LRUCache<string, Promise<Greeting>>;

  constructor(serverId: string, upstream: Upstream, ttlMs: number) {
    this.#serverId = serverId;
    this.#upstream = upstream;
    this.#kept = new LRUCache({ max: MAX_KEPT, ttl: Math.max(1, ttlMs), perf: Date });
  }

  /** Opens a session for it, and ends that, where it is not known. Rejects as `handshake` does. */
  of(key: string, headers: readonly string[]): Promise<Greeting> {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const asked = this.#ask(headers);
    this.#kept.set(key, asked);
    asked.catch(() => this.#kept.delete(key));
    return asked;
  }

  async #ask(headers: readonly string[]): Promise<Greeting> {
    const session = { ...newSession(this.#serverId), upstreamSessionId: undefined };
    const state = { initializeParams: OWN, logLevel: null, subscriptions: [] };
    let greeting: Greeting = greetingIn('{}');
    const opened = await handshake(this.#upstream, session, headers, state, TIMEOUT_MS, (answer) => {
      greeting = greetingIn(answer);
    });
    endUnused(this.#upstream, { ...session, upstreamSessionId: opened.upstreamSessionId }, headers);
    return greeting;
  }
}

/** @param answer JSON text of the answer to `initialize` */
export function greetingIn(answer: string): Greeting {
  const at = (name: string): string | undefined => {
    const span = locate(answer, ['result', name]);
    return span && answer.slice(span.start, span.end);
  };
  return { capabilities: at('capabilities'), serverInfo: at('serverInfo'), instructions: at('instructions') };
}
