import type { ListedTool } from '../text/listed-tool.ts';

/** The tag of tools that have none. */
const UNTAGGED = 'untagged';

export type TagGroup = readonly [tag: string, tools: readonly ListedTool[]];

/** By tag, sorted, with its tools; those without tags last. */
export function tagGroups(tools: readonly ListedTool[]): readonly TagGroup[] {
  const groups = new Map<string, ListedTool[]>();
  for (const tool of tools) {
    for (const tag of tagsOf(tool)) {
      const group = groups.get(tag);
      if (group === undefined) groups.set(tag, [tool]);
      else group.push(tool);
    }
  }
  return [...groups].sort(([a], [b]) => Number(a === UNTAGGED) - Number(b === UNTAGGED) || (a < b ? -1 : 1));
}

/** With one for tools that have none. */
export function tagsOf(tool: ListedTool): readonly string[] {
  return tool.tags.length === 0 ? [UNTAGGED] : tool.tags;
}

/** Case does not count. */
export function folded(tag: string): string {
  return tag.trim().toLowerCase();
}
