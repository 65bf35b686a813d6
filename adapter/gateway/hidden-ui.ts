import { removals } from '../catalog/removals.ts';
import { type HiddenUi, isUi } from '../catalog/ui-resources.ts';
import { elements, locate, members, type Span, splice } from '../exchange/json-scan.ts';
import { type Message, MODERN_REVISION } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { inTurns } from './in-turns.ts';
import { LISTS } from './list-of.ts';
import { listingLimit } from './listing-limit.ts';
import { REQUEST_TIMEOUT_MS } from './time-limits.ts';
import { TurnTools } from './turn-tools.ts';
import type { Turn } from './turn.ts';

/** What stands where a request names a resource that does not exist for its client. */
export interface HiddenUse {
  readonly uri: unknown;
}

/**
 * The first user interface of a tool which the session must not see, among those that requests use. Asks the upstream for
 * its tools only where they use one at all.
 */
export function hiddenUse(
  turn: Turn,
  record: SessionRecord,
  messages: readonly Message[],
): Promise<HiddenUse | undefined> | undefined {
  if (!turn.mount.surface.hidesTools) return undefined;
  let used: unknown[] | undefined;
  for (const message of messages) {
    for (const uri of urisIn(message, record.protocolVersion !== MODERN_REVISION))
      if (typeof uri !== 'string' || isUi(uri)) (used ??= []).push(uri);
  }
  return used && firstHidden(turn, record, used);
}

async function firstHidden(
  turn: Turn,
  record: SessionRecord,
  used: readonly unknown[],
): Promise<HiddenUse | undefined> {
  // Other parsers might find one.
  for (const uri of used) if (typeof uri !== 'string') return { uri };
  const hidden = await hiddenUi(turn, record);
  for (const uri of used as readonly string[]) if (hidden.has(uri)) return { uri };
  return undefined;
}

/** A resources/list result (JSON text) without the user interfaces of tools that the session must not see. */
export async function withoutHiddenUi(turn: Turn, record: SessionRecord, result: string): Promise<string> {
  if (!turn.mount.surface.hidesTools) return result;
  const span = locate(result, [LISTS.resources.member]);
  if (span === undefined) return result;
  const found = await inTurns(uiIn(result, span));
  if (found.length === 0) return result;
  const hidden = await hiddenUi(turn, record);
  const gone = found.filter(({ uris }) => uris.some((uri) => hidden.has(uri)));
  return gone.length === 0 ? result : splice(result, removals(result, gone));
}

async function hiddenUi(turn: Turn, record: SessionRecord): Promise<HiddenUi> {
  using limit = listingLimit(turn.incoming.reply, REQUEST_TIMEOUT_MS);
  return await turn.mount.surface.hiddenUi(new TurnTools(turn), record, limit.signal);
}

/** What stands where the resources belong that a request reads or wants to hear of. */
function urisIn(message: Message, isInSession: boolean): readonly unknown[] {
  if (message.kind !== 'request') return [];
  const { method, params } = message;
  if (method === 'resources/read') return [params['uri']];
  if (method === 'resources/subscribe') {
    // Without sessions there is no such method, and the upstream says so.
    return isInSession || typeof params['uri'] === 'string' ? [params['uri']] : [];
  }
  if (method !== 'subscriptions/listen') return [];
  const { resourceSubscriptions: uris } = Object(params['notifications']) as { resourceSubscriptions?: unknown };
  return Array.isArray(uris) ? uris : [];
}

function* uiIn(result: string, { start }: Span): Generator<void, (Span & { uris: string[] })[]> {
  const found: (Span & { uris: string[] })[] = [];
  for (const entry of elements(result, start)) {
    const uris: string[] = [];
    for (const { key, start: at, end } of members(result, entry.start)) {
      if (key === 'uri' && result.charAt(at) === '"') uris.push(JSON.parse(result.slice(at, end)) as string);
    }
    if (uris.some(isUi)) found.push({ ...entry, uris });
    yield;
  }
  return found;
}
