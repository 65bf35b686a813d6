import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { type BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import { handshake, HandshakeFailed } from './handshake.ts';
import { SESSIONLESS_META, sessionlessHeaders } from './revision-probe.ts';
import { ownRequest } from './own-request.ts';
import { speaksSse } from './speaks-sse.ts';
import type { Upstream, UpstreamSession } from '../exchange/upstream.ts';

export interface PingPolicy {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/** As in the health object of the specification, section 4. */
export interface PingSnapshot {
  readonly interval_seconds: number;
  readonly timeout_seconds: number;
  readonly last_latency_ms: number | null;
  readonly last_error: string | null;
  readonly last_success_at: number | null;
  readonly last_failure_at: number | null;
  /** Why the server refuses the adapter, which it is alive for; null where it does not. */
  readonly refused: string | null;
}

/** What came of one ping. */
export interface PingResult {
  readonly ok: boolean;
  readonly error: string | null;
  readonly seconds: number;
  /** The breaker's, before the ping. */
  readonly stateBefore: BreakerState;
  /** An earlier ping was answered. */
  readonly wasReached: boolean;
}

/** In words: status and body of the answer. */
type PingLoopRefusal = (status: number, body: string) => string;

const PROTOCOL_VERSION = '2025-11-25';
const STOP_TIMEOUT_MS = 1_000;

/**
 * Pings one upstream for its circuit breaker. It keeps one upstream session of its own and sends `ping` on it, so
 * that a ping is one small request and not a session each time. A server that asks for credentials (401, 403) is
 * alive: clients bring theirs, or else those of the adapter are wrong, which is told.
 */
export class PingLoop {
  readonly #upstream: Upstream;
  readonly #breaker: CircuitBreaker;
  readonly #policy: PingPolicy;
  readonly #headers: readonly string[];
  readonly #serverId: string;
  readonly #clientVersion: string;
  readonly #onResult: (result: PingResult) => void;
  readonly #refusal: PingLoopRefusal | undefined;
  #session: UpstreamSession | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<boolean> | undefined;
  #started = false;
  #stopped = false;
  #lastLatencyMs: number | null = null;
  #lastError: string | null = null;
  #lastSuccessAt: number | null = null;
  #lastFailureAt: number | null = null;
  #refused: string | null = null;

  constructor(options: {
    upstream: Upstream;
    breaker: CircuitBreaker;
    policy: PingPolicy;
    headers: readonly string[];
    serverId: string;
    clientVersion: string;
    onResult: (result: PingResult) => void;
    /** Says what a refusal (401, 403) means; undefined where clients bring the credentials. */
    refusal?: PingLoopRefusal | undefined;
  }) {
    this.#upstream = options.upstream;
    this.#breaker = options.breaker;
    this.#policy = options.policy;
    this.#headers = options.headers;
    this.#serverId = options.serverId;
    this.#clientVersion = options.clientVersion;
    this.#onResult = options.onResult;
    this.#refusal = options.refusal;
  }

  /** Pings now and then every interval, however often it is called. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    const turn = async (): Promise<void> => {
      await this.ping();
      if (!this.#stopped) this.#timer = setTimeout(() => void turn(), this.#policy.intervalMs).unref();
    };
    void turn();
  }

  /** One ping, told to the breaker. True when the upstream answered; calls at the same time share one ping. */
  ping(): Promise<boolean> {
    return this.#alone(() => this.#ping());
  }

  /**
   * One ping that the breaker neither allows nor hears of: an upstream that starts later than the adapter must not
   * find it open, nor be waited for until it cools down.
   */
  reach(): Promise<boolean> {
    return this.#alone(() => this.#attempt());
  }

  #alone(run: () => Promise<boolean>): Promise<boolean> {
    this.#running ??= run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #ping(): Promise<boolean> {
    const admission = this.#breaker.admit(Date.now());
    if (admission.kind === 'reject') return false;
    const ok = await this.#attempt();
    const now = Date.now();
    if (ok) {
      if (admission.kind === 'probe') this.#breaker.probeSucceeded();
      this.#breaker.pingSucceeded();
    } else {
      if (admission.kind === 'probe') this.#breaker.probeFailed(now);
      this.#breaker.pingFailed(now);
    }
    return ok;
  }

  async #attempt(): Promise<boolean> {
    const started = performance.now();
    const stateBefore = this.#breaker.state(Date.now());
    const wasReached = this.isReached;
    let error: string | null = null;
    try {
      await this.#roundTrip();
    } catch (failure) {
      error = reason(failure);
      this.#endSession();
    }
    const now = Date.now();
    const ms = performance.now() - started;
    this.#lastLatencyMs = Math.round(ms * 10) / 10;
    this.#lastError = error;
    if (error === null) this.#lastSuccessAt = now / 1000;
    else this.#lastFailureAt = now / 1000;
    const ok = error === null;
    if (!this.#stopped) this.#onResult({ ok, error, seconds: ms / 1000, stateBefore, wasReached });
    return ok;
  }

  async #roundTrip(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const fresh = this.#session === undefined;
      if (fresh && !(await this.#connect())) return;
      const answer = await ownRequest(this.#upstream, {
        session: this.#session,
        headers: [...this.#headers, 'mcp-protocol-version', PROTOCOL_VERSION],
        message: { method: 'ping' },
        timeoutMs: this.#policy.timeoutMs,
      });
      if (answer.status === 401 || answer.status === 403) return this.#refuse(answer);
      this.#refused = null;
      if (answer.message !== undefined && answer.status < 500 && answer.status !== 404) return;
      this.#endSession();
      if (fresh || attempt > 0) throw new Error(`ping was answered with HTTP ${answer.status}`);
    }
  }

  #refuse({ status, body }: { readonly status: number; readonly body: string }): void {
    this.#refused = this.#refusal?.(status, body) ?? null;
  }

  #endSession(): void {
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) void this.#close(session);
  }

  async #close(session: UpstreamSession): Promise<void> {
    try {
      await this.#upstream.endSession(session, this.#headers, this.#policy.timeoutMs);
    } catch {
      // The upstream expires the session by itself.
    }
  }

  /** Opens the loop's own session. False when the server is alive but opens none for us. */
  async #connect(): Promise<boolean> {
    const session: UpstreamSession = {
      serverId: this.#serverId,
      sessionId: `ping-${randomUUID()}`,
      upstreamSessionId: undefined,
      generation: 0,
    };
    const clientInfo = { name: 'mcp-adapter', version: this.#clientVersion };
    const initializeParams = JSON.stringify({ protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo });
    const state = { initializeParams, logLevel: null, subscriptions: [] };
    try {
      const opened = await handshake(this.#upstream, session, this.#headers, state, this.#policy.timeoutMs);
      this.#session = { ...session, upstreamSessionId: opened.upstreamSessionId };
      return true;
    } catch (error) {
      if (!(error instanceof HandshakeFailed)) throw error;
      if (error.status === 401 || error.status === 403) {
        this.#refuse(error);
        return false;
      }
      if (!this.#upstream.modern) throw error;
      if (await this.#discover()) return false;
      const isUnknown = error.status === 404 || error.status === 405;
      const isOlder = isUnknown && (await speaksSse(this.#upstream, this.#headers, this.#policy.timeoutMs));
      throw isOlder
        ? new Error(`${error.message}; it answers like the older transport: set upstream.transport to sse`)
        : error;
    }
  }

  /** A server of the sessionless revision knows neither initialize nor ping. */
  async #discover(): Promise<boolean> {
    const answer = await ownRequest(this.#upstream, {
      session: undefined,
      headers: [...this.#headers, ...sessionlessHeaders('server/discover')],
      message: { method: 'server/discover', params: JSON.stringify({ _meta: SESSIONLESS_META }) },
      timeoutMs: this.#policy.timeoutMs,
    });
    return answer.message?.result !== undefined;
  }

  /** Why the server refuses the adapter; undefined where it does not, or where that is between it and the clients. */
  get refused(): string | undefined {
    return this.#refused ?? undefined;
  }

  /** Whether the upstream has ever answered. */
  get isReached(): boolean {
    return this.#lastSuccessAt !== null;
  }

  snapshot(): PingSnapshot {
    return {
      interval_seconds: this.#policy.intervalMs / 1000,
      timeout_seconds: this.#policy.timeoutMs / 1000,
      last_latency_ms: this.#lastLatencyMs,
      last_error: this.#lastError,
      last_success_at: this.#lastSuccessAt,
      last_failure_at: this.#lastFailureAt,
      refused: this.#refused,
    };
  }

  /** Ends the loop and its session. An upstream that does not answer is not waited for; closing it ends the rest. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.race([this.#end(), delay(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }

  async #end(): Promise<void> {
    await this.#running;
    if (this.#session !== undefined) await this.#close(this.#session);
  }
}

/** The innermost reason, in one line: "connect ECONNREFUSED 127.0.0.1:1" says more than "fetch failed". */
export function reason(error: unknown): string {
  let innermost = error;
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause instanceof Error; depth++) {
    innermost = innermost.cause;
  }
  if (innermost instanceof AggregateError && innermost.errors.length > 0) innermost = innermost.errors[0];
  return innermost instanceof Error ? innermost.message || innermost.name : String(innermost);
}
