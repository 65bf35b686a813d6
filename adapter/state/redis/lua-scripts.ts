import type { RedisScript } from '../../../lib/redis/redis-script.ts';
import { ScriptFolder } from '../../../lib/redis/script-folder.ts';
import { ENTRY_BYTES, LOG_BYTES, LOG_LENGTH, LOGS_BYTES, MAX_EXPECTED } from '../../limits.ts';
import { MAX_SESSION_FILES } from '../file-records.ts';
import { MESSAGE_LOG_TTL_MS } from '../message-bus.ts';
import { FIELD_NAMES } from '../session-fields.ts';

export interface StoreScript extends RedisScript {
  /** May be run again when nobody knows whether it was: doing it twice in a row is doing it once. */
  readonly isRepeatable?: boolean;
}

/** The hash fields of a session, in the order in which scripts return them. Absent fields stand for null. */
export const SESSION_FIELDS = [...FIELD_NAMES, 'expiresAt', 'reason', 'renewedAt'] as const;

/** About how many files one step removes: Redis serves nobody else meanwhile. */
export const PURGED_AT_ONCE = 500;

/** Where in SESSION_FIELDS a field is, counted from 1: LAST_ACTIVE_AT for `lastActiveAt`. */
const PLACES = Object.fromEntries(
  SESSION_FIELDS.map((field, index) => [field.replaceAll(/[A-Z]/g, '_$&').toUpperCase(), index + 1]),
);

/**
 * What the adapter does in Redis in one atomic step each. See redis-keys.ts for what keys hold. Every script leaves an expiry on
 * every key that it writes. One that is not repeatable returns to one caller only what it takes away.
 */
export const LUA = new ScriptFolder(new URL('lua/', import.meta.url), {
  ...PLACES,
  SESSION_FIELDS,
  MAX_SESSION_FILES,
  PURGED_AT_ONCE,
  MESSAGE_LOG_TTL_MS,
  LOG_LENGTH,
  LOG_BYTES,
  LOGS_BYTES,
  ENTRY_BYTES,
  MAX_EXPECTED,
});

export const script = (name: string): StoreScript => LUA.script(name);

export const repeatableScript = (name: string): StoreScript => Object.assign(LUA.script(name), { isRepeatable: true });
