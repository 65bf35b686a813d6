import type { IncomingHttpHeaders } from 'node:http';

import type { Dispatcher, Pool } from 'undici';

import { MOST_OF_A_TURN, PAUSE_MS, SmallParts } from '../../lib/stream/small-parts.ts';
import { turnBudget } from '../../lib/stream/turn-budget.ts';
import { MarkedEventIds, ownEventId } from './event-id-mark.ts';
import type {
  ResponseControl,
  ResponseSink,
  Upstream,
  UpstreamRequest,
  UpstreamSession,
} from '../exchange/upstream.ts';
import { mayBeSent, upstreamPool, type UpstreamPoolOptions } from './upstream-pool.ts';

const MAX_REDIRECTS = 3;
/** Session ids are visible ASCII (MCP 2025-03-26, Streamable HTTP, session management). */
const SESSION_ID = /^[\x21-\x7e]{1,4096}$/;
/** Upstream transport `streamable_http`: one HTTP exchange in is one HTTP exchange out. */
export class StreamableHttpUpstream implements Upstream {
  readonly modern = true;
  readonly #origin: string;
  readonly #pool: Pool;
  readonly #path: string;

  constructor(options: UpstreamPoolOptions) {
    const url = new URL(options.url);
    this.#origin = url.origin;
    this.#path = url.pathname + url.search;
    this.#pool = upstreamPool(options);
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const generation = request.session?.generation ?? 0;
    const target = generation === 0 ? sink : new MarkedEventIds(sink, generation);
    const relay = new Relay(this.#follow, request, target, this.#path, MAX_REDIRECTS);
    target.onStart(relay);
    this.#dispatch(relay);
  }

  #dispatch(relay: Relay): void {
    const { request } = relay;
    const headers = request.headers.slice();
    const upstreamSessionId = request.session?.upstreamSessionId;
    if (upstreamSessionId) headers.push('mcp-session-id', upstreamSessionId);
    const { lastEventId, session } = request;
    const resumed = lastEventId === undefined ? undefined : ownEventId(lastEventId, session?.generation ?? 0);
    if (resumed !== undefined) headers.push('last-event-id', resumed);
    this.#pool.dispatch(
      { path: relay.path, method: request.method, headers, body: request.body?.bytes ?? null },
      relay,
    );
  }

  /**
   * Starts the exchange again where the upstream redirects to, permanently or not; undefined when that may not be
   * followed. It is not remembered: what one client's credentials led to says nothing about the next one's.
   */
  readonly #follow = (relay: Relay, location: string | undefined): Relay | undefined => {
    const path = relay.redirects > 0 ? this.#redirected(relay.path, location) : undefined;
    if (path === undefined) return undefined;
    const next = new Relay(this.#follow, relay.request, relay.sink, path, relay.redirects - 1);
    this.#dispatch(next);
    return next;
  };

  /** Where a redirect of `path` leads within the same origin (to the same with a slash at its end, usually). */
  #redirected(path: string, location: string | undefined): string | undefined {
    if (location === undefined) return undefined;
    const url = URL.parse(location, this.#origin + path);
    return url !== null && url.origin === this.#origin ? url.pathname + url.search : undefined;
  }

  knowsEvent(eventId: string, session: UpstreamSession): boolean {
    return ownEventId(eventId, session.generation) !== undefined;
  }

  async endSession(session: UpstreamSession, headers: readonly string[], timeoutMs: number): Promise<void> {
    if (!session.upstreamSessionId) return;
    const signal = AbortSignal.timeout(timeoutMs);
    const sent = [...headers, 'mcp-session-id', session.upstreamSessionId];
    let path: string | undefined = this.#path;
    for (let redirects = MAX_REDIRECTS; path !== undefined && redirects >= 0; redirects--) {
      const response: Dispatcher.ResponseData = await this.#pool.request({
        path,
        method: 'DELETE',
        headers: sent,
        signal,
      });
      await response.body.dump();
      const { location } = response.headers;
      const isFollowed = isRedirect(response.statusCode) && typeof location === 'string';
      path = isFollowed ? this.#redirected(path, location) : undefined;
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

type Follow = (relay: Relay, location: string | undefined) => Relay | undefined;

/**
 * Adapts undici's dispatch callbacks, the cheapest way to read a response, to a ResponseSink. It holds no closure of
 * its own: one per request made every garbage collection ten times as long.
 */
class Relay implements Dispatcher.DispatchHandler, ResponseControl {
  readonly sink: ResponseSink;
  readonly request: UpstreamRequest;
  readonly path: string;
  /** How many may still be followed. */
  readonly redirects: number;
  readonly #follow: Follow;
  #controller: Dispatcher.DispatchController | undefined;
  /** Who carries on after a redirect. */
  #next: Relay | undefined;
  #aborted = false;
  #paused = false;
  /** Most answers are one part. */
  #hasBegun = false;
  #small: SmallParts | undefined;
  /** How many wait for others to have their turn. */
  #yields = 0;

  constructor(follow: Follow, request: UpstreamRequest, sink: ResponseSink, path: string, redirects: number) {
    this.#follow = follow;
    this.request = request;
    this.sink = sink;
    this.path = path;
    this.redirects = redirects;
  }

  pause(): void {
    if (this.#next !== undefined) return this.#next.pause();
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    if (this.#next !== undefined) return this.#next.resume();
    this.#paused = false;
    if (this.#yields === 0) this.#controller?.resume();
  }

  abort(): void {
    this.#aborted = true;
    this.#next?.abort();
    this.#controller?.abort(new Error('the exchange was given up'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) controller.abort(new Error('the exchange was given up'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // undici tells of informational answers here, too; the answer comes after them (RFC 9110, section 15.2).
    if (this.#aborted || status < 200) return;
    if (isRedirect(status)) {
      this.#next = this.#follow(this, headers.location);
      if (this.#next !== undefined) return;
    }
    const id = headers['mcp-session-id'];
    const upstreamSessionId = typeof id === 'string' && SESSION_ID.test(id) ? id : null;
    this.sink.onHead({ status, headers, upstreamSessionId });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // A parser that is resumed before more has come reports an empty part; pausing it for that would never end.
    if (chunk.length === 0 || this.#aborted || this.#next !== undefined) return;
    if (!this.#hasBegun) this.#hasBegun = true;
    else {
      const isSpent = turnBudget.isSpentBy(chunk.length);
      this.#small ??= new SmallParts(MOST_OF_A_TURN);
      if (this.#small.reached(chunk.length)) setTimeout(this.#yield(), PAUSE_MS);
      else if (isSpent && this.#yields === 0) setImmediate(this.#yield());
    }
    this.sink.onData(chunk);
  }

  /** Others get their turn before it goes on. @returns what goes on */
  #yield(): () => void {
    this.#yields += 1;
    this.#controller?.pause();
    return () => {
      this.#yields -= 1;
      if (this.#yields === 0 && !this.#paused && !this.#aborted) this.#controller?.resume();
    };
  }

  onResponseEnd(): void {
    if (!this.#aborted && this.#next === undefined) this.sink.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#aborted || this.#next !== undefined) return;
    this.sink.onError(error, mayBeSent(error));
  }
}

/** Those that keep the method and the body (RFC 9110, sections 15.4.8 and 15.4.9). */
const isRedirect = (status: number): boolean => status === 307 || status === 308;
