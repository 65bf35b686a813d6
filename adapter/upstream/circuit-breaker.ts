/** Settings of `upstream_ping`, in milliseconds where a time is meant. */
export interface BreakerPolicy {
  readonly failureThreshold: number;
  readonly openCooldownMs: number;
  readonly halfOpenProbeAllowance: number;
}

export type BreakerState = 'closed' | 'open' | 'half_open';

/** What a request may do: pass, pass as a probe whose outcome must be told, or be rejected for some time. */
export type Admission =
  | { readonly kind: 'pass' }
  | { readonly kind: 'probe' }
  | { readonly kind: 'reject'; readonly retryAfterMs: number };

const PASS: Admission = { kind: 'pass' };
const PROBE: Admission = { kind: 'probe' };

/**
 * Circuit breaker of one upstream (specification, section 3.2). Time comes in as an argument.
 *
 *     closed ──failure_threshold ping failures in a row──▶ open
 *     open ──open_cooldown_seconds──▶ half_open
 *     half_open ──half_open_probe_allowance successes in a row──▶ closed
 *     half_open ──one failure──▶ open
 *
 * In `half_open` up to `half_open_probe_allowance` requests run at a time as probes, pings and clients' alike.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy;
  #state: BreakerState = 'closed';
  #failures = 0;
  #openedAt = 0;
  #probes = 0;
  #lastProbeAt = 0;
  #successes = 0;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  /** Asks for a request of a client or for a ping. A `probe` must be followed by `probeSucceeded` or `probeFailed`. */
  admit(now: number): Admission {
    if (this.#state === 'closed') return PASS;
    this.#coolDown(now);
    if (this.#state === 'open') {
      return { kind: 'reject', retryAfterMs: Math.max(0, this.#openedAt + this.#policy.openCooldownMs - now) };
    }
    if (this.#probes >= this.#policy.halfOpenProbeAllowance) {
      // A probe that never ends (a tool call without a time limit) must not hold the breaker half open for ever.
      if (now - this.#lastProbeAt < this.#policy.openCooldownMs) return { kind: 'reject', retryAfterMs: 1000 };
      this.#probes = 0;
    }
    this.#probes++;
    this.#lastProbeAt = now;
    return PROBE;
  }

  probeSucceeded(): void {
    if (this.#state !== 'half_open') return;
    this.#probes = Math.max(0, this.#probes - 1);
    if (++this.#successes >= this.#policy.halfOpenProbeAllowance) this.#close();
  }

  probeFailed(now: number): void {
    if (this.#state === 'half_open') this.#open(now);
  }

  /** The probe ended without saying anything about the upstream (the client went away). */
  probeAbandoned(): void {
    if (this.#state === 'half_open') this.#probes = Math.max(0, this.#probes - 1);
  }

  pingSucceeded(): void {
    this.#failures = 0;
  }

  pingFailed(now: number): void {
    if (this.#state === 'closed' && ++this.#failures >= this.#policy.failureThreshold) this.#open(now);
    else if (this.#state !== 'closed') this.#failures++;
  }

  state(now: number): BreakerState {
    this.#coolDown(now);
    return this.#state;
  }

  /** As in the health object, of the original too. */
  snapshot(now: number): Record<string, string | number> {
    return {
      state: this.state(now),
      consecutive_failures: this.#failures,
      failure_threshold: this.#policy.failureThreshold,
      open_cooldown_seconds: this.#policy.openCooldownMs / 1000,
      half_open_probe_allowance: this.#policy.halfOpenProbeAllowance,
      half_open_probe_count: this.#probes,
      half_open_success_count: this.#successes,
    };
  }

  #coolDown(now: number): void {
    if (this.#state !== 'open' || now - this.#openedAt < this.#policy.openCooldownMs) return;
    this.#state = 'half_open';
    this.#probes = 0;
    this.#successes = 0;
  }

  #open(now: number): void {
    this.#state = 'open';
    this.#openedAt = now;
  }

  #close(): void {
    this.#state = 'closed';
    this.#failures = 0;
    this.#probes = 0;
    this.#successes = 0;
  }
}
