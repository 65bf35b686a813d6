import type { FirstTextTime } from '../state/first-texts.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { seenBy } from './seen-by.ts';
import type { FirstSeen } from './server-texts.ts';
import type { Turn } from './turn.ts';

/** What the client of a turn saw first of what is not a tool; undefined where nothing is compared. */
export function firstSeen({ mount, parts, incoming }: Turn, record: SessionRecord): FirstSeen | undefined {
  if (!mount.texts.pins) return undefined;
  const { name, ttlMs } = seenBy(record, mount.headers.clientKey(incoming.headers), mount.texts.sessionlessTtlMs);
  const { store } = parts;
  const { firstTexts } = store;
  const time = (): FirstTextTime => {
    const now = store.now();
    return { now, expiresAt: now + ttlMs };
  };
  return {
    find: (part) => firstTexts.find(`${name}:${part}`, time()),
    keep: (part, text) => firstTexts.keep(`${name}:${part}`, text, time()),
  };
}
