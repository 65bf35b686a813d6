import { AdapterError, answersOverloaded } from '../errors.ts';
import type { ByteShare } from '../byte-account.ts';
import { foreignError, isForeign, refusedError } from '../exchange/answers/foreign-answer.ts';
import type { Refusal } from '../exchange/scanning/refusal.ts';
import type { ResponseControl, ResponseHead } from '../exchange/upstream.ts';
import { type Ending, failed, OK, type Outcome } from './ending.ts';
import { EventMessages } from './event-messages.ts';
import { JsonMessages } from './json-messages.ts';
import type { Operation } from './operation.ts';
import type { BodyReader, Reading } from './reading.ts';
import type { Reply, ReplyControl } from './reply.ts';
import type { ReplyMessage } from './reply-message.ts';
import type { Ask, Send, WireSink } from './step.ts';
import { isEventStream } from '../exchange/headers.ts';

export interface MessageRules {
  /** Told of everything that the upstream has sent and that does not pass. */
  readonly dropped: (refusal: Refusal) => void;
  /** An answer that says something about the configuration of the adapter, not to the client. */
  readonly refused: (head: ResponseHead) => AdapterError | undefined;
}

/** Where bytes of upstreams become messages: everything behind it sees bytes, everything before it messages. */
export function messages(rules: MessageRules, ask: Ask): Send {
  return (operation, reply) => {
    if (!reply.isGone) return ask(operation, new MessageReader(operation, reply, rules));
    // It says itself how it ends, once it has started.
    reply.start({ ...NOTHING_TO_HOLD, abort: (ending) => void reply.end(ending) });
  };
}

const NOTHING_TO_HOLD = { pause: (): void => {}, resume: (): void => {} };

/**
 * The one place that reads answers of upstreams, whole bodies and event streams, and hands out their messages; it holds the
 * upstream's data back while somebody works on one. Bytes pass as they are once it is known that they are a message which
 * may pass, and that nobody wants to read it.
 */
class MessageReader implements WireSink, ReplyControl, Reading {
  readonly operation: Operation;
  readonly #reply: Reply;
  readonly #rules: MessageRules;
  #control: ResponseControl | undefined;
  #head: ResponseHead | undefined;
  #body: BodyReader | undefined;
  isOver = false;
  /** Reasons to hold the upstream's data back: a slow client, asynchronous work. */
  #holds = 0;
  #work: Promise<void> | undefined;
  /** Undefined while little is kept of the answer. */
  #kept: ByteShare | undefined;

  constructor(operation: Operation, reply: Reply, rules: MessageRules) {
    this.operation = operation;
    this.#reply = reply;
    this.#rules = rules;
  }

  get reads(): boolean {
    return this.#reply.reads;
  }

  get head(): ResponseHead {
    if (this.#head === undefined) throw new Error('the answer has no head yet');
    return this.#head;
  }

  // ── from the upstream ──────────────────────────────────────────────────────────────────────────────────────────

  onStart(control: ResponseControl): void {
    this.#control = control;
    if (this.isOver) control.abort();
    else this.#reply.start(this);
  }

  onHead(head: ResponseHead): void {
    if (this.isOver) return;
    this.#head = head;
    const rejected = this.#rules.refused(head);
    if (rejected !== undefined) return this.abort(failed(rejected, { head }));
    const comesAsEvents = isEventStream(head);
    const { isGet, idTexts } = this.operation;
    if (!comesAsEvents && isForeign(head, isGet || idTexts.length > 0)) {
      const { error, status } = foreignError(head);
      return this.abort(failed(error, { status, head }));
    }
    this.#body = comesAsEvents ? new EventMessages(this) : new JsonMessages(this);
    this.#reply.head(head);
  }

  onData(chunk: Buffer): void {
    this.#step(() => this.#body?.push(chunk));
  }

  onEnd(): void {
    this.#step(() => this.#body?.end());
  }

  onError(error: Error, sent: boolean): void {
    this.#step(() => this.broke(error, sent));
  }

  // ── for the reader of the body ─────────────────────────────────────────────────────────────────────────────────

  dropped(refusal: Refusal): void {
    this.#rules.dropped(refusal);
  }

  count(bytes: number): boolean {
    this.#kept ??= this.operation.caller.holder.share('answers');
    if (this.#kept.set(bytes)) return true;
    this.abort(failed(answersOverloaded()));
    return false;
  }

  message(message: ReplyMessage): Promise<void> | undefined {
    return this.isOver ? undefined : this.#reply.message(message);
  }

  data(chunk: Buffer, isLast: boolean): Promise<void> | undefined {
    return this.isOver ? undefined : this.#reply.data(chunk, isLast);
  }

  refuse(refusal: Refusal): void {
    if (this.isOver) return;
    this.#rules.dropped(refusal);
    const { isGet, idTexts } = this.operation;
    if (!isGet && idTexts.length === 0) {
      this.#control?.abort();
      void this.finish('ok');
      return;
    }
    const { error, status } = refusedError(refusal, this.head);
    this.abort(failed(error, { status }));
  }

  breakOff(refusal: Refusal): void {
    if (this.isOver) return;
    this.#rules.dropped(refusal);
    this.abort(failed(new AdapterError('upstream_failed'), { breaksOff: true }));
  }

  finish(outcome: Outcome): Promise<void> | undefined {
    return this.#end(outcome === 'ok' ? OK : { outcome });
  }

  broke(error: Error, sent: boolean): Promise<void> | undefined {
    if (error instanceof AdapterError) return this.#end(failed(error));
    const code = sent ? 'upstream_failed' : 'upstream_unreachable';
    const shown = error.name === 'StoreUnavailable' ? error : new AdapterError(code, undefined, { cause: error });
    return this.#end({ outcome: 'upstream_broke', error: shown });
  }

  // ── from whoever gets the reply ────────────────────────────────────────────────────────────────────────────────

  pause(): void {
    if (this.#holds++ === 0) this.#control?.pause();
  }

  resume(): void {
    if (--this.#holds === 0) this.#control?.resume();
  }

  abort(ending: Ending): void {
    if (this.isOver) return;
    this.#control?.abort();
    void this.#end(ending);
  }

  #end(ending: Ending): Promise<void> | undefined {
    if (this.isOver) return undefined;
    this.isOver = true;
    this.#body = undefined;
    this.#kept?.giveBack();
    this.#kept = undefined;
    return this.#reply.end(this.#goesOn(ending) ? { ...ending, goesOn: true } : ending);
  }

  /** Whether it ends so that the client can resume it, because its responses are still to come. */
  #goesOn({ outcome }: Ending): boolean {
    const wasLeftOpen = outcome === 'ok' || outcome === 'upstream_broke' || outcome === 'client_closed';
    return wasLeftOpen && this.operation.awaited.goesOn;
  }

  /** Runs steps in order; the upstream's data waits while one of them is asynchronous. */
  #step(step: () => Promise<void> | undefined | void): void {
    if (this.isOver) return;
    if (this.#work !== undefined) {
      this.#work = this.#work.then(step).catch((error: unknown) => this.abort(failed(error)));
      return;
    }
    let pending: Promise<void> | undefined | void;
    try {
      pending = step();
    } catch (error) {
      return this.abort(failed(error));
    }
    if (pending === undefined) return;
    this.pause();
    this.#work = pending.catch((error: unknown) => this.abort(failed(error)));
    void this.#drainWork();
  }

  async #drainWork(): Promise<void> {
    let last: Promise<void> | undefined;
    while (last !== this.#work) {
      last = this.#work;
      await last;
    }
    this.#work = undefined;
    this.resume();
  }
}
