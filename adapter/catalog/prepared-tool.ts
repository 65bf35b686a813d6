import { locate, withoutMember } from '../exchange/scanning/json-scan.ts';
import { type Pin, pinOf } from './baseline.ts';
import { type Catalog, isOwnTool } from './catalog.ts';
import { uiOf } from './ui-resources.ts';

/** What becomes of one definition (JSON text) of an upstream; it depends on nothing but the definition. */
export interface PreparedTool {
  /** Undefined where it has none, and nothing is said about it then. */
  readonly name: string | undefined;
  /** `disabled`: clients never see it, for reasons that are not its own. `blocked`: because of what it says, or how much, or that it names no tool. */
  readonly fate: 'shown' | 'disabled' | 'blocked';
  /** The definition, clean: what is pinned. Undefined where it is the upstream's as it is. */
  readonly clean: string | undefined;
  /** The same with what the adapter adds; undefined where that is nothing. */
  readonly shown: string | undefined;
  /** Of those that are shown, where tools are pinned. */
  readonly pin: Pin | undefined;
  /** Where its text was, or would have to be, cleaned: paths in the definition; or that it is too long. */
  readonly cleaned: readonly string[];
  /** The `ui://` resources that it names. */
  readonly ui: readonly string[];
}

/** It is worked on in one go, and no model reads that much about one tool. */
export const MAX_DEFINITION_CHARS = 1 << 20;
const NOTHING_CLEANED: readonly string[] = [];
const NO_NAME: readonly string[] = ['no name'];
const TOO_LONG: readonly string[] = [`longer than ${MAX_DEFINITION_CHARS} characters`];

export function prepareTool(definition: string, catalog: Catalog, isPinned: boolean): PreparedTool {
  const name = nameOf(definition);
  const ui = uiOf(definition);
  const hidden = { name, clean: undefined, shown: undefined, pin: undefined, cleaned: NOTHING_CLEANED, ui };
  // Whatever it is, it is no tool.
  if (name === undefined) return { ...hidden, fate: 'blocked', cleaned: NO_NAME };
  if (catalog.disabled.matches(name) || isOwnTool(catalog, name)) return { ...hidden, fate: 'disabled' };
  if (definition.length > MAX_DEFINITION_CHARS) return { ...hidden, fate: 'blocked', cleaned: TOO_LONG };
  const { text, modified } = catalog.clean?.(definition) ?? { text: definition, modified: NOTHING_CLEANED };
  if (text === undefined) return { ...hidden, fate: 'blocked', cleaned: modified };
  const kept = catalog.dropsSchema?.(name) === true ? withoutMember(text, 'outputSchema') : text;
  const shown = catalog.transforms.get(name)?.(kept) ?? kept;
  return {
    name,
    fate: 'shown',
    clean: text === definition ? undefined : copied(text),
    shown: shown === text ? undefined : copied(shown),
    pin: isPinned ? pinOf(text) : undefined,
    cleaned: modified,
    ui,
  };
}

/** A part of a text keeps all of it in memory. */
export function copied(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

function nameOf(tool: string): string | undefined {
  const name = locate(tool, ['name']);
  if (tool.charAt(0) !== '{' || name === undefined || tool.charAt(name.start) !== '"') return undefined;
  return JSON.parse(tool.slice(name.start, name.end)) as string;
}
