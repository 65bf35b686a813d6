import { AdapterError } from '../errors.ts';
import { SESSIONLESS_REVISION } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { SessionRegistry } from './session-registry.ts';

/**
 * Files belong to sessions, and clients of the sessionless revision (MCP 2026-07-28) have none. For what they upload or
 * have made, the adapter opens sessions by itself: workspaces. Upload handles and artifact URIs name them, which is the
 * permission to use them beside the token (the revision's "explicit state handles"). They are known by their revision,
 * which no other session has, and go away when no file is left in them.
 */
export function isWorkspace(record: Pick<SessionRecord, 'protocolVersion'>): boolean {
  return record.protocolVersion === SESSIONLESS_REVISION;
}

/**
 * Whether the caller may use the files of a session: its own, and without sessions those of any workspace of the same caller
 * that it can name. With the scope `principal`, those of every session of the same caller. Counts as activity of that session.
 */
export async function mayUse(
  sessions: Pick<SessionRegistry, 'touch'>,
  caller: Pick<SessionRecord, 'serverId' | 'sessionId' | 'principal' | 'protocolVersion'>,
  sessionId: string,
  scope: 'session' | 'principal' = 'session',
): Promise<boolean> {
  if (sessionId === caller.sessionId && !isWorkspace(caller)) return true;
  if (!isWorkspace(caller) && scope === 'session') return false;
  try {
    const owner = await sessions.touch(caller.serverId, sessionId, caller.principal);
    return scope === 'principal' || isWorkspace(owner);
  } catch (error) {
    if (error instanceof AdapterError && error.status === 404) return false;
    throw error;
  }
}
