import { OK } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';

/** Ends event streams at once that are better opened at another replica, where the client takes them up. */
export class StreamElsewhere implements Step {
  readonly #leavesStreams: () => boolean;

  constructor(leavesStreams: () => boolean) {
    this.#leavesStreams = leavesStreams;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    const lastEventId = operation.caller.headers['last-event-id'];
    if (typeof lastEventId === 'string') operation.lastEventId = lastEventId;
    if (this.#leavesStreams()) void reply.end(OK);
    else next(operation, reply);
  }
}
