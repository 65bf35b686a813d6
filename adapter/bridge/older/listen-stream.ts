import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

import { METHOD_NOT_FOUND, type Request } from '../../exchange/message.ts';
import { locate, splice, withoutMember } from '../../exchange/scanning/json-scan.ts';
import type { ResponseControl, Upstream } from '../../exchange/upstream.ts';
import { CHANGING_LISTS } from '../wire/changing-lists.ts';
import type { ClientSide } from '../wire/client-side.ts';
import { bodyOf, type ClientIdentity, newerHeaders, newerRequest } from '../wire/newer-request.ts';
import type { OfferedChanges } from './older-greeting.ts';
import { pause } from '../../../lib/pause.ts';
import { errorCode, isSuspect } from './refusals.ts';
import { Round, type RoundAnswer } from '../wire/round.ts';
import type { UnannouncedChange } from '../../state/message-bus.ts';
import { type ChangeFilter, leftOut } from './unannounced-changes.ts';
import { META } from '../../exchange/protocol-meta.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A server acknowledges the filter at once. */
const BEGIN_MS = 20_000;
const GIVEN_UP = new Error('the stream was given up');
export interface ListenDeps {
  readonly upstream: Upstream;
  readonly headers: readonly string[];
  readonly client: ClientIdentity;
  readonly offered: OfferedChanges;
  /** URIs that the client has subscribed to, which change while it listens. */
  readonly subscriptions: ReadonlySet<string>;
  /** Whether the server still speaks the newer revision; rejects when it does not say. */
  readonly isStillNewer: () => Promise<boolean>;
  /** The server does not take these of what is wanted. */
  readonly onLeftOut: (changes: readonly UnannouncedChange[]) => void;
}

/**
 * The event stream of an older client at a newer server, which has one for each filter (MCP 2026-07-28, subscriptions). Another
 * filter is listened to before the one before ends; a stream that breaks off is opened again, and the client told that
 * everything may have changed.
 *
 *     opening ──begun──▶ listening ──another filter──▶ opening, while the one before is heard
 *        ▲ └─failed─▶ pause ─┐  └──over──▶ pause ─┐
 *        └───────────────────┴────────────────────┘
 */
export class ListenStream implements ResponseControl {
  readonly #deps: ListenDeps;
  readonly #client: ClientSide;
  readonly #aborter = new AbortController();
  /** Those that are open: two while one takes over from the other. */
  readonly #listenings = new Set<Listening>();
  #wake = Promise.withResolvers<void>();
  #isPaused = false;

  constructor(deps: ListenDeps, client: ClientSide) {
    this.#deps = deps;
    this.#client = client;
  }

  pause(): void {
    this.#isPaused = true;
    for (const { round } of this.#listenings) round.pause();
  }

  resume(): void {
    this.#isPaused = false;
    for (const { round } of this.#listenings) round.resume();
  }

  abort(): void {
    this.#aborter.abort();
    for (const { round } of this.#listenings) round.abort(GIVEN_UP);
  }

  /** Follows the subscriptions as they are now, once what is being opened is open. */
  refresh(): void {
    this.#wake.resolve();
  }

  /** Runs until the client leaves, or the server speaks another revision. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#aborter;
    const aborted = once(signal, 'abort').then(() => undefined);
    this.#client.open();
    let before: Listening | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    let hasListened = false;
    /* oxlint-disable no-await-in-loop -- One stream comes after the other. */
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers();
      const next = this.#listen();
      if (await next.begun) {
        const isGap = before === undefined || before.isOver;
        before?.round.abort(GIVEN_UP);
        if (hasListened && isGap) this.#tellChanges();
        hasListened = true;
        before = next;
        const since = performance.now();
        await Promise.race([next.over, this.#wake.promise, aborted]);
        if (!next.isOver) continue;
        if (performance.now() - since > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
      }
      const refusal = await next.over;
      if (signal.aborted) break;
      if (refusal === 'nothing to hear') await aborted;
      else if (refusal === 'suspect' && !(await this.#deps.isStillNewer().catch(() => true))) {
        // Who opens the next one finds out what the server speaks now.
        this.#client.end();
        return this.abort();
      }
      await pause(pauseMs, signal);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    /* oxlint-enable no-await-in-loop */
  }

  /** What a client may have missed while nothing was listened to. */
  #tellChanges(): void {
    for (const [name, , method] of CHANGING_LISTS) {
      if (this.#deps.offered[name] === true) this.#client.message(`{"jsonrpc":"2.0","method":"${method}"}`);
    }
  }

  #listen(): Listening {
    const { upstream, headers, client, offered, subscriptions } = this.#deps;
    const filter: ChangeFilter = {
      ...offered,
      ...(subscriptions.size > 0 && { resourceSubscriptions: [...subscriptions] }),
    };
    const id = `mcpa-${randomUUID()}`;
    const params = { notifications: filter };
    const message: Request = { kind: 'request', method: 'subscriptions/listen', idText: JSON.stringify(id), params };
    const text = JSON.stringify({ jsonrpc: '2.0', id, method: message.method, params });
    const begun = Promise.withResolvers<boolean>();
    const round = new Round(message.idText, undefined, (other, isRequest) => {
      if (isRequest) return;
      begun.resolve(true);
      const missing = leftOut(filter, other);
      if (missing === undefined) this.#client.message(withoutSubscription(other));
      else if (missing.length > 0) this.#deps.onLeftOut(missing);
    });
    if (this.#isPaused) round.pause();
    const request = {
      method: 'POST' as const,
      session: undefined,
      headers: newerHeaders(headers, message, []),
      body: bodyOf(message, newerRequest(text, { client, logLevel: undefined })),
    };
    const timer = setTimeout(() => round.abort(new Error('the stream did not begin in time')), BEGIN_MS);
    void begun.promise.then(() => clearTimeout(timer));
    const answered = round.ask(upstream, request).then(refusalIn, () => undefined);
    const listening: Listening = {
      round,
      isOver: false,
      begun: begun.promise,
      over: answered.finally(() => {
        listening.isOver = true;
        this.#listenings.delete(listening);
        begun.resolve(false);
      }),
    };
    this.#listenings.add(listening);
    return listening;
  }
}

/** One stream of the server. */
interface Listening {
  readonly round: Round;
  isOver: boolean;
  /** To whether it has begun: its first message has come. Never rejects. */
  readonly begun: Promise<boolean>;
  /** To what its end says of the next one. Never rejects. */
  readonly over: Promise<Refusal | undefined>;
}

/** `suspect`: it may be that the server speaks another revision now. */
type Refusal = 'nothing to hear' | 'suspect';

function refusalIn({ head, text }: RoundAnswer): Refusal | undefined {
  const code = text === undefined ? undefined : errorCode(text);
  if (code === METHOD_NOT_FOUND) return 'nothing to hear';
  return isSuspect(head.status, code) ? 'suspect' : undefined;
}

/** A message (JSON text) of such a stream as older clients know it. */
function withoutSubscription(text: string): string {
  const params = locate(text, ['params']);
  const meta = params && locate(text, ['_meta'], params.start);
  if (params === undefined || meta === undefined) return text;
  const kept = withoutMember(text.slice(meta.start, meta.end), META.subscriptionId);
  if (!EMPTY.test(kept)) return splice(text, [{ ...meta, with: kept }]);
  return splice(text, [{ ...params, with: withoutMember(text.slice(params.start, params.end), '_meta') }]);
}

const EMPTY = /^\{\s*\}$/;
