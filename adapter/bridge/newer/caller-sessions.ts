import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import { AdapterError } from '../../errors.ts';
import type { ExchangePosition, Upstream, UpstreamSession } from '../../exchange/upstream.ts';
import { type Lease, type SessionRegistry } from '../../sessions/session-registry.ts';
import { whileLocked } from '../../sessions/store-lock.ts';
import { workspaceRecord } from '../../sessions/workspace-record.ts';
import type { SessionRecord, StateStore } from '../../state/state-store.ts';
import { endUnused } from '../../upstream/handshake.ts';
import { type CallSession, knownCallSession, openCallSession, type OwnSession } from './call-session.ts';
import type { RequestIdentity } from './older-request.ts';

export interface CallerSessionsDeps {
  readonly serverId: string;
  /** Of the older revisions. */
  readonly upstream: Upstream;
  readonly store: Pick<StateStore, 'now' | 'secret' | 'tryLock' | 'unlock' | 'replaceUpstream'>;
  readonly sessions: Pick<SessionRegistry, 'enter' | 'leave' | 'reserve' | 'release' | 'open'>;
}

/** Whose session it is. */
export interface SessionCaller {
  /** '' where all share one. */
  readonly principal: string;
  /** Stands for what the headers authenticate with. */
  readonly credentials: string;
  readonly headers: readonly string[];
  readonly identity: RequestIdentity;
}

const SECRET = 'bridge sessions';
const MAX_KEPT_CHARS = 1_000_000;
const LOCK_MS = 30_000;
const POLL_MS = 20;
const OPENED = /^(\d{4}-\d{2}-\d{2}) ([\x21-\x7e]*)$/;

/**
 * Sessions at an older server that callers without sessions keep (`upstream.bridge_sessions`), for servers that remember
 * something between two calls. Each is a workspace of the caller with an upstream session: any replica uses it, and it goes when
 * it was not used for long.
 */
export class CallerSessions {
  readonly #deps: CallerSessionsDeps;
  readonly #ids = new LRUCache<string, string>({ maxSize: MAX_KEPT_CHARS, sizeCalculation: (_, key) => key.length });
  #secret: Promise<string> | undefined;

  constructor(deps: CallerSessionsDeps) {
    this.#deps = deps;
  }

  /**
   * The session of this caller, which is opened where there is none. Rejects as `handshake`, and with `sessions_limit`.
   * @param signal nobody waits for it any more: what others have begun goes on, but nothing more is begun
   */
  async enter(caller: SessionCaller, signal: AbortSignal): Promise<CallSession> {
    const sessionId = await this.#idOf(caller);
    for (;;) {
      signal.throwIfAborted();
      // oxlint-disable-next-line no-await-in-loop -- Until one of all who want it has opened it.
      const entered = await this.#entered(sessionId, caller);
      if (entered !== undefined) return this.#use(entered, caller);
      const lock = {
        name: `bridge:${this.#deps.serverId}:${sessionId}`,
        owner: randomUUID(),
        ttlMs: LOCK_MS,
        signal,
      };
      // oxlint-disable-next-line no-await-in-loop -- See above.
      const opened = await whileLocked(this.#deps.store, lock, () => this.#open(sessionId, caller));
      // oxlint-disable-next-line no-await-in-loop -- See above.
      if (opened === undefined) await delay(POLL_MS, undefined, { signal });
    }
  }

  /** The session that a call of this caller runs in, which another replica has begun. */
  async enterAgain(position: ExchangePosition, caller: SessionCaller): Promise<CallSession> {
    const { serverId, upstream } = this.#deps;
    // The call goes on where it has begun, whatever has become of the session since; it was counted once already.
    const entered = await this.#entered(position.sessionId, caller).catch(() => undefined);
    const known = knownCallSession({ serverId, ...position }, upstream, caller.headers, position);
    return { ...known, leave: () => this.#leave(entered?.lease) };
  }

  /** The server has lost it: another one for all who use it. */
  async renew(lost: CallSession, caller: SessionCaller, signal: AbortSignal): Promise<void> {
    const { serverId } = this.#deps;
    const { sessionId, generation } = lost.session;
    for (;;) {
      signal.throwIfAborted();
      const lock = {
        name: `bridge-renewal:${serverId}:${sessionId}`,
        owner: randomUUID(),
        ttlMs: LOCK_MS,
        signal,
      };
      // oxlint-disable-next-line no-await-in-loop -- Until one of all who have found out has done it.
      const isDone = await whileLocked(this.#deps.store, lock, async () => {
        const known = await this.#entered(sessionId, caller);
        if (known?.lease !== undefined) await this.#deps.sessions.leave(known.lease);
        if (known === undefined || known.record.generation > generation) return true;
        await this.#replace({ serverId, sessionId, generation }, caller);
        return true;
      });
      if (isDone === true) return;
      // oxlint-disable-next-line no-await-in-loop -- See above.
      await delay(POLL_MS, undefined, { signal });
    }
  }

  async #replace({ serverId, sessionId, generation }: OwnSession, caller: SessionCaller): Promise<void> {
    const { upstream, store } = this.#deps;
    const own = { serverId, sessionId, generation: generation + 1 };
    const fresh = await openCallSession(own, upstream, caller.headers, caller.identity);
    const upstreamSession = { upstreamSessionId: opened(fresh), protocolVersion: WORKSPACE };
    if (await store.replaceUpstream({ serverId, sessionId }, generation, upstreamSession)) return;
    endUnused(upstream, fresh.session, fresh.headers);
  }

