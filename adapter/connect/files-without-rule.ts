import type { AdapterEntry } from '../../crds/config/adapter-file/entry.ts';
import { argumentKeys } from '../../crds/config/adapter-file/file-rules.ts';
import { argumentsOf, toolFits } from '../file-roles/rule-check.ts';
import type { ListedTool } from '../suggest/listed-tool.ts';
import { suggestRoles } from '../suggest/suggest-roles.ts';
import { toolArguments } from '../suggest/tool-arguments.ts';

/** A server may have any number of tools. Each argument is looked at beside the others of its tool; all takes two seconds. */
const MAX_TOOLS = 500;
const MAX_PAIRS = 250_000;

/** An argument that is clearly a file, by the rules of `suggest`, and of which no entry says so. */
export interface FileWithoutRule {
  readonly tool: string;
  readonly argument: string;
}

/** Of a list that no people have made only the first tools are looked at. */
export function filesWithoutRule(entries: readonly AdapterEntry[], tools: readonly ListedTool[]): FileWithoutRule[] {
  const rules = entries.map((entry) => ({
    fits: entry.tools.map((name) => toolFits(entry, name)),
    // A producer may find its file in the result.
    isForAll: entry.type === 'artifact_producer',
    paths: new Set(argumentsOf(entry).map(pathOf)),
  }));
  return suggestRoles(firstOf(tools)).suggestions.flatMap(({ tool, argument, unsure }) => {
    const isMet = rules.some(
      ({ fits, isForAll, paths }) => (isForAll || paths.has(pathOf(argument))) && fits.some((fit) => fit(tool)),
    );
    return isMet || unsure !== undefined ? [] : [{ tool, argument }];
  });
}

const pathOf = (argument: string): string => argumentKeys(argument).join('.');

function firstOf(tools: readonly ListedTool[]): readonly ListedTool[] {
  let pairs = 0;
  const over = tools.findIndex(({ inputSchema }, index) => {
    if (index === MAX_TOOLS) return true;
    pairs += toolArguments(inputSchema).length ** 2;
    return pairs > MAX_PAIRS;
  });
  return over === -1 ? tools : tools.slice(0, over);
}
