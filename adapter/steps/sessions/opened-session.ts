import { listedOwn } from '../../catalog/catalog.ts';
import { AdapterError, type ErrorCode } from '../../errors.ts';
import { SESSIONLESS_REVISION, type Request } from '../../exchange/message.ts';
import type { ClientUpstream } from '../../mount/client-upstream.ts';
import { withGreeting } from '../../lists/greeting.ts';
import type { Mount } from '../../mount/mount.ts';
import { keptParams } from '../../sessions/remembered.ts';
import type { Ending } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import { PassedReply, type Reply, type ReplyControl } from '../../path/reply.ts';
import type { ReplyMessage } from '../../path/reply-message.ts';
import type { Send, Step } from '../../path/step.ts';
import { newSessionId, type SessionRegistry } from '../../sessions/session-registry.ts';
import type { SessionKey, StateStore } from '../../state/state-store.ts';
import type { ResponseHead } from '../../exchange/upstream.ts';

const NO_SUCH_SESSION = `The upstream server opened a session of revision ${SESSIONLESS_REVISION}, which has none.`;

export interface OpenedSessionDeps {
  readonly mount: Pick<Mount, 'texts' | 'visibleCatalog' | 'resources'>;
  readonly client: ClientUpstream;
  readonly sessions: SessionRegistry;
  readonly store: Pick<StateStore, 'now'>;
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => ErrorCode | undefined;
}

/** Opens a session: takes a place, lets the upstream answer, and keeps what came of it under an id of our own. */
export class OpenedSession implements Step {
  readonly #parts: OpenedSessionDeps;

  constructor(parts: OpenedSessionDeps) {
    this.#parts = parts;
  }

  async send(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const { sessions, refusesSessions } = this.#parts;
    const refusal = refusesSessions();
    if (refusal !== undefined) throw new AdapterError(refusal);
    const initializeParams = keptParams(operation.body, operation.request as Request);
    const key = { serverId: operation.serverId, sessionId: newSessionId() };
    await sessions.reserve(key);
    operation.opening = { ...key, upstreamSessionId: undefined, generation: 0 };
    next(operation, new OpeningReply(operation, reply, this.#parts, { key, initializeParams }));
  }
}

class OpeningReply extends PassedReply {
  readonly #operation: Operation;
  readonly #parts: OpenedSessionDeps;
  readonly #key: SessionKey;
  readonly #initializeParams: string;
  #upstreamSessionId: string | null = null;
  #isAsked = false;
  #isOpen = false;

  constructor(
    operation: Operation,
    next: Reply,
    parts: OpenedSessionDeps,
    { key, initializeParams }: { readonly key: SessionKey; readonly initializeParams: string },
  ) {
    super(next, true);
    this.#operation = operation;
    this.#parts = parts;
    this.#key = key;
    this.#initializeParams = initializeParams;
  }

  override start(control: ReplyControl): void {
    this.#isAsked = true;
    this.next.start(control);
  }

  override head(head: ResponseHead): void {
    this.#upstreamSessionId = head.upstreamSessionId;
    this.next.head(head);
  }

  override async message(message: ReplyMessage): Promise<void> {
    if (message.kind !== 'response') return this.next.message(message);
    const text = message.text();
    const protocolVersion = negotiated(text);
    if (protocolVersion === undefined) return this.next.message(message);
    // A session of that revision would be taken for a workspace, and no client could use it.
    if (protocolVersion === SESSIONLESS_REVISION) throw new AdapterError('upstream_failed', NO_SUCH_SESSION);
    await this.#open(protocolVersion);
    if (!this.#isOpen) return this.next.message(message);
    const { texts, visibleCatalog, resources } = this.#parts.mount;
    const shown = await withGreeting(texts, text, undefined, {
      tools: listedOwn(visibleCatalog.catalog).length > 0,
      resources: resources !== undefined && 'changing',
    });
    return this.next.message(message.with(shown));
  }

  async #open(protocolVersion: string): Promise<void> {
    const { sessions, store } = this.#parts;
    const { principal, attributes } = this.#operation.caller;
    const now = store.now();
    await sessions.open({
      ...this.#key,
      principal,
      upstreamSessionId: this.#upstreamSessionId,
      protocolVersion,
      initializeParams: this.#initializeParams,
      generation: 0,
      logLevel: null,
      subscriptions: [],
      listsGeneration: 0,
      baseline: null,
      createdAt: now,
      lastActiveAt: now,
    });
    if (this.isGone) {
      // The client went away meanwhile and will never learn the id; the rest is ended at the end.
      await sessions.remove(this.#key.serverId, this.#key.sessionId, principal);
      return;
    }
    this.#isOpen = true;
    this.#operation.sessionId = this.#key.sessionId;
    attributes.sessionId = this.#key.sessionId;
    attributes.protocolVersion = protocolVersion;
  }

  override end(ending: Ending): Promise<void> | undefined {
    if (this.#isOpen) return this.next.end(ending);
    const { client, sessions } = this.#parts;
    // Nobody will use what the upstream may have opened.
    if (this.#isAsked) {
      this.#upstreamSessionId ??= ending.head?.upstreamSessionId ?? null;
      void client.end(this.#operation, { ...this.#key, upstreamSessionId: this.#upstreamSessionId, generation: 0 });
    }
    const released = sessions.release(this.#key).catch(() => {
      // The place frees itself.
    });
    return released.then(() => this.next.end(ending));
  }
}

/** The revision in the answer to initialize; undefined when it is an error. */
function negotiated(text: string): string | undefined {
  try {
    const { result } = JSON.parse(text) as { result?: { protocolVersion?: unknown } };
    return typeof result?.protocolVersion === 'string' ? result.protocolVersion : undefined;
  } catch {
    return undefined;
  }
}
