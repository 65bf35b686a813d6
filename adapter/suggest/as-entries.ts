import type { Suggestion } from './suggestion.ts';

/** Tools whose arguments have the same roles: one entry of type `files`. */
export interface SuggestedEntry {
  /** Arguments with their suggestion for each tool, in the order of the tools. */
  readonly arguments: ReadonlyMap<string, readonly Suggestion[]>;
  readonly tools: readonly string[];
}

/** The entries for suggestions, in the order in which their first tools are listed. */
export function asEntries(suggestions: readonly Suggestion[]): SuggestedEntry[] {
  const byTool = Map.groupBy(suggestions, ({ tool }) => tool);
  const groups = Map.groupBy(byTool.values(), (ofTool) => {
    const roles = ofTool.map(({ argument, role, as }) => JSON.stringify([argument, role, as]));
    return roles.toSorted().join('\n');
  });
  return Array.from(groups.values(), (tools) => ({
    tools: tools.flatMap(([first]) => (first === undefined ? [] : [first.tool])),
    arguments: Map.groupBy(tools.flat(), ({ argument }) => argument),
  }));
}
