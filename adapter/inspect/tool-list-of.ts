import { conversing } from './conversation.ts';
import type { Mount } from '../mount/mount.ts';
import { LISTS } from '../tools/list-of.ts';
import { toolsIn } from '../tools/tools-in.ts';

const TIMEOUT_MS = 20_000;

/** What an upstream says of itself. */
export interface ListedTools {
  /** In its words. */
  readonly revision: string;
  /** All its tools as one `tools/list` result (JSON text), in its order. */
  readonly list: string;
}

/** The list alone, of an upstream that may take 20 seconds. */
export const toolListOf = async (mount: Mount): Promise<string> => (await listedTools(mount, TIMEOUT_MS)).list;

/** Asks an upstream for its tools, as `conversing` does. */
export const listedTools = (mount: Mount, timeoutMs: number): Promise<ListedTools> =>
  conversing(mount, { timeoutMs, wanted: 'list its tools' }, async ({ revision, list }) => ({
    revision,
    list: await list(LISTS.tools),
  }));

/** The names in a `tools/list` result (JSON text), in its order; '' for what has none. */
export function toolNamesIn(list: string): string[] {
  return Array.from(toolsIn(list), ({ name = '' }) => name);
}
