import type { Ending } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply } from '../path/reply.ts';
import { ReplyMessage } from '../path/reply-message.ts';

/** A client goes on when it has its result: the place must be free by then, not only when the stream ends. */
export class LeasedReply extends PassedReply {
  readonly #operation: Operation;
  readonly #leave: () => Promise<void> | undefined;

  constructor(operation: Operation, next: Reply, leave: () => Promise<void> | undefined) {
    super(next);
    this.#operation = operation;
    this.#leave = leave;
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    if (message.kind !== 'response' || message.isOpen || !this.#operation.awaited.isSeen)
      return this.next.message(message);
    const { streamed } = message;
    if (streamed !== undefined) {
      return this.next.message(message.with({ ...streamed, parts: before(streamed.parts, this.#leave) }));
    }
    const left = this.#leave();
    return left === undefined ? this.next.message(message) : left.then(() => this.next.message(message));
  }

  override data(chunk: Buffer, isLast: boolean): Promise<void> | undefined {
    const left = isLast ? this.#leave() : undefined;
    return left === undefined ? this.next.data(chunk, isLast) : left.then(() => this.next.data(chunk, isLast));
  }

  override end(ending: Ending): Promise<void> | undefined {
    const left = this.#leave();
    return left === undefined ? this.next.end(ending) : left.then(() => this.next.end(ending));
  }
}

/** The parts; whoever writes them keeps the last one back until there are no more. */
async function* before<T>(parts: AsyncIterable<T>, end: () => Promise<void> | undefined): AsyncGenerator<T> {
  yield* parts;
  await end();
}
