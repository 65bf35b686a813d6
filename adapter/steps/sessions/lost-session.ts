import { KeptParts } from '../../../lib/stream/kept-parts.ts';
import { AdapterError } from '../../errors.ts';
import { isUnknownSession } from '../../exchange/unknown-session.ts';
import { INSPECTED_BYTES } from '../../limits.ts';
import type { Operation } from '../../path/operation.ts';
import type { Ask, WireSink, WireStep } from '../../path/step.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import type { ResponseControl, ResponseHead } from '../../exchange/upstream.ts';

/** Gives the session of an operation a new upstream session. */
export type Renew = (operation: Operation, lost: SessionRecord) => Promise<SessionRecord>;

/**
 * The upstream has lost its session (404, or a 400 that says so): a new one, and the messages again. A tool call is sent
 * again as often as `upstream_session_termination_retries` says; with 0 the session is renewed for the next call only.
 */
export class LostSession implements WireStep {
  readonly #renew: Renew;
  readonly #retries: number;

  constructor(renew: Renew, retries: number) {
    this.#renew = renew;
    this.#retries = retries;
  }

  ask(operation: Operation, sink: WireSink, next: Ask): void {
    next(
      operation,
      new LossWatch(operation, sink, next, (status, losses) => this.#retryOnLostSession(operation, status, losses)),
    );
  }

  async #retryOnLostSession(operation: Operation, status: number, losses: number): Promise<void> {
    const { session, calls, idTexts } = operation;
    if (status === 409 || !session.upstreamSessionId) {
      throw new AdapterError('upstream_failed', `The upstream server answered with HTTP ${status}.`);
    }
    // Answers and cancellations name requests of the session that is gone; the new one has others of the same ids.
    if (idTexts.length === 0) throw new AdapterError('upstream_session_terminated');
    const allowed = calls.length > 0 ? this.#retries : Math.max(1, this.#retries);
    if (losses > Math.max(1, allowed)) throw new AdapterError('upstream_session_terminated');
    operation.record = await this.#renew(operation, session);
    if (losses > allowed) throw new AdapterError('upstream_session_terminated');
  }
}

/** Prepares an operation that is asked for once more; rejects with the AdapterError to answer with. */
export type Retry = (status: number, losses: number) => Promise<void>;

/** Sees whether an answer says that the session is lost, before anybody reads it. */
export class LossWatch implements WireSink {
  readonly #operation: Operation;
  readonly #sink: WireSink;
  readonly #next: Ask;
  readonly #retryOnLostSession: Retry;
  #control: ResponseControl | undefined;
  #losses = 0;
  /** Of a 400 that may say so. */
  #head: ResponseHead | undefined;
  readonly #parts = new KeptParts();

  constructor(operation: Operation, sink: WireSink, next: Ask, retryOnLostSession: Retry) {
    this.#operation = operation;
    this.#sink = sink;
    this.#next = next;
    this.#retryOnLostSession = retryOnLostSession;
  }

  get isOver(): boolean {
    return this.#sink.isOver;
  }

  onStart(control: ResponseControl): void {
    this.#control = control;
    this.#sink.onStart(control);
  }

  onHead(head: ResponseHead): void {
    const { status } = head;
    if (status === 404 || status === 409) this.#lost(status);
    else if (status === 400 && this.#operation.session.upstreamSessionId) this.#head = head;
    else this.#sink.onHead(head);
  }

  onData(chunk: Buffer): void {
    if (this.#head === undefined) return this.#sink.onData(chunk);
    this.#parts.push(chunk);
    if (this.#parts.size > INSPECTED_BYTES) this.#pass(this.#head);
  }

  onEnd(): void {
    if (this.#head !== undefined) {
      if (isUnknownSession(this.#parts.whole().toString('utf8'))) return this.#lost(400);
      this.#pass(this.#head);
    }
    this.#sink.onEnd();
  }

  onError(error: Error, sent: boolean): void {
    this.#sink.onError(error, sent);
  }

  /** It says something else. */
  #pass(head: ResponseHead): void {
    const parts = this.#parts.all;
    this.#forget();
    this.#sink.onHead(head);
    for (const part of parts) this.#sink.onData(part);
  }

  #forget(): void {
    this.#head = undefined;
    this.#parts.clear();
  }

  #lost(status: number): void {
    this.#control?.abort();
    this.#forget();
    this.#retryOnLostSession(status, ++this.#losses).then(
      () => {
        if (!this.isOver) this.#next(this.#operation, this);
      },
      (error: unknown) => this.#sink.onError(error as Error, true),
    );
  }
}
