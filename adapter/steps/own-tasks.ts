import type { Message } from '../exchange/message.ts';
import { checked } from '../exchange/scanning/checked.ts';
import { eachMessage } from '../exchange/scanning/each-message.ts';
import { ownTasks, requireOwnTasks, type TaskStore } from '../sessions/session-tasks.ts';
import { ChangedReply } from '../path/changed-reply.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';

/** A session gets at the tasks that were made for it, and sees no others. */
export class OwnTasks implements Step {
  readonly #store: TaskStore;

  constructor(store: TaskStore) {
    this.#store = store;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { messages } = operation.body;
    let isAbout = false;
    let asks = false;
    for (const message of messages) {
      if (message.kind === 'response') continue;
      if (message.method.startsWith('tasks/')) isAbout = true;
      if (asksForTasks(message)) asks = true;
    }
    const own = (text: string): string | Promise<string> =>
      eachMessage(checked(text), (one) => ownTasks(this.#store, operation.session, one));
    const behind = asks ? new ChangedReply(reply, own) : reply;
    if (isAbout) return this.#check(operation, behind, next);
    next(operation, behind);
    return undefined;
  }

  async #check(operation: Operation, reply: Reply, next: Send): Promise<void> {
    await requireOwnTasks(this.#store, operation.session, operation.body.messages);
    next(operation, reply);
  }
}

function asksForTasks(message: Message): boolean {
  return message.kind === 'request' && (message.params['task'] !== undefined || message.method === 'tasks/list');
}
