import { removals } from '../catalog/removals.ts';
import { type HiddenUi, isUi } from '../catalog/ui-resources.ts';
import { elements, locate, members, type Span, splice } from '../exchange/scanning/json-scan.ts';
import type { Message } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { yieldToEventLoop } from '../../lib/stream/yield-to-event-loop.ts';
import { LISTS } from '../tools/list-of.ts';
import { listingLimit } from '../tools/listing-limit.ts';
import { REQUEST_TIMEOUT_MS } from '../path/time-limits.ts';
import type { ToolSource } from '../tools/tool-source.ts';
import type { VisibleCatalog } from '../tools/visible/visible-catalog.ts';

/** What stands where a request names a resource that does not exist for its client. */
export interface HiddenUse {
  readonly uri: unknown;
}

/** What stands where requests name user interfaces of tools: URIs, or what is no text, in which other parsers might find one. */
export function usedUis(messages: readonly Message[], isInSession: boolean): readonly unknown[] {
  let used: unknown[] | undefined;
  for (const message of messages) {
    for (const uri of urisIn(message, isInSession)) if (typeof uri !== 'string' || isUi(uri)) (used ??= []).push(uri);
  }
  return used ?? NONE;
}

const NONE: readonly unknown[] = [];

/** The first of them that the session must not see. Asks the upstream for its tools. */
export async function hiddenUse(
  visibleCatalog: Pick<VisibleCatalog, 'hiddenUi'>,
  source: ToolSource,
  record: SessionRecord,
  used: readonly unknown[],
): Promise<HiddenUse | undefined> {
  for (const uri of used) if (typeof uri !== 'string') return { uri };
  const hidden = await hiddenUi(visibleCatalog, source, record);
  for (const uri of used as readonly string[]) if (hidden.has(uri)) return { uri };
  return undefined;
}

/** A resources/list result (JSON text) without the user interfaces of tools that the session must not see. */
export async function withoutHiddenUi(
  visibleCatalog: Pick<VisibleCatalog, 'hidesTools' | 'hiddenUi'>,
  source: ToolSource,
  record: SessionRecord,
  result: string,
): Promise<string> {
  if (!visibleCatalog.hidesTools && source.access === undefined) return result;
  const span = locate(result, [LISTS.resources.member]);
  if (span === undefined) return result;
  const found = await yieldToEventLoop(uiIn(result, span));
  if (found.length === 0) return result;
  const hidden = await hiddenUi(visibleCatalog, source, record);
  const gone = found.filter(({ uris }) => uris.some((uri) => hidden.has(uri)));
  return gone.length === 0 ? result : splice(result, removals(result, gone));
}

async function hiddenUi(
  visibleCatalog: Pick<VisibleCatalog, 'hiddenUi'>,
  source: ToolSource,
  record: SessionRecord,
): Promise<HiddenUi> {
  using limit = listingLimit(source.signal, REQUEST_TIMEOUT_MS);
  return await visibleCatalog.hiddenUi(source, record, limit.signal);
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
