import { hash } from 'node:crypto';

import { isWorkspace } from './workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';

const DAY_MS = 86_400_000;
/** What a session saw is kept at least so long after it was looked at last; tools for as long as the session. */
const SESSION_TTL_MS = 7 * DAY_MS;

/** Under what is kept what the client of a turn saw first, and for how long. */
export interface FirstSeenBy {
  /** Names nobody, and holds no secret. */
  readonly name: string;
  /** Milliseconds, from the last use on. */
  readonly ttlMs: number;
}

/**
 * A session sees things first for itself. Clients without one do so for each server, principal, and what they
 * authenticate with there (`clientKey`), on which lists may depend.
 */
export function seenBy(
  record: Pick<SessionRecord, 'serverId' | 'sessionId' | 'principal' | 'protocolVersion'>,
  clientKey: string,
  sessionlessTtlMs: number,
): FirstSeenBy {
  const { serverId, sessionId, principal } = record;
  const isSessionless = isWorkspace(record);
  const parts = isSessionless ? ['sessionless', serverId, principal, clientKey] : ['session', serverId, sessionId];
  return {
    name: hash('sha256', JSON.stringify(parts), 'base64url'),
    ttlMs: isSessionless ? sessionlessTtlMs : Math.max(SESSION_TTL_MS, sessionlessTtlMs),
  };
}
