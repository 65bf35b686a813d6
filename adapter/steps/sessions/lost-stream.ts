import { setTimeout as delay } from 'node:timers/promises';

import { AdapterError } from '../../errors.ts';
import { losesSession } from '../../exchange/unknown-session.ts';
import type { ClientUpstream } from '../../mount/client-upstream.ts';
import type { Operation } from '../../path/operation.ts';
import type { Ask, WireSink, WireStep } from '../../path/step.ts';
import type { MessageBus } from '../../state/message-bus.ts';
import type { Upstream } from '../../exchange/upstream.ts';
import { LossWatch } from './lost-session.ts';

const SECOND_STREAM_ATTEMPTS = 5;
const RENEWALS = 2;
const PING_TIMEOUT_MS = 10_000;

export interface LostStreamDeps {
  readonly client: ClientUpstream;
  readonly upstream: Pick<Upstream, 'knowsEvent'>;
  readonly bus: Pick<MessageBus, 'publish'>;
}

/**
 * The upstream has lost the session of a stream, or has another stream open, of which it allows one: the stream is opened
 * again in a new session, or when the other one was ended, wherever that is held.
 */
export class LostStream implements WireStep {
  readonly #parts: LostStreamDeps;

  constructor(parts: LostStreamDeps) {
    this.#parts = parts;
  }

  ask(operation: Operation, sink: WireSink, next: Ask): void {
    const { lastEventId } = operation;
    operation.lastEventId = this.#known(operation, lastEventId);
    const retryOnLostSession = (status: number, attempts: number): Promise<void> =>
      this.#retryOnLostSession(operation, lastEventId, status, attempts);
    next(operation, new LossWatch(operation, sink, next, retryOnLostSession));
  }

  async #retryOnLostSession(
    operation: Operation,
    asked: string | undefined,
    status: number,
    attempts: number,
  ): Promise<void> {
    const { client } = this.#parts;
    if (status === 409) {
      // A stream that cannot be taken up again takes nothing away from the one that is open: a client whose call was
      // lost with the upstream session resumes that too, and both would drop each other for ever.
      const lost = asked !== undefined && operation.lastEventId === undefined;
      if (lost || attempts > SECOND_STREAM_ATTEMPTS) throw new AdapterError('stream_conflict');
      return this.#dropOthers(operation, attempts);
    }
    if (!(await this.#isLost(operation))) {
      throw new AdapterError('method_not_allowed', 'The upstream server has no event stream.');
    }
    if (attempts > RENEWALS) throw new AdapterError('upstream_failed', 'The upstream server ends each new session.');
    operation.record = await client.renew(operation, operation.session);
    // The new session has never sent the event that the client saw last.
    operation.lastEventId = undefined;
  }

  #known(operation: Operation, eventId: string | undefined): string | undefined {
    const isKnown = eventId !== undefined && this.#parts.upstream.knowsEvent(eventId, operation.session);
    return isKnown ? eventId : undefined;
  }

  /** Whether the upstream has lost the session. A server that takes POST only may answer a GET the same way. */
  async #isLost(operation: Operation): Promise<boolean> {
    const { session } = operation;
    if (!session.upstreamSessionId) return false;
    const more = { timeoutMs: PING_TIMEOUT_MS };
    try {
      const { status, body } = await this.#parts.client.ask(operation, session, { method: 'ping' }, more);
      return losesSession(status, body);
    } catch (error) {
      throw new AdapterError('upstream_failed', undefined, { cause: error });
    }
  }

  /** The latest stream wins. */
  async #dropOthers({ session, streamId }: Operation, attempt: number): Promise<void> {
    const { serverId, sessionId } = session;
    await this.#parts.bus.publish({ type: 'drop-get', serverId, sessionId, except: streamId });
    await delay(50 * 2 ** attempt);
  }
}
