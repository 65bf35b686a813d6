import { AdapterError } from '../errors.ts';
import type { Answer } from '../exchange/answers/answer.ts';
import { isOwnListOnly, ownList } from '../lists/list-answers.ts';
import type { Mount } from '../mount/mount.ts';
import { noSuchResource } from '../lists/no-such-resource.ts';
import { completeResult } from '../exchange/answers/own-result.ts';
import { ownResource, type OwnResourceRequest } from '../lists/resources.ts';
import { ANSWERED } from '../path/ending.ts';
import { answer } from '../path/answer.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { mayUse } from '../sessions/file-use.ts';

/** Where a URI of ours names the session that it belongs to. */
const SESSION_IN_URI = /^[^:]*:\/\/sessions\/([0-9a-f]{32})\//;

/** Answers what the upstream knows nothing of: resources of the adapter's own, and lists that are all its own. */
export class OwnAnswers implements Step {
  readonly concerns = 'others';
  readonly #mount: Pick<Mount, 'resources' | 'visibleCatalog' | 'revisions' | 'artifactScope'>;
  readonly #sessions: Pick<SessionRegistry, 'touch'>;

  constructor(
    mount: Pick<Mount, 'resources' | 'visibleCatalog' | 'revisions' | 'artifactScope'>,
    sessions: Pick<SessionRegistry, 'touch'>,
  ) {
    this.#mount = mount;
    this.#sessions = sessions;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const own = ownResource(this.#mount, operation.body);
    const { request, isSessionless } = operation;
    // Without sessions there are no subscriptions of this kind, and the upstream says so.
    if (own !== undefined && (!isSessionless || own.request.method === 'resources/read')) {
      return this.#answerResource(operation, reply, own);
    }
    if (isSessionless && request !== undefined && isOwnListOnly(this.#mount, request)) {
      return this.#answerList(operation, reply);
    }
    next(operation, reply);
    return undefined;
  }

  async #answerList(operation: Operation, reply: Reply): Promise<void> {
    const { request, session } = operation;
    if (request === undefined) return;
    const result = await ownList(this.#mount, operation.caller, session, request);
    await answer(reply, request.idText, completeResult(result), ANSWERED);
  }

  async #answerResource(operation: Operation, reply: Reply, own: OwnResourceRequest): Promise<void> {
    const { body, isSessionless } = operation;
    if (body.batch) {
      const detail = 'Resources of the adapter cannot be part of a batch; send one message.';
      throw new AdapterError('invalid_request', detail);
    }
    const result = await this.#read(operation, own);
    if (result === undefined) await reply.end(noSuchResource(operation, 'artifact_not_found', own.uri));
    else await answer(reply, own.request.idText, isSessionless ? completeResult(result) : result, ANSWERED);
  }

  async #read(operation: Operation, { request, uri, resources }: OwnResourceRequest): Promise<Answer | undefined> {
    const { session } = operation;
    // They never change once they are there, so nothing has to be remembered for a subscription.
    if (request.method !== 'resources/read') return '{}';
    const sessionId = SESSION_IN_URI.exec(uri)?.[1];
    if (sessionId === undefined) return resources.read(session, uri);
    const isAllowed = await mayUse(this.#sessions, session, sessionId, this.#mount.artifactScope);
    return isAllowed ? resources.read({ ...session, sessionId }, uri) : undefined;
  }
}
