import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { AdapterError } from '../errors.ts';
import { Exchange } from '../exchange/exchange.ts';
import { sendEndedStream } from '../exchange/ended-stream.ts';
import { losesSession } from '../exchange/unknown-session.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { UpstreamRequest } from '../upstream/upstream.ts';
import { requireRevision, requireSession } from './admission.ts';
import { LeftCalls } from './left-calls.ts';
import { strayAnswer } from './lists.ts';
import { ownUpstreamOf } from './own-upstream.ts';
import { planOf } from './plan-of.ts';
import { renew } from './session-upstream.ts';
import type { Turn } from './turn.ts';

const SECOND_STREAM_ATTEMPTS = 5;
const RENEWALS = 2;
const PING_TIMEOUT_MS = 10_000;

/** A GET: the session's own event stream, or a request's stream taken up again by Last-Event-ID. */
export async function eventStream(turn: Turn): Promise<void> {
  const { parts, mount, incoming } = turn;
  const sessionId = requireSession(incoming);
  incoming.facts.sessionId = sessionId;
  const record = await parts.sessions.find(mount.serverId, sessionId, incoming.principal);
  if (isWorkspace(record)) throw new AdapterError('session_not_found');
  requireRevision(incoming, record);
  const lastEventId = incoming.headers['last-event-id'];
  if (parts.leavesStreams()) {
    const { requestId } = incoming.facts;
    incoming.facts.outcome = 'ok';
    turn.admitted.finished('ok');
    const from = typeof lastEventId === 'string' ? lastEventId : undefined;
    return sendEndedStream(incoming.reply, { requestId, sessionId, lastEventId: from });
  }
  let current = record.upstreamSessionId === '' ? await renew(turn, record) : record;
  let attempts = 0;
  let renewed = false;
  const id = randomUUID();
  /** The event that the client saw last, unless it came from an upstream session that is lost. */
  const resume = (): string | undefined =>
    typeof lastEventId === 'string' && !renewed && mount.upstream.knowsEvent(lastEventId, current)
      ? lastEventId
      : undefined;
  const request = (): UpstreamRequest => ({
    method: 'GET',
    session: current,
    headers: mount.headers.forward('GET', incoming.headers, false),
    body: undefined,
    lastEventId: resume(),
  });
  const session = (): SessionRecord => current;
  const stray = strayAnswer(turn, session);
  const opening = parts.streamOrder.opening(current);
  const calls = mount.steps.size === 0 ? undefined : new LeftCalls(turn, session);
  const plan = planOf(turn, {
    id,
    request: request(),
    idTexts: [],
    sessionId,
    timeoutMs: null,
    onTimeout: () => new AdapterError('upstream_timeout'),
    // The answer to a list or a call may be taken up again here.
    onResponse: calls === undefined ? stray : async (text) => (await calls.answer(text)) ?? stray(text),
    takesArrays: true,
    onListChanged: mount.lists.enabled ? () => parts.store.dropLists(record) : undefined,
    again: async (status) => {
      attempts++;
      if (status === 409) {
        // A stream that cannot be taken up again takes nothing away from the one that is open: a client whose call was
        // lost with the upstream session resumes that too, and both would drop each other for ever.
        const lost = lastEventId !== undefined && resume() === undefined;
        if (lost || attempts > SECOND_STREAM_ATTEMPTS) throw new AdapterError('stream_conflict');
        await dropOtherStreams(turn, sessionId, id, attempts);
        return request();
      }
      if (!(await isLost(turn, current))) {
        incoming.reply.setHeader('allow', 'POST, DELETE');
        throw new AdapterError('method_not_allowed', 'The upstream server has no event stream.');
      }
      if (attempts > RENEWALS) throw new AdapterError('upstream_failed', 'The upstream server ends each new session.');
      current = await renew(turn, current);
      renewed = true;
      return request();
    },
    onHead: ({ status }) => opening.settled(status < 300),
    onFinish: () => {
      opening.settled(false);
      return calls?.end();
    },
  });
  new Exchange(plan).start();
}

/** Whether the upstream has lost the session. A server that takes POST only may answer a GET the same way. */
async function isLost(turn: Turn, record: SessionRecord): Promise<boolean> {
  if (!record.upstreamSessionId) return false;
  const headers = turn.mount.headers.forward('POST', turn.incoming.headers, false);
  const request = { session: record, headers, message: { method: 'ping' }, timeoutMs: PING_TIMEOUT_MS };
  try {
    const { status, body } = await ownRequest(ownUpstreamOf(turn), request);
    return losesSession(status, body);
  } catch (error) {
    throw new AdapterError('upstream_failed', undefined, { cause: error });
  }
}

/** The upstream allows one stream at a time: the latest wins, wherever the other one is held. */
async function dropOtherStreams({ parts, mount }: Turn, sessionId: string, id: string, attempt: number): Promise<void> {
  await parts.bus.publish({ type: 'drop-get', serverId: mount.serverId, sessionId, except: id });
  await delay(50 * 2 ** attempt);
}
