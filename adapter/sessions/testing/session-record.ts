import type { SessionRecord } from '../../state/state-store.ts';

/** A session as `initialize` leaves it, with some things about it different. */
export function sessionRecord(changes: Partial<SessionRecord> = {}): SessionRecord {
  return {
    serverId: 's1',
    sessionId: '0123456789abcdef0123456789abcdef',
    principal: '',
    upstreamSessionId: 'upstream-1',
    generation: 0,
    protocolVersion: '2025-11-25',
    initializeParams: '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}',
    logLevel: null,
    subscriptions: [],
    listsGeneration: 0,
    baseline: null,
    createdAt: 0,
    lastActiveAt: 0,
    ...changes,
  };
}
