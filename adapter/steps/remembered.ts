import { remembering } from '../sessions/remembered.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply } from '../path/reply.ts';
import type { ReplyMessage } from '../path/reply-message.ts';
import type { Send, Step } from '../path/step.ts';
import type { StateStore } from '../state/state-store.ts';

type Store = Pick<StateStore, 'setLogLevel' | 'setSubscription'>;

/** Keeps what a new upstream session would have to be told again, once the upstream has agreed to it. */
export class Remembered implements Step {
  readonly concerns = 'others';
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    const remember = remembering(this.#store, operation.session, operation.body);
    next(operation, remember === undefined ? reply : new RememberingReply(reply, remember));
  }
}

class RememberingReply extends PassedReply {
  readonly #remember: (text: string) => Promise<void>;

  constructor(next: Reply, remember: (text: string) => Promise<void>) {
    super(next, true);
    this.#remember = remember;
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    if (message.kind !== 'response') return this.next.message(message);
    return this.#remember(message.text()).then(() => this.next.message(message));
  }
}
