import { AdapterError } from '../errors.ts';
import { Exchange, type Plan } from '../exchange/exchange.ts';
import { type Body, cancelledRequest, type Message, type Request, toolName } from '../exchange/message.ts';
import type { Lease } from '../sessions/session-registry.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { listKey } from '../upstream/list-cache.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { UpstreamRequest } from '../upstream/upstream.ts';
import { refuseDisabled, requireRevision, requireSession } from './admission.ts';
import { sendResult, sendShared } from './answers.ts';
import { BatchRefusals } from './batch-refusals.ts';
import { callTool, type ForwardedCall, stepOf, toolCall } from './call-tool.ts';
import { checkPrompts } from './check-prompts.ts';
import { hiddenUse } from './hidden-ui.ts';
import { cachedList, listAnswer, strayAnswer } from './lists.ts';
import { ownUpstreamOf } from './own-upstream.ts';
import { planOf } from './plan-of.ts';
import { answerOwnResource, ownResource } from './resources.ts';
import { remembering } from './remembered.ts';
import { requireOwnTasks, withTasks } from './session-tasks.ts';
import { renew } from './session-upstream.ts';
import { longest, requestTimeout, timeoutResults } from './time-limits.ts';
import { TurnTools } from './turn-tools.ts';
import type { Mount, Turn } from './turn.ts';

const CANCEL_TIMEOUT_MS = 5_000;
/** The only revision with batches. */
const BATCH_REVISION = '2025-03-26';

/** A POST of the revisions with sessions: requests, notifications and answers of the client. */
export async function inSession(turn: Turn, body: Body, idTexts: readonly string[]): Promise<void> {
  const { parts, mount, incoming } = turn;
  const calls = body.messages.filter((message) => message.kind === 'request' && message.method === 'tools/call');
  const sessionId = requireSession(incoming);
  incoming.facts.sessionId = sessionId;
  const leases: Lease[] = [];
  let started = false;
  try {
    let record = await enter(turn, sessionId, calls.length, leases);
    if (isWorkspace(record)) throw new AdapterError('session_not_found');
    requireRevision(incoming, record);
    if (body.batch && record.protocolVersion !== BATCH_REVISION) {
      throw new AdapterError('invalid_request', `Batches exist in revision ${BATCH_REVISION} only; send one message.`);
    }
    // Each call of a batch has its own answer.
    if (!body.batch) for (const call of calls) refuseDisabled(mount, call);
    const step = body.batch ? undefined : stepOf(mount, body, calls);
    const resource = ownResource(mount, body);
    if (resource !== undefined) return await answerOwnResource(turn, record, body, resource);
    const streamComes = isInitialized(body) ? undefined : parts.streamOrder.before(record, idTexts.length > 0);
    if (streamComes !== undefined) await streamComes;
    if (record.upstreamSessionId === '') record = await renew(turn, record);
    const refusals = body.batch && calls.length > 0 ? await BatchRefusals.of(turn, record, body) : undefined;
    if (!body.batch && mount.surface.checksCalls) {
      await mount.surface.checkCalls(new TurnTools(turn), record, calls.map(toolName));
    }
    if (calls.length < body.messages.length) {
      await requireOwnTasks(parts.store, record, body.messages);
      await checkPrompts(turn, record, body.messages);
      const hidden = await hiddenUse(turn, record, body.messages);
      if (hidden !== undefined) throw new AdapterError('unknown_resource', undefined, { data: { ...hidden } });
    }
    const first = body.messages[0] as Message;
    const list = cachedUnder(turn, body);
    if (list !== undefined && (await answerFromCache(turn, record, list, first as Request))) return;
    const asked = withoutRefused({ body, record, calls, idTexts, leases, list, refusals });
    if (step !== undefined) {
      if (step.runsOthers && parts.sessions.limitsCalls) await leave(turn, leases);
      const call = toolCall({ turn, record, body, timeoutMs: longest(limitsOf(mount, calls)) });
      const exchange = (own: ForwardedCall): void => {
        const plan = sessionPlan(turn, asked, own);
        started = true;
        new Exchange(plan).start();
      };
      return await callTool(call, step, exchange, () => leave(turn, leases));
    }
    const requestId = cancelledRequest(body);
    if (requestId !== undefined) {
      // Told first, so that the end of the request's stream surprises nobody.
      await parts.bus.publish({ type: 'cancelled', serverId: mount.serverId, sessionId, requestId }).catch(parts.known);
    }
    const plan = sessionPlan(turn, asked, undefined);
    started = true;
    new Exchange(plan).start();
  } finally {
    if (!started) await leave(turn, leases);
  }
}

