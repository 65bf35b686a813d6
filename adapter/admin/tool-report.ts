import type { Access } from '../access/access.ts';
import { callOf } from '../access/wishes.ts';
import { type Catalog, isOwnTool, listedOwn } from '../catalog/catalog.ts';
import { prepareTool } from '../catalog/prepared-tool.ts';
import { hasInvisible, withEscapes } from '../catalog/visible-text.ts';
import { elements, locate } from '../exchange/scanning/json-scan.ts';

/** One tool, and what clients see of it. */
export interface ReportedTool {
  readonly name: string;
  /** `listed`; `found`: not listed, but code mode finds and calls it; `hidden`: neither listed nor callable. */
  readonly seen: 'listed' | 'found' | 'hidden';
  /** Why it is not listed; undefined where it is. */
  readonly why?: string;
  /** `upstream`, or `adapter` for those that the adapter adds. */
  readonly from: 'upstream' | 'adapter';
}

export interface ToolRules {
  readonly catalog: Catalog;
  /** Tools whose names have invisible characters do not exist for clients. */
  readonly hidesUnseen: boolean;
  /** What the asked caller may do; undefined: everything. */
  readonly access: Access | undefined;
}

/**
 * What clients see of each tool, and why not.
 * @param result JSON text of the upstream's tools/list result
 */
export function toolReport(result: string, rules: ToolRules): readonly ReportedTool[] {
  const { catalog, access } = rules;
  const upstream = Array.from(elements(result, locate(result, ['tools'])?.start), ({ start, end }) => {
    const definition = result.slice(start, end);
    const why = whyHidden(definition, rules);
    const name = withEscapes(prepareTool(definition, catalog, false).name ?? '');
    if (why !== undefined) return { name, seen: 'hidden', why, from: 'upstream' } as const;
    if (catalog.instead === undefined) return { name, seen: 'listed', from: 'upstream' } as const;
    return {
      name,
      seen: 'found',
      why: 'code_mode_enabled: listed are the tools that find it',
      from: 'upstream',
    } as const;
  });
  const own = listedOwn(catalog)
    .filter(({ wish }) => access === undefined || wish === undefined || access.shows(wish))
    .map(({ name }) => ({ name, seen: 'listed', from: 'adapter' }) as const);
  return [...upstream, ...own];
}

function whyHidden(definition: string, { catalog, hidesUnseen, access }: ToolRules): string | undefined {
  const { name, fate, cleaned } = prepareTool(definition, catalog, false);
  if (name === undefined) return 'it has no name';
  if (catalog.disabled.matches(name)) return 'disabled_tools';
  if (isOwnTool(catalog, name)) return 'a tool of the adapter has this name';
  if (fate === 'blocked') return `tool_metadata_sanitization: its text is not fit for a model (${paths(cleaned)})`;
  if (hidesUnseen && hasInvisible(name)) return 'tool_metadata_sanitization: its name has invisible characters';
  const decision = access?.decide(callOf(name));
  if (decision === undefined || decision.outcome === 'allowed' || decision.scope !== undefined) return undefined;
  return decision.rule === undefined ? 'access: default' : `access: rules[${decision.rule}]`;
}

const MAX_PATHS = 5;
const paths = (all: readonly string[]): string =>
  `${all.slice(0, MAX_PATHS).map(withEscapes).join(', ')}${all.length > MAX_PATHS ? ', …' : ''}`;
