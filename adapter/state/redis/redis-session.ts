import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import type { Baseline } from '../../catalog/baseline.ts';
import { SESSION_FIELDS } from './lua-scripts.ts';
import { FIELD_NAMES, recordOf, storedValue } from '../session-fields.ts';
import type { SessionKey, SessionRecord } from '../state-store.ts';
import type { StoredSession } from '../stored-session.ts';

/** A session's hash as field, value, field, value…; null is an absent field. */
export function encodeSession(record: SessionRecord): (string | number)[] {
  const fields = FIELD_NAMES.flatMap((name) => {
    const value = storedValue(record, name);
    return value === null ? [] : [name, value];
  });
  return [...fields, 'renewedAt', record.lastActiveAt];
}

/** What a script returned for a session; undefined when there is none. */
export function decodeSession(key: SessionKey, reply: RedisReply): StoredSession | undefined {
  if (!Array.isArray(reply) || reply.length !== SESSION_FIELDS.length) return undefined;
  const value = (name: (typeof SESSION_FIELDS)[number]): string | null => {
    const stored = reply[SESSION_FIELDS.indexOf(name)];
    return typeof stored === 'string' ? stored : null;
  };
  if (value('principal') === null) return undefined;
  const expires = value('expiresAt');
  return {
    record: recordOf(key, value),
    ending: expires === null ? null : { expiresAt: Number(expires), reason: value('reason') },
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
