import { remembering } from '../sessions/remembered.ts';
import { ChangedReply } from '../path/changed-reply.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
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
    if (remember === undefined) return next(operation, reply);
    const remembered = async (text: string): Promise<string> => {
      await remember(text);
      return text;
    };
    next(operation, new ChangedReply(reply, remembered));
  }
}
