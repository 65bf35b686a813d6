import { AdapterError } from '../errors.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { SessionRegistry } from './session-registry.ts';
import { isWorkspace } from './workspace.ts';

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
