import { sessionEnd } from '../sessions/session-end.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { UpstreamSession } from '../upstream/upstream.ts';
import { ownUpstreamOf, upstreamOf } from './own-upstream.ts';
import type { Mount, Turn } from './turn.ts';

const END_SESSION_TIMEOUT_MS = 5_000;

/** A new upstream session for this session, once for all who need it. */
export function renew(turn: Turn, record: SessionRecord): Promise<SessionRecord> {
  const { parts, mount, incoming } = turn;
  return parts.upstreamSessions.renew(ownUpstreamOf(turn), record, mount.headers.base('POST', incoming.headers));
}

/** Whether the upstream's sessions can be ended now. With HTTP+SSE that is the end of a connection, and no request. */
export function mayEndUpstream({ upstream, breaker }: Mount): boolean {
  return !upstream.modern || breaker.state(Date.now()) !== 'open';
}

/** Ends the upstream's session, best effort: the adapter's has ended all the same, and the upstream expires its own. */
export async function endUpstream(turn: Turn, session: UpstreamSession): Promise<void> {
  const { mount, incoming } = turn;
  try {
    if (!mayEndUpstream(mount)) return;
    await upstreamOf(turn).endSession(
      session,
      mount.headers.forward('DELETE', incoming.headers, false),
      END_SESSION_TIMEOUT_MS,
    );
  } catch {
    // See above.
  }
}

/**
 * Ends a session for good: its id is refused with the reason from now on. Those who still use it learn of it once the
 * answer of this turn, which may say why, has left.
 */
export async function invalidateSession(turn: Turn, record: SessionRecord, reason: string): Promise<void> {
  const { parts, incoming } = turn;
  const ended = await parts.sessionFiles.invalidate(record, reason, Date.now() + parts.tombstoneTtlMs);
  if (!ended) return;
  const { serverId, sessionId } = record;
  parts.telemetry.session(sessionEnd(record, 'tool_definition_invalidated'));
  const tell = (): void => {
    const told = parts.bus.publish({ type: 'session-ended', serverId, sessionId });
    Promise.all([told, endUpstream(turn, record)]).catch(parts.known);
  };
  // A client that has gone meanwhile closes nothing any more.
  if (incoming.reply.destroyed) tell();
  else incoming.reply.once('close', tell);
}
