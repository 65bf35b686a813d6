import { AdapterError } from '../errors.ts';
import { type Message, toolName } from '../exchange/message.ts';
import { checked } from '../exchange/scanning/checked.ts';
import { eachMessage } from '../exchange/scanning/each-message.ts';
import {
  callerOwner,
  ownTasks,
  requireOwnTasks,
  tasksIn,
  type TaskOwner,
  type TaskStore,
} from '../sessions/session-tasks.ts';
import { ChangedReply } from '../path/changed-reply.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import { META } from '../exchange/protocol-meta.ts';

/**
 * A session gets at the tasks that were made for it, and sees no others. So does a caller without a session, whoever it has
 * authenticated as; while nobody does, to know a task's id is the permission.
 */
export class OwnTasks implements Step {
  readonly #store: TaskStore;

  constructor(store: TaskStore) {
    this.#store = store;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { isSessionless, caller } = operation;
    if (isSessionless && caller.principal === '') {
      next(operation, reply);
      return undefined;
    }
    const { messages } = operation.body;
    let isAbout = false;
    let asks = false;
    for (const message of messages) {
      if (message.kind === 'response') continue;
      if (tasksIn(message).length > 0) isAbout = true;
      if (isSessionless ? takesTasks(message) : asksForTasks(message)) asks = true;
    }
    const owner = isSessionless ? callerOwner(operation.serverId, caller.principal) : operation.session;
    const [call] = operation.calls;
    const tool = (call && toolName(call)) ?? '';
    const own = (text: string): string | Promise<string> =>
      eachMessage(checked(text), (one) => ownTasks(this.#store, owner, one, tool));
    const behind = asks ? new ChangedReply(reply, own) : reply;
    if (isAbout) return this.#check(operation, owner, behind, next);
    next(operation, behind);
    return undefined;
  }

  async #check(operation: Operation, owner: TaskOwner, reply: Reply, next: Send): Promise<void> {
    const { isSessionless, body } = operation;
    // An upstream of earlier revisions may know it, so it cannot be left to the upstream to say so (SEP-2663).
    const isGone =
      isSessionless && body.messages.some((one) => one.kind === 'request' && one.method === 'tasks/result');
    if (isGone) throw new AdapterError('unknown_method');
    await requireOwnTasks(this.#store, owner, body.messages);
    next(operation, reply);
  }
}

function asksForTasks(message: Message): boolean {
  return message.kind === 'request' && (message.params['task'] !== undefined || message.method === 'tasks/list');
}

/** Whether the client says that the answer may be a task (MCP extension `io.modelcontextprotocol/tasks`). */
function takesTasks(message: Message): boolean {
  const meta = Object(message.params['_meta']) as Record<string, unknown>;
  const capabilities = Object(meta[META.clientCapabilities]) as { readonly extensions?: unknown };
  return Object.hasOwn(Object(capabilities.extensions) as object, 'io.modelcontextprotocol/tasks');
}
