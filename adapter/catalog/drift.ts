import { members, splice } from '../exchange/scanning/json-scan.ts';
import { pinnedTools } from './baseline.ts';
import type { Baseline, PinnedTool } from './baseline.ts';
import { TOOL_FIELDS } from './canonical-tool.ts';
import { insertMember } from './insert-member.ts';

/** How the tools of an upstream differ from those that a session is pinned to. Names are the upstream's words. */
export interface Drift {
  readonly changed: readonly ChangedTool[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export interface ChangedTool {
  readonly name: string;
  /** None where it is not known what changed. */
  readonly fields: readonly string[];
}

/** Of each kind, in a preview. */
const MAX_NAMED = 10;
/** Of each kind, in the data of an error. */
const MAX_IN_DATA = 100;
const MAX_NAME_CHARS = 64;

const NEW_TOOL = 'WARNING: this tool is new: it was not there when this session saw the tools first.';

/**
 * Undefined when nothing has changed. A renamed tool is a removed and a new one. Where only the fingerprint of what is
 * pinned is known, every tool counts as changed: none of them can be trusted.
 */
export function driftBetween(pinned: Baseline, current: Baseline): Drift | undefined {
  if (pinned.fingerprint === current.fingerprint) return undefined;
  const now = byName(pinnedTools(current) ?? []);
  const before = pinnedTools(pinned);
  if (before === undefined) {
    return { changed: Array.from(now.keys(), (name) => ({ name, fields: [] })), added: [], removed: [] };
  }
  const then = byName(before);
  const changed: ChangedTool[] = [];
  const added: string[] = [];
  for (const [name, tools] of now) {
    const earlier = then.get(name);
    if (earlier === undefined) {
      added.push(name);
      continue;
    }
    const fields = changedFields(earlier, tools);
    if (fields !== undefined) changed.push({ name, fields });
  }
  return { changed, added, removed: [...then.keys()].filter((name) => !now.has(name)) };
}

const byName = (tools: readonly PinnedTool[]): Map<string, PinnedTool[]> => Map.groupBy(tools, ({ name }) => name);

/** What differs between tools of one name, of which there is usually one; undefined when nothing does. */
function changedFields(then: readonly PinnedTool[], now: readonly PinnedTool[]): string[] | undefined {
  const [gone, come] = [without(then, now), without(now, then)];
  if (gone.length + come.length === 0) return undefined;
  const fields = new Set<string>();
  for (const [i, before] of gone.entries()) {
    const after = come[i];
    for (const field of TOOL_FIELDS) {
      if (after !== undefined && before.fields.get(field) !== after.fields.get(field)) fields.add(field);
    }
  }
  // Another tool has taken, or given up, the same name.
  if (gone.length !== come.length || fields.size === 0) fields.add('name');
  return TOOL_FIELDS.filter((field) => fields.has(field));
}

/** The tools that are not among the others, each of which stands for one. */
function without(tools: readonly PinnedTool[], others: readonly PinnedTool[]): PinnedTool[] {
  const left = new Map<string, number>();
  for (const { hash } of others) left.set(hash, (left.get(hash) ?? 0) + 1);
  return tools.filter(({ hash }) => {
    const count = left.get(hash) ?? 0;
    left.set(hash, count - 1);
    return count <= 0;
  });
}

/** `changed=name[field,field], …; new=…; removed=…`, fit for a log and for a model: names are cleaned and few. */
export function previewOf({ changed, added, removed }: Drift): string {
  const parts = [
    some('changed', changed, ({ name, fields }) => {
      return fields.length === 0 ? cleanName(name) : `${cleanName(name)}[${fields.join(',')}]`;
    }),
    some('new', added, cleanName),
    some('removed', removed, cleanName),
  ];
  return parts.filter((part) => part !== '').join('; ');
}

/** What an error says of a drift beside its words. Names are cleaned, and there are at most 100 of each kind. */
export function dataOf({ changed, added, removed }: Drift): Record<'changed' | 'new' | 'removed', readonly unknown[]> {
  const some = <T, U>(all: readonly T[], data: (one: T) => U): readonly U[] => all.slice(0, MAX_IN_DATA).map(data);
  return {
    changed: some(changed, ({ name, fields }) => ({ name: cleanName(name), fields })),
    new: some(added, cleanName),
    removed: some(removed, cleanName),
  };
}

function some<T>(kind: string, all: readonly T[], text: (one: T) => string): string {
  if (all.length === 0) return '';
  const named = all.slice(0, MAX_NAMED).map(text).join(', ');
  return `${kind}=${named}${all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : ''}`;
}

/**
 * A name without what could pass for anything else: letters, digits and `_-./` stay, any run of other characters is one
 * `?`. Cut after 64 characters.
 */
/** Fit for a log and for a model. */
export function cleanName(name: string): string {
  const start = name.slice(0, 4 * MAX_NAME_CHARS);
  const characters = Array.from(start.replaceAll(/(?:[^\p{L}\p{N}_\-./]|\p{Default_Ignorable_Code_Point})+/gu, '?'));
  const isCut = characters.length > MAX_NAME_CHARS || start.length < name.length;
  return (characters.slice(0, MAX_NAME_CHARS).join('') || '?') + (isCut ? '…' : '');
}

/** What clients are told in the descriptions of tools. */
export interface DriftWarning {
  readonly ofAll: string;
  /** What is so about one tool, by its name. */
  readonly ofTool: ReadonlyMap<string, string>;
}

/** Every tool of a list asks for the same. */
const warnings = new WeakMap<Drift, DriftWarning>();

/**
 * The definition (JSON text) with a warning before its description: that tools have changed, and what is so about this
 * one. Where there is no text, the warning is the description. Whatever else stands there stays byte for byte.
 */
export function withWarning(tool: string, name: string, drift: Drift): string {
  const { ofAll, ofTool } = warningOf(drift);
  const own = ofTool.get(name);
  const warning = own === undefined ? ofAll : `${ofAll}\n${own}`;
  return withWarningText(tool, 'description', warning);
}

/** An object (JSON text) with a warning before the text of this member. */
export function withWarningText(object: string, member: string, warning: string): string {
  if (!object.trimStart().startsWith('{')) return object;
  // Of several, parsers differ on which counts.
  const edits = Array.from(members(object))
    .filter(({ key }) => key === member)
    .map(({ start, end }) =>
      object[start] === '"'
        ? { start, end: start + 1, with: JSON.stringify(`${warning}\n`).slice(0, -1) }
        : { start, end, with: JSON.stringify(warning) },
    );
  if (edits.length > 0) return splice(object, edits);
  return splice(object, [insertMember(object, { start: 0, end: object.length }, member, JSON.stringify(warning))]);
}

export function warningOf(drift: Drift): DriftWarning {
  let warning = warnings.get(drift);
  if (warning === undefined) {
    const ofTool = new Map(drift.added.map((name) => [name, NEW_TOOL]));
    for (const { name, fields } of drift.changed) {
      const what = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
      ofTool.set(name, `WARNING: the definition of this tool has changed${what}.`);
    }
    // No names: an upstream would have its words at the beginning of every description.
    const counts = [
      [drift.changed.length, 'changed'],
      [drift.added.length, 'new'],
      [drift.removed.length, 'removed'],
    ] as const;
    const some = counts.flatMap(([count, what]) => (count === 0 ? [] : `${count} ${what}`)).join(', ');
    const ofAll = `WARNING: the tools of this server have changed since this session saw them first: ${some}.`;
    warning = { ofAll, ofTool };
    warnings.set(drift, warning);
  }
  return warning;
}
