import type { Access } from '../access/access.ts';
import { promptOf, readingOf, type Wish } from '../access/wishes.ts';
import { removals } from '../catalog/removals.ts';
import { elements, locate, members, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { LISTS, type ListName } from '../tools/list-of.ts';
import { yieldToEventLoop } from '../../lib/stream/yield-to-event-loop.ts';

type Entries = Exclude<ListName, 'tools'>;

/** By what an entry of each list is used. */
const USES: Readonly<Record<Entries, { readonly member: string; readonly wish: (name: string) => Wish }>> = {
  prompts: { member: 'name', wish: promptOf },
  resources: { member: 'uri', wish: readingOf },
  templates: { member: 'uriTemplate', wish: readingOf },
};

/** A list's result (JSON text) without the entries that the caller must not see. */
export async function visibleEntries(list: Entries, result: string, access: Access): Promise<string> {
  const span = locate(result, [LISTS[list].member]);
  if (span === undefined) return result;
  const hidden = await yieldToEventLoop(hiddenIn(list, result, span, access));
  return hidden.length === 0 ? result : splice(result, removals(result, hidden));
}

/** An entry that names itself twice is shown only under two names that are both allowed. */
function* hiddenIn(list: Entries, result: string, { start }: Span, access: Access): Generator<void, Span[]> {
  const { member, wish } = USES[list];
  const hidden: Span[] = [];
  for (const entry of elements(result, start)) {
    const names: unknown[] = [];
    for (const { key, start: at, end } of members(result, entry.start)) {
      if (key === member) names.push(JSON.parse(result.slice(at, end)));
    }
    const isShown = names.length > 0 && names.every((name) => typeof name === 'string' && access.shows(wish(name)));
    if (!isShown) hidden.push(entry);
    yield;
  }
  return hidden;
}
