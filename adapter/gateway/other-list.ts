import type { ListKind } from '../catalog/list-cleaning.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { askList } from './ask-list.ts';
import { firstSeen } from './first-seen.ts';
import { LISTS, type ListName } from './list-of.ts';
import { withoutHiddenUi } from './hidden-ui.ts';
import { hasMore, wholeList } from './list-tools.ts';
import { listingLimit } from './listing-limit.ts';
import { REQUEST_TIMEOUT_MS } from './time-limits.ts';
import type { Page } from './tool-surface.ts';
import type { Mount } from './mount.ts';
import type { ToolSource } from './tool-source.ts';

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
  mount: Pick<Mount, 'texts' | 'surface'>,
  source: ToolSource,
  record: SessionRecord,
  name: OtherList,
  result: string,
  page: Page,
): Promise<string> {
  const shown = mount.texts.any ? await cleanAndPinned(mount.texts, source, record, name, result, page) : result;
  return name === 'resources' ? withoutHiddenUi(mount.surface, source, record, shown) : shown;
}

async function cleanAndPinned(
  texts: Mount['texts'],
  source: ToolSource,
  record: SessionRecord,
  name: OtherList,
  result: string,
  page: Page,
): Promise<string> {
  const kind = ENTRIES[name];
  const first = firstSeen(texts, source, record);
  const isFirst = page === 'first';
  const isPart = !isFirst || hasMore(result);
  if (first === undefined || !isPart) return texts.shown(kind, result, first);
  const whole = async (): Promise<string> => {
    using limit = listingLimit(source.signal, REQUEST_TIMEOUT_MS);
    return isFirst
      ? wholeList(source.request(record), limit.signal, result, LISTS[name])
      : askList(source, record, limit.signal, LISTS[name]);
  };
  return texts.shown(kind, result, first, whole);
}
