import type { ListKind } from '../catalog/list-cleaning.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { askList } from './ask-list.ts';
import { firstSeen } from './first-seen.ts';
import { LISTS, type ListName } from './list-of.ts';
import { withoutHiddenUi } from './hidden-ui.ts';
import { hasMore, wholeList } from './list-tools.ts';
import { listingFor } from './listing-for.ts';
import { listingLimit } from './listing-limit.ts';
import { REQUEST_TIMEOUT_MS } from './time-limits.ts';
import type { Page } from './tool-surface.ts';
import { TurnTools } from './turn-tools.ts';
import type { Turn } from './turn.ts';

export type OtherList = Exclude<ListName, 'tools'>;

const ENTRIES = { prompts: 'prompt', resources: 'resource', templates: 'template' } as const satisfies Record<
  OtherList,
  ListKind
>;

/**
 * What clients see of a list that is not of tools (JSON texts of results), in the upstream's pages. Who has seen nothing of
 * it yet is pinned to all of it, whichever page comes first.
 */
export async function otherList(
  turn: Turn,
  record: SessionRecord,
  name: OtherList,
  result: string,
  page: Page,
): Promise<string> {
  const shown = turn.mount.texts.any ? await cleanAndPinned(turn, record, name, result, page) : result;
  return name === 'resources' ? withoutHiddenUi(turn, record, shown) : shown;
}

async function cleanAndPinned(
  turn: Turn,
  record: SessionRecord,
  name: OtherList,
  result: string,
  page: Page,
): Promise<string> {
  const { texts } = turn.mount;
  const kind = ENTRIES[name];
  const first = firstSeen(turn, record);
  const isFirst = page === 'first';
  const isPart = !isFirst || hasMore(result);
  if (first === undefined || !isPart) return texts.shown(kind, result, first);
  const whole = async (): Promise<string> => {
    using limit = listingLimit(turn.incoming.reply, REQUEST_TIMEOUT_MS);
    return isFirst
      ? wholeList(listingFor(turn, record), limit.signal, result, LISTS[name])
      : askList(new TurnTools(turn), record, limit.signal, LISTS[name]);
  };
  return texts.shown(kind, result, first, whole);
}
