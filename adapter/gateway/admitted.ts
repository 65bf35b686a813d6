import { AdapterError } from '../errors.ts';
import type { Outcome } from '../exchange/plan.ts';
import type { CircuitBreaker } from '../upstream/circuit-breaker.ts';

/** A server, as far as its breaker lets requests in. */
interface Guarded {
  readonly serverId: string;
  readonly breaker: CircuitBreaker;
}

/** Asks the circuit breaker. Throws `upstream_unavailable` while it is open. */
export function admit({ serverId, breaker }: Guarded): Admitted {
  const admission = breaker.admit(Date.now());
  if (admission.kind === 'pass') return NO_PROBE;
  if (admission.kind === 'probe') return new Probe(breaker);
  const detail = `The upstream server "${serverId}" is unhealthy; requests are rejected for now.`;
  throw new AdapterError('upstream_unavailable', detail, {
    retryAfter: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)),
  });
}

/** An admitted request. One that was admitted as a probe must be finished, however little came of it. */
export interface Admitted {
  /** The upstream has answered with this status. */
  answered(status: number): void;
  finished(outcome: Outcome): void;
}

/** What a request that is no probe tells the breaker. */
export const NO_PROBE: Admitted = { answered: () => {}, finished: () => {} };

/** Ends of a request to which the upstream has said nothing. */
const GONE: ReadonlySet<Outcome> = new Set(['upstream_broke', 'upstream_unreachable', 'upstream_timeout', 'timeout']);

/** Tells the breaker, once, what a request of its half-open state has shown. */
class Probe implements Admitted {
  readonly #breaker: CircuitBreaker;
  #told = false;

  constructor(breaker: CircuitBreaker) {
    this.#breaker = breaker;
  }

  /** The head decides: a stream may stay open for hours. */
  answered(status: number): void {
    if (this.#told) return;
    this.#told = true;
    if (status < 500) this.#breaker.probeSucceeded();
    else this.#breaker.probeFailed(Date.now());
  }

  finished(outcome: Outcome): void {
    if (this.#told) return;
    this.#told = true;
    if (GONE.has(outcome)) this.#breaker.probeFailed(Date.now());
    else this.#breaker.probeAbandoned();
  }
}
