import type { AdapterError } from '../errors.ts';
import type { Outcome, Plan } from '../exchange/exchange.ts';
import type { KeepAlive } from '../exchange/keep-alive.ts';
import type { RunningExchanges } from '../exchange/running.ts';
import { sessionEnd } from '../sessions/session-end.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import type { ResponseHead, Upstream, UpstreamRequest, UpstreamSession } from '../upstream/upstream.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { rejectedHead } from './admission.ts';
import type { Admitted } from './admitted.ts';
import type { Incoming } from './incoming.ts';
import type { Mount } from './mount.ts';
import type { RequestTrace } from './request-trace.ts';
import type { ToolParameters } from './tool-parameters.ts';

const END_SESSION_TIMEOUT_MS = 5_000;

/** What the gateway works with; one of each per program. */
export interface GatewayParts {
  readonly store: StateStore;
  readonly bus: MessageBus;
  readonly sessions: SessionRegistry;
  readonly sessionFiles: Pick<SessionFiles, 'purge' | 'invalidate'>;
  readonly upstreamSessions: UpstreamSessions;
  readonly running: RunningExchanges;
  readonly keepAlive: KeepAlive;
  readonly toolParameters: ToolParameters;
  readonly telemetry: Pick<Telemetry, 'isOn' | 'session'>;
  /** The audit log names the arguments of calls by their hash. */
  readonly hashesArguments: boolean;
  /** Undefined without traces. */
  readonly tracing: Pick<Tracing, 'begin'> | undefined;
  /** How long the id of a session that was ended for good is refused, in milliseconds. */
  readonly tombstoneTtlMs: number;
  readonly terminationRetries: number;
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => 'draining' | 'reconciling' | undefined;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}

/** One request of a client on one mount, admitted by the breaker. */
export interface Turn {
  readonly parts: GatewayParts;
  readonly mount: Mount;
  readonly incoming: Incoming;
  readonly admitted: Admitted;
  /** Undefined without traces. */
  readonly trace: RequestTrace | undefined;
}

/** Where the client's own messages go. */
function upstreamOf({ mount, trace }: Turn): Upstream {
  return trace === undefined ? mount.upstream : trace.of(mount.upstream);
}

/** Where the adapter's own requests for this client go: the same upstream. */
export function ownUpstreamOf({ mount, trace }: Turn): Upstream {
  return trace === undefined ? mount.own : trace.of(mount.own);
}

/** What differs between the plans of the kinds of requests. */
export interface OwnPlan {
  readonly id?: string;
  readonly request: UpstreamRequest;
  readonly idTexts: readonly string[];
  readonly sessionId?: string;
  readonly timeoutMs: number | null;
  readonly onTimeout: Plan['onTimeout'];
  readonly onResponse?: Plan['onResponse'];
  readonly onStray?: Plan['onStray'];
  readonly holdHead?: boolean;
  readonly again?: Plan['again'];
  /** Sees the head of the upstream's answer. */
  readonly onHead?: (head: ResponseHead) => void;
  readonly onAnswered?: Plan['onAnswered'];
  readonly onListChanged?: Plan['onListChanged'];
  readonly onFinish: Plan['onFinish'];
}

/** The plan of the turn's exchange. */
export function planOf(turn: Turn, own: OwnPlan): Plan {
  const { parts, mount, incoming, admitted } = turn;
  // Every member always, in one order: V8 then knows one shape of plans only.
  return {
    id: own.id ?? '',
    serverId: mount.serverId,
    upstream: upstreamOf(turn),
    request: own.request,
    reply: incoming.reply,
    requestId: incoming.facts.requestId,
    keepAlive: parts.keepAlive,
    running: parts.running,
    idTexts: own.idTexts,
    sessionId: own.sessionId,
    timeoutMs: own.timeoutMs,
    onTimeout: own.onTimeout,
    onResponse: own.onResponse,
    onStray: own.onStray,
    holdHead: own.holdHead ?? false,
    again: own.again,
    onHead: (head) => {
      own.onHead?.(head);
      admitted.answered(head.status);
      return rejectedHead(mount, head);
    },
    onAnswered: own.onAnswered,
    onListChanged: own.onListChanged,
    known: parts.known,
    noted: parts.telemetry.isOn && own.idTexts.length > 0 ? incoming.facts : undefined,
    onFinish: (outcome: Outcome, goesOn: boolean) => {
      incoming.facts.outcome = outcome;
      admitted.finished(outcome);
      return own.onFinish(outcome, goesOn);
    },
  };
}

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
