import type { Baseline } from '../catalog/baseline.ts';
import type { Caller, Found, SessionKey, SessionRecord } from './state-store.ts';

/** What a store keeps of a session: its record and, once it has ended, how. */
export interface StoredSession {
  readonly record: SessionRecord;
  /** Null while the session is active. */
  readonly ending: Ending | null;
}

/** A tombstone. With a reason it is terminal: the session cannot be revived. */
export interface Ending {
  readonly expiresAt: number;
  readonly reason: string | null;
}

/** Whether the session was invalidated; the first reason stays. */
export const isTerminal = ({ ending }: StoredSession): boolean => ending !== null && ending.reason !== null;

/**
 * The revision without sessions. A session that agreed on it is a workspace: the adapter opened it by itself, as the
 * home of the files of a client that has no session.
 */
export const WORKSPACE_PROTOCOL = '2026-07-28';

export const isActive = (stored: StoredSession | undefined): boolean => stored?.ending === null;

/** Whether the session is active, or a tombstone that its client may still find. */
export function mayComeBack(stored: StoredSession | undefined, now: number): boolean {
  if (stored === undefined) return false;
  return stored.ending === null || (stored.ending.reason === null && stored.ending.expiresAt > now);
}

/** What a caller may know of a stored session. */
export function seenBy(stored: StoredSession | undefined, caller: Caller): Found {
  if (stored === undefined || stored.record.principal !== caller.principal) return { state: 'unknown' };
  const { record, ending } = stored;
  if (ending === null) return { state: 'active', record };
  const { expiresAt, reason } = ending;
  if (expiresAt <= caller.now) return { state: 'unknown' };
  return reason === null ? { state: 'tombstoned', record, expiresAt } : { state: 'invalidated', reason, expiresAt };
}

/** Every request reads the subscriptions of its session, and each is replayed to a new upstream session. */
export const MAX_SUBSCRIPTIONS = 1_000;
/** Characters of all their URIs. */
export const MAX_SUBSCRIPTION_TEXT = 64 << 10;

/** The subscriptions after one `resources/subscribe` or `unsubscribe`; the same array when nothing changes. */
export function withSubscription(uris: readonly string[], uri: string, subscribed: boolean): readonly string[] {
  if (uris.includes(uri) === subscribed) return uris;
  if (!subscribed) return uris.filter((other) => other !== uri);
  const length = uris.reduce((sum, other) => sum + other.length, uri.length);
  return uris.length < MAX_SUBSCRIPTIONS && length <= MAX_SUBSCRIPTION_TEXT ? [...uris, uri] : uris;
}

/** Characters, of about 800 tools: an upstream must not fill the store, and Redis has the text once for each session. */
const MAX_BASELINE_TEXT = 64 << 10;

/** A baseline as a store keeps it: of one that is too long only the fingerprint. */
export const kept = (baseline: Baseline): Baseline =>
  baseline.text.length <= MAX_BASELINE_TEXT ? baseline : { ...baseline, text: '' };

/** One string for a key. The separator occurs neither in server ids nor in HTTP header values. */
export const keyText = (key: SessionKey): string => `${key.serverId}\n${key.sessionId}`;
