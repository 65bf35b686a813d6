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
 * Tells all replicas that a session is over, then ends the upstream's: calls that run elsewhere end by what they are
 * told, and not by what the upstream does to them. Fails when nobody could be told.
 */
export async function tellAndEndUpstream(turn: Turn, session: UpstreamSession): Promise<void> {
  const { serverId, sessionId } = session;
  const told = turn.parts.bus.publish({ type: 'session-ended', serverId, sessionId });
  await told.catch(() => undefined);
  await endUpstream(turn, session);
  await told;
}

/**
 * Ends a session for good: its id is refused with the reason from now on. Those who still use it learn of it once the
 * answer of this turn, which may say why, has left.
 */
export async function invalidateSession(turn: Turn, record: SessionRecord, reason: string): Promise<void> {
  const { parts, incoming } = turn;
  const ended = await parts.sessionFiles.invalidate(record, reason, parts.store.now() + parts.tombstoneTtlMs);
  if (!ended) return;
  parts.telemetry.session(sessionEnd(record, 'tool_definition_invalidated', parts.store.now()));
  const tell = (): void => void tellAndEndUpstream(turn, record).catch(parts.known);
  // A client that has gone meanwhile closes nothing any more.
  if (incoming.reply.destroyed) tell();
  else incoming.reply.once('close', tell);
}
