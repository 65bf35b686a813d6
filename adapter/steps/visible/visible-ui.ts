import { AdapterError } from '../../errors.ts';
import type { ClientUpstream } from '../../mount/client-upstream.ts';
import { hiddenUse, usedUis } from '../../lists/hidden-ui.ts';
import { noSuchResource } from '../../lists/no-such-resource.ts';
import type { VisibleCatalog } from '../../tools/visible/visible-catalog.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';

/** Refuses the use of user interfaces of tools that the client must not see. */
export class VisibleUi implements Step {
  readonly concerns = 'others';
  readonly #visibleCatalog: VisibleCatalog;
  readonly #client: ClientUpstream;

  constructor(visibleCatalog: VisibleCatalog, client: ClientUpstream) {
    this.#visibleCatalog = visibleCatalog;
    this.#client = client;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const used = usedUis(operation.body.messages, !operation.isSessionless);
    if (used.length > 0) return this.#check(operation, reply, next, used);
    next(operation, reply);
    return undefined;
  }

  async #check(operation: Operation, reply: Reply, next: Send, used: readonly unknown[]): Promise<void> {
    const source = this.#client.source(operation, reply);
    const hidden = await hiddenUse(this.#visibleCatalog, source, operation.session, used);
    if (hidden === undefined) return next(operation, reply);
    if (!operation.isSessionless) throw new AdapterError('unknown_resource', undefined, { data: { ...hidden } });
    await reply.end(noSuchResource(operation, 'unknown_resource', hidden.uri));
  }
}
