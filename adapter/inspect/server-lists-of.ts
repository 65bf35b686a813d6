import { conversing } from './conversation.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import { instructionsIn } from '../lock/instructions-in.ts';
import type { ServerLists } from '../lock/server-lists.ts';
import type { Mount } from '../mount/mount.ts';
import { LISTS, type ListOf } from '../tools/list-of.ts';
import { entriesOf } from '../tools/list-tools.ts';

/**
 * What an upstream says that a lock counts, in its own words: nothing of it is cleaned or hidden. Prompts and templates are
 * asked for where it says that it has them, as clients do. Rejects as `conversing` does.
 */
export const serverListsOf = (mount: Mount, timeoutMs: number): Promise<ServerLists> =>
  conversing(mount, { timeoutMs, wanted: 'list all of it' }, async ({ greeting, list }) => {
    const said = await greeting();
    const entries = async (of: ListOf): Promise<string[]> => entriesOf(await list(of), of);
    return {
      tools: await entries(LISTS.tools),
      prompts: declares(said, 'prompts') ? await entries(LISTS.prompts) : [],
      resourceTemplates: declares(said, 'resources') ? await entries(LISTS.templates) : [],
      instructions: instructionsIn(said),
    };
  });

function declares(greeting: string, capability: string): boolean {
  const span = locate(greeting, ['capabilities', capability]);
  return span !== undefined && !['null', 'false'].includes(greeting.slice(span.start, span.end));
}
