import { SESSIONLESS_REVISION } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';

/** No session has this id: ids are random. */
const NO_SESSION = '0'.repeat(32);

/** The record of a caller without a session, whose calls make nothing which must belong to one. */
export const noWorkspace = (serverId: string, principal: string, now: number): SessionRecord =>
  workspaceRecord(serverId, NO_SESSION, principal, now);

/** Whether there is a session of this record: a workspace, or one of a client. */
export const hasSession = ({ sessionId }: Pick<SessionRecord, 'sessionId'>): boolean => sessionId !== NO_SESSION;

/** The record of a workspace (see sessions/workspace.ts). */
export function workspaceRecord(serverId: string, sessionId: string, principal: string, now: number): SessionRecord {
  return {
    serverId,
    sessionId,
    principal,
    upstreamSessionId: null,
    generation: 0,
    protocolVersion: SESSIONLESS_REVISION,
    initializeParams: '{}',
    logLevel: null,
    subscriptions: [],
    listsGeneration: 0,
    baseline: null,
    createdAt: now,
    lastActiveAt: now,
  };
}
