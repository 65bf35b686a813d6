import { AFTER_LIMIT_MS } from '../limits.ts';
import { type Ending, OK } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply, type ReplyControl } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';

/** How often it is looked whether an operation still waits for its client. */
const PARKED_LOOK_MS = 1_000;

/**
 * Ends an operation that the upstream has not answered within its limit. An upstream that has answered by then was in time:
 * what is made of its answer may take AFTER_LIMIT_MS longer. The time that a client takes for its answers does not count.
 */
export class TimeLimit implements Step {
  readonly #late: (operation: Operation) => Ending;

  /** @param late what the unanswered requests get */
  constructor(late: (operation: Operation) => Ending) {
    this.#late = late;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    if (operation.timeoutMs === null) next(operation, reply);
    else next(operation, new TimedReply(operation, reply, operation.timeoutMs, this.#late));
  }
}

class TimedReply extends PassedReply {
  readonly #operation: Operation;
  readonly #late: (operation: Operation) => Ending;
  /** How much of the operation's parked time has been added to the limit. */
  #parkedMs = 0;
  #timer: NodeJS.Timeout;
  #control: ReplyControl | undefined;
  #isAfterLimit = false;

  constructor(operation: Operation, next: Reply, limitMs: number, late: (operation: Operation) => Ending) {
    super(next);
    this.#operation = operation;
    this.#late = late;
    this.#timer = setTimeout(() => this.#onTimeout(), limitMs);
  }

  override start(control: ReplyControl): void {
    this.#control = control;
    this.next.start(control);
  }

  override end(ending: Ending): Promise<void> | undefined {
    clearTimeout(this.#timer);
    return this.next.end(ending);
  }

  #onTimeout(): void {
    const { awaited, isUntimed, isLeaving, parked } = this.#operation;
    if (isUntimed) return;
    const left = parked === undefined ? 0 : parked.ms - this.#parkedMs;
    if (left > 0) {
      this.#parkedMs += left;
      this.#timer = setTimeout(() => this.#onTimeout(), parked?.isOn === true ? Math.max(left, PARKED_LOOK_MS) : left);
      return;
    }
    if (!this.#isAfterLimit && awaited.isSeen && awaited.unanswered.length > 0) {
      this.#isAfterLimit = true;
      this.#timer = setTimeout(() => this.#onTimeout(), AFTER_LIMIT_MS);
      return;
    }
    // A stream that stays open behind its response.
    const isAnswered = awaited.isAnswered && !isLeaving;
    this.#control?.abort(isAnswered ? OK : this.#late(this.#operation));
  }
}
