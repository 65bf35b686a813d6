import { sessionEnd } from '../sessions/session-end.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { OwnAnswer, OwnMessage } from '../upstream/own-request.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { Upstream, UpstreamSession } from '../exchange/upstream.ts';
import type { Mount } from './mount.ts';
import type { InventoryRequest } from '../tools/tool-inventory.ts';
import type { ToolSource } from '../tools/tool-source.ts';

const END_SESSION_TIMEOUT_MS = 5_000;

/** On whose behalf the adapter asks. */
export type Asker = Pick<Operation, 'caller' | 'trace'>;

export interface ClientUpstreamDeps {
  readonly store: StateStore;
  readonly bus: Pick<MessageBus, 'publish'>;
  readonly upstreamSessions: UpstreamSessions;
  readonly sessionFiles: Pick<SessionFiles, 'invalidate'>;
  readonly telemetry: Pick<Telemetry, 'session'>;
  /** How long the id of a session that was ended for good is refused, in milliseconds. */
  readonly tombstoneTtlMs: number;
  readonly onError: (error: unknown) => void;
}

/** What the adapter asks one upstream by itself on behalf of a client: for lists, a new session, the end of one. */
export class ClientUpstream {
  readonly #mount: Pick<
    Mount,
    'serverId' | 'upstream' | 'own' | 'headers' | 'redact' | 'inventory' | 'breaker' | 'timeoutOf'
  >;
  readonly #parts: ClientUpstreamDeps;

  constructor(mount: Mount, parts: ClientUpstreamDeps) {
    this.#mount = mount;
    this.#parts = parts;
  }

  /** Sends a message of the adapter's own as the client would, in its session if it has one. */
  ask(
    { caller, trace }: Asker,
    session: SessionRecord | undefined,
    message: OwnMessage,
    more: { readonly timeoutMs: number; readonly onHead?: Parameters<typeof ownRequest>[1]['onHead'] },
  ): Promise<OwnAnswer> {
    const { headers, own } = this.#mount;
    const sent =
      session === undefined ? headers.base('POST', caller.headers) : headers.forward('POST', caller.headers, false);
    return ownRequest(traced(own, trace), { session, headers: sent, message, ...more });
  }

  /** The request for the tools that the client would see. */
  listing({ caller, trace }: Asker, record?: SessionRecord): InventoryRequest {
    const { serverId, own, redact, inventory, headers } = this.#mount;
    return {
      serverId,
      upstream: traced(own, trace),
      redact,
      inventory,
      clientKey: headers.clientKey(caller.headers),
      base: headers.base('POST', caller.headers),
      inSession:
        record === undefined || isWorkspace(record)
          ? undefined
          : { session: record, headers: headers.forward('POST', caller.headers, false) },
    };
  }

  /** The upstream's tools as the client sees them who waits for the reply. */
  source(asker: Asker, reply: Pick<Reply, 'signal' | 'afterwards'>): ToolSource {
    const { headers, timeoutOf } = this.#mount;
    return {
      get signal() {
        return reply.signal;
      },
      store: this.#parts.store,
      access: asker.caller.access,
      clientKey: headers.clientKey(asker.caller.headers),
      timeoutOf,
      request: (record) => this.listing(asker, record),
      renew: (record) => this.renew(asker, record),
      invalidate: (record, reason) => this.#invalidate(asker, reply, record, reason),
    };
  }

  /** A new upstream session for this session, once for all who need it. */
  renew({ caller, trace }: Asker, record: SessionRecord): Promise<SessionRecord> {
    const { own, headers } = this.#mount;
    return this.#parts.upstreamSessions.renew(traced(own, trace), record, headers.base('POST', caller.headers));
  }

  /** Ends the upstream's session, best effort: the adapter's has ended all the same, and the upstream expires its own. */
  async end({ caller, trace }: Asker, session: UpstreamSession): Promise<void> {
    const { upstream, headers } = this.#mount;
    try {
      if (!mayEndUpstream(this.#mount)) return;
      const sent = headers.forward('DELETE', caller.headers, false);
      await traced(upstream, trace).endSession(session, sent, END_SESSION_TIMEOUT_MS);
    } catch {
      // See above.
    }
  }

  /**
   * Tells all replicas that a session is over, then ends the upstream's: calls that run elsewhere end by what they are
   * told, and not by what the upstream does to them. Fails when nobody could be told.
   */
  async notifyAndEnd(asker: Asker, session: UpstreamSession): Promise<void> {
    const { serverId, sessionId } = session;
    const published = this.#parts.bus.publish({ type: 'session-ended', serverId, sessionId });
    await published.catch(() => undefined);
    await this.end(asker, session);
    await published;
  }

  /** Those who still use the session learn of its end once the answer, which may say why, has left. */
  async #invalidate(
    asker: Asker,
    reply: Pick<Reply, 'afterwards'>,
    record: SessionRecord,
    reason: string,
  ): Promise<void> {
    const { sessionFiles, store, tombstoneTtlMs, telemetry, onError } = this.#parts;
    const ended = await sessionFiles.invalidate(record, reason, store.now() + tombstoneTtlMs);
    if (!ended) return;
    telemetry.session(sessionEnd(record, 'tool_definition_invalidated', store.now()));
    reply.afterwards(() => void this.notifyAndEnd(asker, record).catch(onError));
  }
}

/** Whether the upstream's sessions can be ended now. With HTTP+SSE that is the end of a connection, and no request. */
export function mayEndUpstream({ upstream, breaker }: Pick<Mount, 'upstream' | 'breaker'>): boolean {
  return !upstream.modern || breaker.state(Date.now()) !== 'open';
}

function traced(upstream: Upstream, trace: Operation['trace']): Upstream {
  return trace === undefined ? upstream : trace.of(upstream);
}
