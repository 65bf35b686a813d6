import type { ListKind } from '../catalog/list-cleaning.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { askList } from '../tools/ask-list.ts';
import { firstSeen } from './first-seen.ts';
import { LISTS, type ListName } from '../tools/list-of.ts';
import { withoutHiddenUi } from './hidden-ui.ts';
import { hasMore, wholeList } from '../tools/list-tools.ts';
import { listingLimit } from '../tools/listing-limit.ts';
import { REQUEST_TIMEOUT_MS } from '../path/time-limits.ts';
import type { Page, VisibleCatalog } from '../tools/visible/visible-catalog.ts';
import type { ServerTexts } from './server-texts.ts';
import { visibleEntries } from './visible-entries.ts';
import type { ToolSource } from '../tools/tool-source.ts';

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
  mount: { readonly texts: ServerTexts; readonly visibleCatalog: VisibleCatalog },
  source: ToolSource,
  record: SessionRecord,
  name: OtherList,
  result: string,
  page: Page,
): Promise<string> {
  const shown = mount.texts.any ? await cleanAndPinned(mount.texts, source, record, name, result, page) : result;
  const allowed = source.access === undefined ? shown : await visibleEntries(name, shown, source.access);
  return name === 'resources' ? withoutHiddenUi(mount.visibleCatalog, source, record, allowed) : allowed;
}

async function cleanAndPinned(
  texts: ServerTexts,
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
