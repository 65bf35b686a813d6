import type { FirstTextTime } from '../state/first-texts.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { seenBy } from '../sessions/seen-by.ts';
import type { FirstSeen, ServerTexts } from './server-texts.ts';
import type { ToolSource } from '../tools/tool-source.ts';

/** What a client saw first of what is not a tool; undefined where nothing is compared. */
export function firstSeen(
  texts: Pick<ServerTexts, 'pins' | 'sessionlessTtlMs'>,
  { store, clientKey }: Pick<ToolSource, 'store' | 'clientKey'>,
  record: SessionRecord,
): FirstSeen | undefined {
  if (!texts.pins) return undefined;
  const { name, ttlMs } = seenBy(record, clientKey, texts.sessionlessTtlMs);
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
