import { AdapterError } from '../errors.ts';
import { MODERN_REVISION } from '../exchange/message.ts';
import { newSessionId, type SessionRegistry } from '../sessions/session-registry.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { PreparedCall, ToolStep, Turn } from './turn.ts';

/** No session has this id: ids are random. */
const NO_SESSION = '0'.repeat(32);

/** The record of a call that makes nothing which must belong to a session. */
export function noWorkspace(turn: Turn): SessionRecord {
  return workspaceRecord(turn, NO_SESSION);
}

/** Opens a workspace for the caller. Throws `sessions_limit`. */
export async function openWorkspace(turn: Turn): Promise<SessionRecord> {
  const { sessions, refusesSessions } = turn.parts;
  const refusal = refusesSessions();
  if (refusal !== undefined) throw new AdapterError(refusal);
  const record = workspaceRecord(turn, newSessionId());
  await sessions.reserve(record);
  try {
    await sessions.open(record);
  } catch (error) {
    await sessions.release(record);
    throw error;
  }
  return record;
}

function workspaceRecord({ mount, incoming, parts }: Turn, sessionId: string): SessionRecord {
  const now = parts.store.now();
  return {
    serverId: mount.serverId,
    sessionId,
    principal: incoming.principal,
    upstreamSessionId: null,
    generation: 0,
    protocolVersion: MODERN_REVISION,
    initializeParams: '{}',
    logLevel: null,
    subscriptions: [],
    listsGeneration: 0,
    baseline: null,
    createdAt: now,
    lastActiveAt: now,
  };
}

/**
 * Whether the caller may use the files of a session: within a session those of that one, and else those of any session
 * of the same caller that it can name. Counts as activity of that session.
 */
export async function mayUse(
  sessions: Pick<SessionRegistry, 'touch'>,
  caller: Pick<SessionRecord, 'serverId' | 'sessionId' | 'principal' | 'protocolVersion'>,
  sessionId: string,
): Promise<boolean> {
  if (!isWorkspace(caller)) return sessionId === caller.sessionId;
  try {
    await sessions.touch(caller.serverId, sessionId, caller.principal);
    return true;
  } catch (error) {
    if (error instanceof AdapterError && error.status === 404) return false;
    throw error;
  }
}

/** The step of a call in a workspace of its own, which is removed again when nothing came of the call. */
export function inWorkspace(turn: Turn, step: ToolStep): ToolStep {
  return {
    needsHome: true,
    async prepare(call) {
      let prepared: PreparedCall | undefined;
      try {
        prepared = await step.prepare(call);
      } finally {
        const isFruitless = prepared?.kind === 'result' ? saysError(prepared.result) : prepared?.kind !== 'forward';
        if (isFruitless) await remove(turn, call.record);
      }
      if (prepared.kind !== 'forward') return prepared;
      const { onEnd } = prepared;
      return {
        ...prepared,
        onEnd: async (outcome) => {
          await onEnd?.(outcome);
          await removeIfEmpty(turn, call.record);
        },
      };
    },
  };
}

function saysError(result: string): boolean {
  return (JSON.parse(result) as { isError?: unknown }).isError === true;
}

/** Never fails: a workspace without files goes away by itself some time later. */
async function removeIfEmpty(turn: Turn, record: SessionRecord): Promise<void> {
  try {
    const { store } = turn.parts;
    const files = await store.files.list(record, 'artifact', { now: store.now(), ttlMs: null });
    if (files.length === 0) await remove(turn, record);
  } catch {
    // See above.
  }
}

async function remove({ parts }: Turn, record: SessionRecord): Promise<void> {
  try {
    await parts.sessions.remove(record.serverId, record.sessionId, record.principal);
    await parts.sessionFiles.purge(record);
  } catch {
    // See `removeIfEmpty`.
  }
}
