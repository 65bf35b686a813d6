import { cancelledRequest } from '../exchange/message.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import type { MessageBus } from '../state/message-bus.ts';

/** Tells all replicas which request the client has cancelled, wherever it runs. */
export class Cancellation implements Step {
  readonly concerns = 'others';
  readonly #bus: Pick<MessageBus, 'publish'>;
  readonly #onError: (error: unknown) => void;

  constructor(bus: Pick<MessageBus, 'publish'>, onError: (error: unknown) => void) {
    this.#bus = bus;
    this.#onError = onError;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const requestId = cancelledRequest(operation.body);
    if (requestId === undefined) {
      next(operation, reply);
      return undefined;
    }
    return this.#notify(operation, reply, next, requestId);
  }

  /** First, so that the end of the request's stream surprises nobody. */
  async #notify(operation: Operation, reply: Reply, next: Send, requestId: string): Promise<void> {
    const { serverId, sessionId } = operation.session;
    await this.#bus.publish({ type: 'cancelled', serverId, sessionId, requestId }).catch(this.#onError);
    next(operation, reply);
  }
}