/** Clients open their stream with this notification or after it, so it never comes later than the stream. */
function isInitialized({ messages: [first] }: Body): boolean {
  return first?.kind === 'notification' && first.method === 'notifications/initialized';
}

/** Reads the session, and counts the tool calls of the body as in flight. */
async function enter(turn: Turn, sessionId: string, calls: number, leases: Lease[]): Promise<SessionRecord> {
  const { serverId } = turn.mount;
  const { sessions } = turn.parts;
  const { principal } = turn.incoming;
  if (calls === 0) return sessions.find(serverId, sessionId, principal);
  let record: SessionRecord | undefined;
  for (let i = 0; i < calls; i++) {
    const entered = await sessions.enter(serverId, sessionId, principal);
    if (entered.lease !== undefined) leases.push(entered.lease);
    record = entered.record;
  }
  return record as SessionRecord;
}

function leave({ parts }: Turn, leases: readonly Lease[]): Promise<void> | undefined {
  let waits: Promise<void>[] | undefined;
  for (const lease of leases) {
    const wait = parts.sessions.leave(lease);
    if (wait !== undefined) (waits ??= []).push(wait);
  }
  return waits === undefined ? undefined : Promise.all(waits).then(() => undefined);
}

/** What a list that the body asks for is cached under: others may see another one. */
function cachedUnder({ mount, incoming }: Turn, body: Body): string | undefined {
  const [first] = body.messages;
  const key = body.batch || first?.kind !== 'request' ? undefined : listKey(first.method, first.params);
  return key === undefined ? undefined : `${mount.headers.clientKey(incoming.headers)}\n${key}`;
}

async function answerFromCache(turn: Turn, record: SessionRecord, key: string, request: Request): Promise<boolean> {
  const { mount, incoming, admitted } = turn;
  if (!mount.lists.enabled || mount.surface.isStrict) return false;
  const kept = mount.lists.get(record, key, Date.now());
  if (kept === undefined) return false;
  const shown = await cachedList(mount, record, request, kept.text);
  incoming.facts.outcome = 'cached';
  admitted.finished('ok');
  const { idText } = request;
  const shared = shown === kept.text ? kept.bytes : undefined;
  if (shared !== undefined) sendShared(incoming, idText, shared, record.sessionId);
  else await sendResult(incoming, idText, shown, record.sessionId);
  return true;
}

interface SessionExchange {
  readonly body: Body;
  readonly record: SessionRecord;
  readonly calls: readonly Message[];
  readonly idTexts: readonly string[];
  readonly leases: readonly Lease[];
  /** What the answer is kept under. */
  readonly list: string | undefined;
  readonly refusals: BatchRefusals | undefined;
}

function withoutRefused(asked: SessionExchange): SessionExchange {
  const { refusals, body, calls } = asked;
  if (refusals === undefined) return asked;
  return { ...asked, body: refusals.sent(body), calls: calls.filter((call) => !refusals.refuses(call)) };
}

