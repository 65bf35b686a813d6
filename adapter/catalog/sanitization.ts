import type { ToolMetadataSanitization } from '../../crds/config/adapter-file/core.ts';
import { splice } from '../exchange/scanning/json-scan.ts';
import { type DefinitionText, definitionTexts, type TextEdit } from './definition-texts.ts';
import type { DefinitionKind } from './text-meanings.ts';
import { withoutUnseen } from './unseen-data.ts';
import { hasInvisible, visibleText, withEscapes } from './visible-text.ts';

export interface Sanitized {
  readonly text: string;
  /** Where something was, or would have to be changed, for a log: `description`, `inputSchema.properties.a.title`. */
  readonly modified: readonly string[];
  /** What cannot be changed holds what nobody sees: no client may see the definition at all. */
  readonly isUnfit: boolean;
}

/** Longest name of a tool, in characters (MCP 2025-11-25, "Tool Names"). */
const LONGEST_NAME = 128;
/** Semaphore that are named; of more there is a count. */
const MOST_NAMED = 20;
/** In a JSON string without it, nothing but the length can be wrong. */
const UNUSUAL = /[^ -~]|\\[bfu]/;

/**
 * A definition (JSON text) with its texts as `core.tool_metadata_sanitization` wants them; everything else stays byte for
 * byte, but for data that holds invisible characters (see `withoutUnseen`). Titles and descriptions are treated, those of
 * every schema too; HTML and Markdown stay, one sees them. A name is what clients call, so it stays as well, but it counts
 * as modified when it is too long, and makes the definition unfit when it holds invisible characters. The longest texts
 * are limited for tools only. With mode `block`, what has anything modified is to be hidden.
 */
export function sanitizeDefinition(
  definition: string,
  rules: ToolMetadataSanitization,
  kind: DefinitionKind = 'tool',
): Sanitized {
  if (rules.mode === 'off') return { text: definition, modified: [], isUnfit: false };
  const seen = rules.remove_invisible_characters ? withoutUnseen(definition, kind) : undefined;
  const { text, places: unseen, isUnfit } = seen ?? { text: definition, places: [], isUnfit: false };
  const edits: TextEdit[] = [];
  const places = [...unseen];
  let isNameUnfit = false;
  for (const found of definitionTexts(text, kind)) {
    if (found.key !== 'name') {
      if (edit(text, found, rules, edits)) places.push(found.path);
      continue;
    }
    const name = stringAt(text, found) ?? '';
    const isUnseen = rules.remove_invisible_characters && hasInvisible(name);
    if (isUnseen) isNameUnfit = true;
    if (isUnseen || (found.of === 'tool' && name.length > LONGEST_NAME)) places.push(found.path);
  }
  return {
    text: edits.length === 0 ? text : splice(text, edits),
    modified: named(places),
    isUnfit: isUnfit || isNameUnfit,
  };
}

function edit(tool: string, text: DefinitionText, rules: ToolMetadataSanitization, edits: TextEdit[]): boolean {
  const json = tool.slice(text.start, text.end);
  if (!json.startsWith('"')) return false;
  const maxChars = capOf(text, rules);
  // Written down, a text is at least as long as it is.
  if (!UNUSUAL.test(json) && (maxChars === null || json.length - 2 <= maxChars)) return false;
  const value = JSON.parse(json) as string;
  const shown = visibleText(value, {
    normalize: rules.normalize_unicode,
    removeInvisible: rules.remove_invisible_characters,
    maxChars,
  });
  if (shown === value) return false;
  edits.push({ start: text.start, end: text.end, with: JSON.stringify(shown) });
  return true;
}

function stringAt(text: string, { start, end }: DefinitionText): string | undefined {
  return text.charAt(start) === '"' ? (JSON.parse(text.slice(start, end)) as string) : undefined;
}

function capOf({ of, key }: DefinitionText, rules: ToolMetadataSanitization): number | null {
  if (of === 'schema') return rules.max_schema_text_chars;
  if (of !== 'tool' && of !== 'annotations') return null;
  return key === 'title' ? rules.max_tool_title_chars : rules.max_tool_description_chars;
}

function named(places: readonly string[]): string[] {
  const first = places.slice(0, MOST_NAMED).map(withEscapes);
  return places.length > MOST_NAMED ? [...first, `and ${places.length - MOST_NAMED} more`] : first;
}
