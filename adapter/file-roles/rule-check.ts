import type { AdapterEntry } from '../../crds/config/adapter-file/entry.ts';
import { argumentKeys } from '../../crds/config/adapter-file/file-rules.ts';
import { glob } from '../access/glob.ts';
import { schemaPath } from '../catalog/schema-path.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import { toolsIn } from '../tools/tools-in.ts';

/** What an entry of `adapters` asks for and the server does not have: a sentence that begins with the entry. */
export interface UnmatchedRule {
  readonly entry: number;
  readonly reason: 'no_tool' | 'no_argument';
  readonly message: string;
}

/** How many are told of one server. */
const MOST = 50;

/**
 * The entries whose tools a server does not list, and the arguments that their tools do not have.
 * @param list JSON text of a tools/list result without pages
 * @param most how many are told
 */
export function unmatchedRules(entries: readonly AdapterEntry[], list: string, most = MOST): UnmatchedRule[] {
  const schemas = schemasIn(list);
  return entries.flatMap((entry, index) => [...unmatched(entry, index, schemas)]).slice(0, most);
}

function* unmatched(
  entry: AdapterEntry,
  index: number,
  schemas: ReadonlyMap<string, string>,
): Generator<UnmatchedRule> {
  const at = `adapters[${index}]`;
  const tools = new Set<string>();
  for (const name of entry.tools) {
    const matches = [...schemas.keys()].filter(toolFits(entry, name));
    if (matches.length === 0) {
      yield { entry: index, reason: 'no_tool', message: `${at}: the server has no tool ${JSON.stringify(name)}` };
    }
    for (const tool of matches) tools.add(tool);
  }
  if (tools.size === 0) return;
  for (const argument of argumentsOf(entry)) {
    const keys = argumentKeys(argument);
    const has = (tool: string): boolean => schemaPath(schemas.get(tool) ?? '', keys, true).length === keys.length;
    if (![...tools].some(has)) {
      const quoted = JSON.stringify(argument);
      const problem =
        tools.size === 1
          ? `the tool ${[...tools].join('')} has no argument ${quoted}`
          : `none of its tools has an argument ${quoted}`;
      yield { entry: index, reason: 'no_argument', message: `${at}: ${problem}` };
    }
  }
}

/** Whether a tool is meant by a name in `tools` of this entry. */
export const toolFits = ({ type }: AdapterEntry, name: string): ((tool: string) => boolean) =>
  type === 'files' ? glob(name) : (tool) => tool === name;

export function argumentsOf(entry: AdapterEntry): readonly string[] {
  if (entry.type === 'files') return Object.keys(entry.arguments);
  const argument = entry.type === 'upload_consumer' ? entry.file_path_argument : entry.output_path_argument;
  return argument === null ? [] : [argument];
}

function schemasIn(list: string): Map<string, string> {
  const schemas = new Map<string, string>();
  for (const { name, start } of toolsIn(list)) {
    if (name === undefined) continue;
    const schema = locate(list, ['inputSchema'], start);
    const text = schema === undefined ? '{}' : list.slice(schema.start, schema.end);
    schemas.set(name, text);
  }
  return schemas;
}
