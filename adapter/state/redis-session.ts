import type { RedisReply } from '../../lib/redis/redis-script.ts';
import type { Baseline } from '../catalog/baseline.ts';
import { SESSION_FIELDS } from './redis-scripts.ts';
import type { SessionKey, SessionRecord } from './state-store.ts';
import { parseSubscriptions } from './stored-session.ts';
import type { StoredSession } from './stored-session.ts';

/** A session's hash as field, value, field, value…; null is an absent field. */
export function encodeSession(record: SessionRecord): (string | number)[] {
  const hash = {
    principal: record.principal,
    upstreamSessionId: record.upstreamSessionId,
    generation: record.generation,
    protocolVersion: record.protocolVersion,
    initializeParams: record.initializeParams,
    logLevel: record.logLevel,
    subscriptions: JSON.stringify(record.subscriptions),
    listsGeneration: record.listsGeneration,
    baseline: record.baseline,
    createdAt: record.createdAt,
    lastActiveAt: record.lastActiveAt,
    renewedAt: record.lastActiveAt,
  };
  return Object.entries(hash).flatMap(([field, value]) => (value === null ? [] : [field, value]));
}

/** What a script returned for a session; undefined when there is none. */
export function decodeSession(key: SessionKey, reply: RedisReply): StoredSession | undefined {
  if (!Array.isArray(reply) || reply.length !== SESSION_FIELDS.length) return undefined;
  const [
    principal,
    upstream,
    generation,
    protocol,
    initialize,
    logLevel,
    uris,
    lists,
    baseline,
    created,
    active,
    expires,
    reason,
  ] = reply.map((value) => (value === null ? null : String(value)));
  if (typeof principal !== 'string') return undefined;
  return {
    record: {
      serverId: key.serverId,
      sessionId: key.sessionId,
      principal,
      upstreamSessionId: upstream ?? null,
      generation: Number(generation),
      protocolVersion: protocol ?? '',
      initializeParams: initialize ?? '',
      logLevel: logLevel ?? null,
      subscriptions: parseSubscriptions(uris ?? '[]'),
      listsGeneration: Number(lists),
      baseline: baseline ?? null,
      createdAt: Number(created),
      lastActiveAt: Number(active),
    },
    ending: typeof expires === 'string' ? { expiresAt: Number(expires), reason: reason ?? null } : null,
  };
}

/** Fingerprint and text of a baseline; undefined when there is none. */
export function decodeBaseline(fingerprint: RedisReply = null, text: RedisReply = null): Baseline | undefined {
  return typeof fingerprint === 'string' ? { fingerprint, text: typeof text === 'string' ? text : '' } : undefined;
}

/** When the expiry of a session that a script returned had been renewed last; Infinity when there is none. */
export function renewedAt(reply: RedisReply): number {
  const value = Array.isArray(reply) ? reply[SESSION_FIELDS.indexOf('renewedAt')] : null;
  return typeof value === 'string' ? Number(value) : Infinity;
}
