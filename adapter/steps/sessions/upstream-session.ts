import type { StreamOrder } from '../../sessions/stream-order.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';
import type { Renew } from './lost-session.ts';

/** What comes behind a stream that the client is opening waits for it; a session whose upstream session is lost gets a new one. */
export class UpstreamSession implements Step {
  readonly #streamOrder: Pick<StreamOrder, 'before'>;
  readonly #renew: Renew;

  constructor(streamOrder: Pick<StreamOrder, 'before'>, renew: Renew) {
    this.#streamOrder = streamOrder;
    this.#renew = renew;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { session } = operation;
    const streamComes = comesBehindStreams(operation)
      ? this.#streamOrder.before(session, operation.idTexts.length > 0)
      : undefined;
    if (streamComes === undefined && session.upstreamSessionId !== '') {
      next(operation, reply);
      return undefined;
    }
    return this.#ready(operation, reply, next, streamComes);
  }

  async #ready(operation: Operation, reply: Reply, next: Send, streamComes: Promise<void> | undefined): Promise<void> {
    await streamComes;
    const { session } = operation;
    if (session.upstreamSessionId === '') operation.record = await this.#renew(operation, session);
    next(operation, reply);
  }
}

/** Clients open their stream with `notifications/initialized` or after it, so that never comes later than the stream. */
function comesBehindStreams({ isGet, body: { messages } }: Operation): boolean {
  const [first] = messages;
  return !isGet && !(first?.kind === 'notification' && first.method === 'notifications/initialized');
}
