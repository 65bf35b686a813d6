import type { OpeningStream as Opening, StreamOrder } from '../../sessions/stream-order.ts';
import type { Ending } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import { PassedReply, type Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';
import type { ResponseHead } from '../../exchange/upstream.ts';

/** Lets what the client sends next wait, at every replica, until its stream is open. */
export class OpeningStream implements Step {
  readonly #streamOrder: Pick<StreamOrder, 'opening'>;

  constructor(streamOrder: Pick<StreamOrder, 'opening'>) {
    this.#streamOrder = streamOrder;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    next(operation, new OpeningReply(reply, this.#streamOrder.opening(operation.session)));
  }
}

class OpeningReply extends PassedReply {
  readonly #opening: Opening;

  constructor(next: Reply, opening: Opening) {
    super(next);
    this.#opening = opening;
  }

  override head(head: ResponseHead): void {
    this.#opening.settled(head.status < 300);
    this.next.head(head);
  }

  override end(ending: Ending): Promise<void> | undefined {
    this.#opening.settled(false);
    return this.next.end(ending);
  }
}
