import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { dottedPath } from '../../crds/config/load/problem.ts';
import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { toolFits, unmatchedRules } from '../file-roles/rule-check.ts';
import { listedTool } from '../suggest/listed-tool.ts';
import { filesWithoutRule, type FileWithoutRule } from './files-without-rule.ts';
import { unmetNames } from './unmet-names.ts';

/** What the file and the tools of one server say of each other; names in it may be those of the server. */
export interface ServerChecks {
  readonly tools: number;
  /** Entries of `adapters` that do not fit: sentences that begin with their place in the file. */
  readonly problems: readonly string[];
  /** What may be meant so, in the same form. */
  readonly warnings: readonly string[];
  readonly filesWithoutRule: readonly FileWithoutRule[];
}

/**
 * @param index of the server in the file
 * @param list JSON text of a tools/list result without pages
 * @throws JsonLimitError
 */
export function serverChecks(
  config: Pick<AdapterConfig, 'core' | 'servers'>,
  index: number,
  list: string,
): ServerChecks {
  const server = config.servers[index];
  if (server === undefined) throw new RangeError('no such server');
  const at = ['servers', index];
  const { tools } = parseJson(list, ANSWER_LIMITS) as { readonly tools: readonly unknown[] };
  const listed = tools.flatMap((tool) => listedTool(tool) ?? []);
  const names = listed.map(({ name }) => name);
  const isHidden = disabledTools(server.disabled_tools, config.core.invalid_patterns === 'hide_all').matches;
  const unmatched = unmatchedRules(server.adapters, list, Infinity);
  const hidden = server.adapters.flatMap((entry, i) => {
    const met = names.filter((tool) => entry.tools.some((name) => toolFits(entry, name)(tool)));
    if (met.length === 0 || !met.every(isHidden)) return [];
    return [`${dottedPath([...at, 'adapters', i])} changes nothing: disabled_tools hides all of its tools`];
  });
  return {
    tools: listed.length,
    problems: unmatched.map(({ message }) => `${dottedPath(at)}.${message}`),
    warnings: [...hidden, ...unmetNames(server, at, names)],
    filesWithoutRule: filesWithoutRule(
      effectiveServer(config, server).adapters,
      listed.filter(({ name }) => !isHidden(name)),
    ),
  };
}
