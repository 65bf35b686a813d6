import { listedOwn } from '../catalog/catalog.ts';
import { AdapterError } from '../errors.ts';
import { Exchange, type Plan } from '../exchange/exchange.ts';
import { type Body, MODERN_REVISION, type Request } from '../exchange/message.ts';
import { INITIALIZE_TIMEOUT_MS, newSessionId } from '../sessions/session-registry.ts';
import type { SessionKey, SessionRecord } from '../state/state-store.ts';
import { withGreeting } from './greeting.ts';
import { planOf } from './plan-of.ts';
import { keptParams } from './remembered.ts';
import { endUpstream } from './session-upstream.ts';
import type { Turn } from './turn.ts';

const NO_SUCH_SESSION = `The upstream server opened a session of revision ${MODERN_REVISION}, which has none.`;

/** Opens a session: takes a place, lets the upstream answer, and keeps what came of it under an id of our own. */
export async function initialize(turn: Turn, body: Body, request: Request): Promise<void> {
  const { parts, mount, incoming } = turn;
  const refusal = parts.refusesSessions();
  if (refusal !== undefined) throw new AdapterError(refusal);
  const initializeParams = keptParams(body, request);
  const key = { serverId: mount.serverId, sessionId: newSessionId() };
  await parts.sessions.reserve(key);
  let opened = false;
  let upstreamSessionId: string | null = null;
  const plan: Plan = planOf(turn, {
    request: {
      method: 'POST',
      session: { ...key, upstreamSessionId: undefined, generation: 0 },
      headers: mount.headers.forward('POST', incoming.headers, false),
      body,
    },
    idTexts: [request.idText],
    timeoutMs: INITIALIZE_TIMEOUT_MS,
    onTimeout: () => new AdapterError('upstream_timeout'),
    holdHead: true,
    onHead: (head) => {
      ({ upstreamSessionId } = head);
    },
    onResponse: async (text) => {
      const protocolVersion = negotiated(text);
      if (protocolVersion === undefined) return text;
      // A session of that revision would be taken for a workspace, and no client could use it.
      if (protocolVersion === MODERN_REVISION) throw new AdapterError('upstream_failed', NO_SUCH_SESSION);
      await parts.sessions.open(
        newRecord(key, incoming.principal, { upstreamSessionId, protocolVersion, initializeParams }, parts.store.now()),
      );
      if (incoming.reply.destroyed) {
        // The client went away meanwhile and will never learn the id; the rest was ended when it went.
        await parts.sessions.remove(key.serverId, key.sessionId, incoming.principal);
        return text;
      }
      opened = true;
      plan.sessionId = key.sessionId;
      incoming.facts.sessionId = key.sessionId;
      incoming.facts.protocolVersion = protocolVersion;
      return withGreeting(turn, text, undefined, {
        tools: listedOwn(mount.surface.catalog).length > 0,
        resources: mount.resources !== undefined && 'changing',
      });
    },
    onFinish: () => {
      if (opened) return undefined;
      // Nobody will use what the upstream may have opened.
      void endUpstream(turn, { ...key, upstreamSessionId, generation: 0 });
      return parts.sessions.release(key).catch(() => {
        // The place frees itself.
      });
    },
  });
  new Exchange(plan).start();
}

function newRecord(
  key: SessionKey,
  principal: string,
  opened: Pick<SessionRecord, 'upstreamSessionId' | 'protocolVersion' | 'initializeParams'>,
  now: number,
): SessionRecord {
  return {
    ...key,
    principal,
    ...opened,
    generation: 0,
    logLevel: null,
    subscriptions: [],
    listsGeneration: 0,
    baseline: null,
    createdAt: now,
    lastActiveAt: now,
  };
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
