import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import type { Request } from '../exchange/message.ts';
import { locate, members, splice } from '../exchange/scanning/json-scan.ts';
import type { ResponseControl, Upstream } from '../exchange/upstream.ts';
import type { ClientSide } from './client-side.ts';
import { bodyOf, type ClientIdentity, newerHeaders, newerRequest } from './newer-request.ts';
import type { Told } from './older-greeting.ts';
import { Round } from './round.ts';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** What a client may have missed while nothing was listened to. */
const CHANGES: readonly (readonly [keyof Told, string])[] = [
  ['toolsListChanged', 'notifications/tools/list_changed'],
  ['promptsListChanged', 'notifications/prompts/list_changed'],
  ['resourcesListChanged', 'notifications/resources/list_changed'],
];

export interface ListenDeps {
  readonly upstream: Upstream;
  readonly headers: readonly string[];
  readonly client: ClientIdentity;
  readonly told: Told;
  /** URIs that the client has subscribed to, which change while it listens. */
  readonly subscriptions: ReadonlySet<string>;
}

/**
 * The event stream of an older client at a newer server, which has one for each filter (MCP 2026-07-28, subscriptions). Another
 * filter is listened to before the one before ends; a stream that breaks off is opened again, and the client told that
 * everything may have changed.
 */
export class ListenStream implements ResponseControl {
  readonly #deps: ListenDeps;
  readonly #client: ClientSide;
  readonly #aborter = new AbortController();
  /** Those that are open: two while one takes over from the other. */
  readonly #rounds = new Set<Round>();
  /** The end of the one that was opened last. */
  #last: Promise<boolean> | undefined;
  #isPaused = false;

  constructor(deps: ListenDeps, client: ClientSide) {
    this.#deps = deps;
    this.#client = client;
  }

  pause(): void {
    this.#isPaused = true;
    for (const round of this.#rounds) round.pause();
  }

  resume(): void {
    this.#isPaused = false;
    for (const round of this.#rounds) round.resume();
  }

  abort(): void {
    this.#aborter.abort();
    for (const round of this.#rounds) round.abort(new Error('the stream was given up'));
  }

  /** Follows the subscriptions as they are now; between two streams the next one does. */
  refresh(): void {
    const before = [...this.#rounds];
    if (before.length === 0) return;
    this.#last = this.#listen(() => {
      for (const round of before) round.abort(new Error('another filter is listened to'));
    });
  }

  /** Runs until the client leaves. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#aborter;
    this.#client.open();
    let pauseMs = FIRST_PAUSE_MS;
    let current = (this.#last = this.#listen(() => undefined));
    while (!signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- One stream comes after the other.
      const hadBegun = await current;
      if (this.#last !== current) {
        current = this.#last;
        continue;
      }
      pauseMs = hadBegun ? FIRST_PAUSE_MS : Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      // oxlint-disable-next-line no-await-in-loop -- See above.
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      current = this.#last = this.#listen(() => this.#tellChanges());
    }
  }

  #tellChanges(): void {
    for (const [name, method] of CHANGES) {
      if (this.#deps.told[name] === true) this.#client.message(`{"jsonrpc":"2.0","method":"${method}"}`);
    }
  }

  /** Resolves at the end of the server's stream, to whether it had begun. Never rejects. */
  async #listen(onBegun: () => void): Promise<boolean> {
    const { upstream, headers, client, told, subscriptions } = this.#deps;
    if (this.#aborter.signal.aborted) return false;
    const filter = { ...told, ...(subscriptions.size > 0 && { resourceSubscriptions: [...subscriptions] }) };
    const id = `mcpa-${randomUUID()}`;
    const params = { notifications: filter };
    const message: Request = { kind: 'request', method: 'subscriptions/listen', idText: JSON.stringify(id), params };
    const text = JSON.stringify({ jsonrpc: '2.0', id, method: message.method, params });
    let hasBegun = false;
    const round = new Round(message.idText, undefined, (other) => {
      if (!hasBegun) onBegun();
      hasBegun = true;
      const shown = withoutSubscription(other);
      if (shown !== undefined) this.#client.message(shown);
    });
    if (this.#isPaused) round.pause();
    this.#rounds.add(round);
    try {
      await round.ask(upstream, {
        method: 'POST',
        session: undefined,
        headers: newerHeaders(headers, message, []),
        body: bodyOf(message, newerRequest(text, { client, logLevel: undefined })),
      });
    } catch {
      // It is opened again.
    } finally {
      this.#rounds.delete(round);
    }
    return hasBegun;
  }
}

/** A message (JSON text) of such a stream as older clients know it; undefined for one that they do not. */
function withoutSubscription(text: string): string | undefined {
  const method = locate(text, ['method']);
  if (method !== undefined && text.slice(method.start, method.end) === JSON.stringify(ACKNOWLEDGED)) return undefined;
  const meta = locate(text, ['params', '_meta']);
  if (meta === undefined) return text;
  const kept = Array.from(members(text, meta.start)).filter(({ key }) => key !== SUBSCRIPTION_ID);
  const slices = kept.map(({ keyStart, end }) => text.slice(keyStart, end));
  return splice(text, [{ ...meta, with: `{${slices.join(',')}}` }]);
}
