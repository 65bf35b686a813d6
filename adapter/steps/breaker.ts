import { AdapterError } from '../errors.ts';
import { toolName } from '../exchange/message.ts';
import type { Ending, Outcome } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply, type ReplyControl } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import type { CircuitBreaker } from '../upstream/circuit-breaker.ts';
import type { ResponseHead } from '../exchange/upstream.ts';

/** Rejects while the server's circuit breaker is open; what a probe of its half-open state has shown is told to it. */
export class Breaker implements Step {
  readonly #serverId: string;
  readonly #breaker: CircuitBreaker;
  readonly #runsOthers: (tool: string) => boolean;

  /** @param runsOthers a call of such a tool asks nothing of the upstream by itself; of the calls that it makes, each may be a probe */
  constructor(serverId: string, breaker: CircuitBreaker, runsOthers: (tool: string) => boolean) {
    this.#serverId = serverId;
    this.#breaker = breaker;
    this.#runsOthers = runsOthers;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    const admission = this.#breaker.admit(Date.now());
    if (admission.kind === 'pass') return next(operation, reply);
    if (admission.kind === 'probe') {
      const probe = new Probe(reply, this.#breaker);
      const [call] = operation.calls;
      if (call !== undefined && this.#runsOthers(toolName(call) ?? '')) probe.abandon();
      return next(operation, probe);
    }
    const detail = `The upstream server "${this.#serverId}" is unhealthy; requests are rejected for now.`;
    throw new AdapterError('upstream_unavailable', detail, {
      retryAfter: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)),
    });
  }
}

/** Ends of an operation to which the upstream has said nothing. */
const GONE: ReadonlySet<Outcome> = new Set(['upstream_broke', 'upstream_unreachable', 'upstream_timeout', 'timeout']);

/** Tells the breaker once. However little comes of a probe, it must be told. */
class Probe extends PassedReply {
  readonly #breaker: CircuitBreaker;
  #isAsked = false;
  #isReported = false;

  constructor(next: Reply, breaker: CircuitBreaker) {
    super(next);
    this.#breaker = breaker;
  }

  abandon(): void {
    this.#report('abandoned');
  }

  override start(control: ReplyControl): void {
    this.#isAsked = true;
    this.next.start(control);
  }

  /** The head decides: a stream may stay open for hours. */
  override head(head: ResponseHead): void {
    this.#answered(head);
    this.next.head(head);
  }

  override end(ending: Ending): Promise<void> | undefined {
    if (ending.head !== undefined) this.#answered(ending.head);
    this.#report(GONE.has(ending.outcome) ? 'failed' : 'abandoned');
    return this.next.end(ending);
  }

  #answered({ status }: ResponseHead): void {
    if (this.#isAsked) this.#report(status < 500 ? 'succeeded' : 'failed');
  }

  #report(what: 'succeeded' | 'failed' | 'abandoned'): void {
    if (this.#isReported) return;
    this.#isReported = true;
    if (what === 'succeeded') this.#breaker.probeSucceeded();
    else if (what === 'failed') this.#breaker.probeFailed(Date.now());
    else this.#breaker.probeAbandoned();
  }
}