/** `own` is what the step of a call has prepared. */
function sessionPlan(turn: Turn, asked: SessionExchange, own: ForwardedCall | undefined): Plan {
  const { body, record, calls, idTexts, leases } = asked;
  const { parts, mount, incoming } = turn;
  let current = record;
  const session = (): SessionRecord => current;
  const sent = own?.body ?? body;
  const request = (): UpstreamRequest => ({
    method: 'POST',
    session: current,
    headers: mount.headers.forward('POST', incoming.headers, false),
    body: sent,
  });
  const isCall = calls.length > 0;
  return planOf(turn, {
    request: request(),
    idTexts,
    sessionId: record.sessionId,
    timeoutMs: isCall ? longest(limitsOf(mount, calls)) : requestTimeout(body),
    onTimeout: (unanswered) => {
      const open = calls.filter((call) => unanswered.includes((call as Request).idText));
      if (open.length === 0) return new AdapterError('upstream_timeout');
      void cancelUpstream(turn, current, unanswered);
      return timeoutResults(mount.serverId, open, limitsOf(mount, open));
    },
    onResponse: withTasks(
      parts.store,
      record,
      body,
      own === undefined ? ownAnswer(turn, asked, session) : own.onResponse,
    ),
    onStray: strayAnswer(turn, session),
    // Only the revision with batches has them, and clients of others read them all the same.
    takesArrays: true,
    // A client goes on when it has its result: the place must be free by then, not only when the stream ends.
    onAnswered: isCall && parts.sessions.limitsCalls ? () => leave(turn, leases) : undefined,
    onListChanged: mount.lists.enabled ? () => parts.store.dropLists(record) : undefined,
    again: sendAgain(turn, asked, session, async () => {
      current = await renew(turn, current);
      return request();
    }),
    onFinish:
      own?.onEnd === undefined
        ? () => leave(turn, leases)
        : (outcome, goesOn) => endCall(turn, leases, own.onEnd?.(outcome, goesOn)),
  });
}

/** What is done with the answer where no step of a call does it. */
function ownAnswer(
  turn: Turn,
  { body, record, list, refusals }: SessionExchange,
  session: () => SessionRecord,
): Plan['onResponse'] {
  const ofLists = listAnswer(turn, body, list, session);
  const shown =
    refusals === undefined ? ofLists : async (text: string) => (ofLists ?? String)(await refusals.answered(text));
  const remember = remembering(turn.parts.store, record, body);
  if (remember === undefined) return shown;
  return async (text) => {
    await remember(text);
    return shown === undefined ? text : shown(text);
  };
}

function limitsOf(mount: Mount, calls: readonly Message[]): (number | null)[] {
  return calls.map((one) => mount.timeoutOf(toolName(one)));
}

async function endCall(turn: Turn, leases: readonly Lease[], stepEnds: Promise<void> | undefined): Promise<void> {
  await stepEnds;
  await leave(turn, leases);
}

/**
 * The upstream has lost its session: a new one, and the request again. A tool call is sent again as often as
 * `upstream_session_termination_retries` says; with 0 the session is renewed for the next call only.
 */
function sendAgain(
  turn: Turn,
  { calls, idTexts }: SessionExchange,
  session: () => SessionRecord,
  renewed: () => Promise<UpstreamRequest>,
): (status: number) => Promise<UpstreamRequest> {
  let terminations = 0;
  return async (status) => {
    if (status === 409 || !session().upstreamSessionId) {
      throw new AdapterError('upstream_failed', `The upstream server answered with HTTP ${status}.`);
    }
    // Answers and cancellations name requests of the session that is gone; the new one has others of the same ids.
    if (idTexts.length === 0) throw new AdapterError('upstream_session_terminated');
    terminations++;
    const retries = turn.parts.terminationRetries;
    const allowed = calls.length > 0 ? retries : Math.max(1, retries);
    if (terminations > Math.max(1, allowed)) throw new AdapterError('upstream_session_terminated');
    const request = await renewed();
    if (terminations > allowed) throw new AdapterError('upstream_session_terminated');
    return request;
  };
}

async function cancelUpstream(turn: Turn, record: SessionRecord, idTexts: readonly string[]): Promise<void> {
  const { mount, incoming } = turn;
  const headers = mount.headers.forward('POST', incoming.headers, false);
  for (const idText of idTexts) {
    const params = `{"requestId":${idText},"reason":"The time limit of the call is over."}`;
    const message = { method: 'notifications/cancelled', params, notification: true };
    try {
      await ownRequest(ownUpstreamOf(turn), { session: record, headers, message, timeoutMs: CANCEL_TIMEOUT_MS });
    } catch {
      // The client has its answer; an upstream that cannot be told goes on for nothing.
    }
  }
}
