import { listedOwn } from '../catalog/catalog.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import { firstSeen } from '../lists/first-seen.ts';
import { withGreeting } from '../lists/greeting.ts';
import type { Mount } from '../mount/mount.ts';
import { ChangedReply } from '../path/changed-reply.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';

/** What a server says of itself to clients without sessions (`server/discover`), with what the adapter adds to it. */
export class Discovery implements Step {
  readonly concerns = 'others';
  readonly #mount: Pick<Mount, 'texts' | 'visibleCatalog' | 'resources'>;
  readonly #client: ClientUpstream;

  constructor(mount: Pick<Mount, 'texts' | 'visibleCatalog' | 'resources'>, client: ClientUpstream) {
    this.#mount = mount;
    this.#client = client;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    const { texts, visibleCatalog, resources } = this.#mount;
    const own = { tools: listedOwn(visibleCatalog.catalog).length > 0, resources: resources !== undefined };
    const isShown = operation.request?.method === 'server/discover' && (own.tools || own.resources || texts.any);
    if (!isShown) return next(operation, reply);
    const first = firstSeen(texts, this.#client.source(operation, reply), operation.session);
    next(operation, new ChangedReply(reply, (text) => withGreeting(texts, text, first, own)));
  }
}
