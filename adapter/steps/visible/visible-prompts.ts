import { checkPrompts, usesPrompts } from '../../lists/check-prompts.ts';
import type { ClientUpstream } from '../../mount/client-upstream.ts';
import type { Mount } from '../../mount/mount.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';

/** Refuses the use of prompts that the client must not see. */
export class VisiblePrompts implements Step {
  readonly concerns = 'others';
  readonly #mount: Pick<Mount, 'texts' | 'hidesUnseen'>;
  readonly #client: ClientUpstream;

  constructor(mount: Pick<Mount, 'texts' | 'hidesUnseen'>, client: ClientUpstream) {
    this.#mount = mount;
    this.#client = client;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    if (usesPrompts(operation.body.messages)) return this.#check(operation, reply, next);
    next(operation, reply);
    return undefined;
  }

  async #check(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const source = this.#client.source(operation, reply);
    await checkPrompts(this.#mount, source, operation.session, operation.body.messages);
    next(operation, reply);
  }
}
