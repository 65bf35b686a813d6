import { DetachedCalls as Left } from '../../artifacts/detached-calls.ts';
import { withoutPaths } from '../../file-roles/path-names.ts';
import type { ToolStep } from '../../tools/visible/tool-step.ts';
import { ChangedReply } from '../../path/changed-reply.ts';
import type { Ending } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';
import type { StateStore } from '../../state/state-store.ts';

/**
 * Responses to calls that went on without their reply, and come on a stream of the session: files out, as for any call. Where tools
 * are given paths, what else comes on it names none of the storage: nobody knows which call it belongs to.
 */
export class DetachedCalls implements Step {
  readonly #steps: ReadonlyMap<string, ToolStep>;
  readonly #store: Pick<StateStore, 'lockHolder' | 'unlock' | 'firstTexts' | 'now'>;
  readonly #givesPaths: boolean;

  /** @param givesPaths whether the server has entries of type `files` */
  constructor(
    steps: ReadonlyMap<string, ToolStep>,
    store: Pick<StateStore, 'lockHolder' | 'unlock' | 'firstTexts' | 'now'>,
    givesPaths: boolean,
  ) {
    this.#givesPaths = givesPaths;
    this.#steps = steps;
    this.#store = store;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    if (this.#steps.size === 0) return next(operation, reply);
    const { sessionId } = operation.session;
    const other = this.#givesPaths ? (text: string): string => withoutPaths(text, sessionId) : undefined;
    next(operation, new LeftReply(reply, new Left(operation, this.#steps, this.#store), other));
  }
}

class LeftReply extends ChangedReply {
  readonly #left: Left;

  constructor(next: Reply, left: Left, other: ((text: string) => string) | undefined) {
    super(next, async (text) => (await left.answer(text)) ?? text, other);
    this.#left = left;
  }

  override async end(ending: Ending): Promise<void> {
    await this.#left.end();
    return this.next.end(ending);
  }
}
