import type { Outcome, Plan } from '../exchange/plan.ts';
import type { ResponseHead, UpstreamRequest } from '../upstream/upstream.ts';
import { rejectedHead } from './admission.ts';
import { relayChallenge } from './challenge.ts';
import { upstreamOf } from './own-upstream.ts';
import type { Turn } from './turn.ts';

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
    holder: incoming.holder,
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
      relayChallenge(turn, head);
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
