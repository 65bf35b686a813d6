import type { SessionRecord } from '../state-store.ts';

/** An active session of nobody in particular. */
export const sampleSession = (sessionId: string, changes: Partial<SessionRecord> = {}): SessionRecord => ({
  serverId: 'files',
  sessionId,
  principal: '',
  upstreamSessionId: 'upstream',
  generation: 0,
  protocolVersion: '2025-06-18',
  initializeParams: '{}',
  logLevel: null,
  subscriptions: [],
  listsGeneration: 0,
  baseline: null,
  createdAt: 1_000,
  lastActiveAt: 1_000,
  ...changes,
});