  async #entered(
    sessionId: string,
    { principal }: SessionCaller,
  ): Promise<{ readonly record: SessionRecord; readonly lease: Lease | undefined } | undefined> {
    try {
      return await this.#deps.sessions.enter(this.#deps.serverId, sessionId, principal);
    } catch (error) {
      if (error instanceof AdapterError && error.code === 'session_not_found') return undefined;
      throw error;
    }
  }

  async #open(sessionId: string, caller: SessionCaller): Promise<true> {
    const { serverId, upstream, sessions, store } = this.#deps;
    // Another replica may have opened it before the lock was free.
    const known = await this.#entered(sessionId, caller);
    if (known !== undefined) {
      if (known.lease !== undefined) await sessions.leave(known.lease);
      return true;
    }
    const record = workspaceRecord(serverId, sessionId, caller.principal, store.now());
    await sessions.reserve(record);
    try {
      const fresh = await openCallSession(record, upstream, caller.headers, caller.identity);
      const { initializeParams } = caller.identity;
      await sessions.open({ ...record, upstreamSessionId: opened(fresh), initializeParams });
    } catch (error) {
      await sessions.release(record);
      throw error;
    }
    return true;
  }

  #use(
    { record, lease }: { readonly record: SessionRecord; readonly lease: Lease | undefined },
    caller: SessionCaller,
  ): CallSession {
    const { serverId, upstream } = this.#deps;
    const position = positionOf(record);
    if (position === undefined) throw new AdapterError('session_not_found');
    const session = { serverId, sessionId: record.sessionId, generation: record.generation };
    return {
      ...knownCallSession(session, upstream, caller.headers, position),
      leave: () => this.#leave(lease),
    };
  }

  #leave(lease: Lease | undefined): void {
    if (lease !== undefined) void this.#deps.sessions.leave(lease);
  }

  async #idOf({ principal, credentials, identity }: SessionCaller): Promise<string> {
    const key = [this.#deps.serverId, principal, credentials, identity.capabilities].join('\n');
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#secret ??= this.#deps.store.secret(SECRET).catch((error: unknown) => {
      this.#secret = undefined;
      throw error;
    });
    const id = createHmac('sha256', await this.#secret)
      .update(key)
      .digest('hex')
      .slice(0, 32);
    this.#ids.set(key, id);
    return id;
  }
}

/** What stands in place of an upstream session's id: the revision that was agreed on is not that of a workspace. */
const opened = ({ session, protocolVersion }: CallSession): string =>
  `${protocolVersion} ${session.upstreamSessionId ?? ''}`;

const WORKSPACE = workspaceRecord('', '', '', 0).protocolVersion;

/** The session at the server that a record of this kind stands for; undefined for any other. */
export function positionOf({
  upstreamSessionId,
}: Pick<UpstreamSession, 'upstreamSessionId'>):
  | { readonly upstreamSessionId: string | null; readonly protocolVersion: string }
  | undefined {
  const [, protocolVersion, id] = OPENED.exec(upstreamSessionId ?? '') ?? [];
  return protocolVersion === undefined ? undefined : { protocolVersion, upstreamSessionId: id || null };
}
