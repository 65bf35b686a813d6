import type { SessionRecord } from '../state/state-store.ts';
import { seenBy } from './seen-by.ts';
import type { FirstSeen } from './server-texts.ts';
import type { Turn } from './turn.ts';

/** What the client of a turn saw first of what is not a tool; undefined where nothing is compared. */
export function firstSeen({ mount, parts, incoming }: Turn, record: SessionRecord): FirstSeen | undefined {
  if (!mount.texts.pins) return undefined;
  const { name, ttlMs } = seenBy(record, mount.headers.clientKey(incoming.headers), mount.texts.sessionlessTtlMs);
  return (part, text) => {
    const now = Date.now();
    return parts.store.firstTexts.keep(`${name}:${part}`, text, { now, expiresAt: now + ttlMs });
  };
}
