import { AnswerWatch, noteAnswer, noteBytes } from '../exchange/answer-watch.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import type { Ending } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply, type ReplyControl } from '../path/reply.ts';
import type { ReplyMessage } from '../path/reply-message.ts';
import type { Send, Step } from '../path/step.ts';
import type { ResponseHead } from '../exchange/upstream.ts';
import { isEventStream } from '../exchange/headers.ts';

/** Notes for telemetry what answers say of errors, and how long the upstream took. */
export class RecordedAnswers implements Step {
  send(operation: Operation, reply: Reply, next: Send): void {
    next(operation, operation.idTexts.length === 0 ? reply : new NotedReply(operation, reply));
  }
}

class NotedReply extends PassedReply {
  readonly #operation: Operation;
  readonly #attributes: RequestAttributes;
  #askedAt = 0;
  #isEventStream = false;
  /** Of a message that leaves while it comes. */
  #watch: AnswerWatch | undefined;

  constructor(operation: Operation, next: Reply) {
    super(next);
    this.#operation = operation;
    this.#attributes = operation.caller.attributes;
  }

  override start(control: ReplyControl): void {
    this.#askedAt = performance.now();
    this.next.start(control);
  }

  override head(head: ResponseHead): void {
    this.#isEventStream = isEventStream(head);
    this.next.head(head);
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    if (message.kind !== 'response') return this.next.message(message);
    this.#note(message);
    const passed = this.next.message(message);
    if (message.isOpen) return passed;
    if (passed !== undefined) return passed.then(() => this.#answered());
    this.#answered();
    return undefined;
  }

  override data(chunk: Buffer, isLast: boolean): Promise<void> | undefined {
    if (isLast) {
      this.#watch?.end();
      this.#watch = undefined;
      this.#answered();
    } else this.#watch?.sees(chunk);
    return this.next.data(chunk, isLast);
  }

  override end(ending: Ending): Promise<void> | undefined {
    this.#watch?.end();
    if (this.#askedAt > 0) this.#attributes.upstreamMs = performance.now() - this.#askedAt;
    return this.next.end(ending);
  }

  #note(message: ReplyMessage): void {
    if (message.streamed !== undefined) return;
    const { body } = message;
    if (typeof body === 'string') return noteAnswer(this.#attributes, body);
    if (!message.isOpen) return noteBytes(this.#attributes, body);
    this.#watch = new AnswerWatch(this.#attributes, false);
    for (const part of body) this.#watch.sees(part);
  }

  /** On an event stream the client may go when it has its responses. */
  #answered(): void {
    if (this.#isEventStream && this.#operation.awaited.isSeen) this.#attributes.isAnswered = true;
  }
}
