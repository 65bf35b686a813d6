import type { Access } from '../access/access.ts';
import { callOf } from '../access/wishes.ts';
import { type Catalog, isOwnTool, listedOwn } from '../catalog/catalog.ts';
import { prepareTool } from '../catalog/prepared-tool.ts';
import { hasInvisible, withEscapes } from '../catalog/visible-text.ts';
import { elements, locate } from '../exchange/scanning/json-scan.ts';
import { LockedList, type LockRules } from '../lock/locked-list.ts';
import { compareServer } from '../lock/compare.ts';

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
  /** What the tool lock says of the server; undefined without a lock. */
  readonly lock?: LockRules | undefined;
}

/**
 * What clients see of each tool, and why not.
 * @param result JSON text of the upstream's tools/list result
 */
export function toolReport(result: string, rules: ToolRules): readonly ReportedTool[] {
  const { catalog, access } = rules;
  const locked = lockReasons(result, rules.lock);
  const upstream = Array.from(elements(result, locate(result, ['tools'])?.start), ({ start, end }) => {
    const definition = result.slice(start, end);
    const given = prepareTool(definition, catalog, false).name ?? '';
    const why = whyHidden(definition, rules) ?? locked.hidden(given);
    const name = withEscapes(given);
    if (why !== undefined) return { name, seen: 'hidden', why, from: 'upstream' } as const;
    const marked = locked.marked(given);
    const marks = marked === undefined ? {} : { why: marked };
    if (catalog.instead === undefined) return { name, seen: 'listed', ...marks, from: 'upstream' } as const;
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
  const removed = locked.removed.map(
    (name) =>
      ({
        name: withEscapes(name),
        seen: 'hidden',
        why: 'tool lock: the server does not list it',
        from: 'upstream',
      }) as const,
  );
  return [...upstream, ...removed, ...own];
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

/** What a lock has to do with tools, by their names. */
function lockReasons(result: string, lock: LockRules | undefined) {
  if (lock === undefined) return { hidden: () => undefined, marked: () => undefined, removed: [] };
  const spans = [...elements(result, locate(result, ['tools'])?.start)];
  const tools = spans.map(({ start, end }) => result.slice(start, end));
  const lists = { tools, prompts: [], resourceTemplates: [], instructions: undefined };
  const compared = compareServer(lists, lock.server).tools;
  const list = new LockedList(result, spans, compared, lock);
  const differing = new Map(compared.entries.map(({ name, fields }) => [name, fields]));
  const differs = (fields: readonly string[]): string => `tool lock: differs in ${fields.join(', ')}`;
  return {
    hidden: (name: string): string | undefined => {
      const refusal = list.refusal(name);
      if (refusal === undefined) return undefined;
      return refusal === 'unknown' ? 'tool lock: it does not name the tool' : differs(refusal.drifted);
    },
    marked: (name: string): string | undefined => {
      const fields = differing.get(name) ?? [];
      return lock.mode === 'audit' && fields.length > 0 ? `${differs(fields)} (audit)` : undefined;
    },
    removed: compared.removed,
  };
}

const MAX_PATHS = 5;
const paths = (all: readonly string[]): string =>
  `${all.slice(0, MAX_PATHS).map(withEscapes).join(', ')}${all.length > MAX_PATHS ? ', …' : ''}`;
