import type { ToolMetadataSanitization } from '../../crds/config/core.ts';
import { splice } from '../exchange/json-scan.ts';
import { type TextEdit, type ToolText, toolTexts } from './tool-texts.ts';
import { hasInvisible, visibleText, withEscapes } from './visible-text.ts';

export interface Sanitized {
  readonly text: string;
  /** Where something was, or would have to be changed, for a log: `description`, `inputSchema.properties.a.title`. */
  readonly modified: readonly string[];
}

/** Longest name of a tool, in characters (MCP 2025-11-25, "Tool Names"). */
const LONGEST_NAME = 128;
/** Places that are named; of more there is a count. */
const MOST_NAMED = 20;
/** In a JSON string without it, nothing but the length can be wrong. */
const UNUSUAL = /[^ -~]|\\[bfu]/;

/**
 * A tool's definition (JSON text) with its texts as `core.tool_metadata_sanitization` wants them; everything else stays
 * byte for byte. Titles and descriptions are treated, those of every schema too; HTML and Markdown stay, one sees them.
 * A name is what clients call, so it stays as well, but it counts as modified when it is too long or holds invisible
 * characters. With mode `block`, a tool with anything modified is to be hidden.
 */
export function sanitizeTool(tool: string, rules: ToolMetadataSanitization): Sanitized {
  if (rules.mode === 'off') return { text: tool, modified: [] };
  const edits: TextEdit[] = [];
  const places: string[] = [];
  for (const text of toolTexts(tool)) {
    const changed = text.key === 'name' ? isBadName(tool, text, rules) : edit(tool, text, rules, edits);
    if (changed) places.push(text.path);
  }
  return { text: edits.length === 0 ? tool : splice(tool, edits), modified: named(places) };
}

function edit(tool: string, text: ToolText, rules: ToolMetadataSanitization, edits: TextEdit[]): boolean {
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

function isBadName(tool: string, { start, end }: ToolText, rules: ToolMetadataSanitization): boolean {
  if (tool.charAt(start) !== '"') return false;
  const name = JSON.parse(tool.slice(start, end)) as string;
  return name.length > LONGEST_NAME || (rules.remove_invisible_characters && hasInvisible(name));
}

function capOf({ of, key }: ToolText, rules: ToolMetadataSanitization): number | null {
  if (of === 'schema') return rules.max_schema_text_chars;
  return key === 'title' ? rules.max_tool_title_chars : rules.max_tool_description_chars;
}

function named(places: readonly string[]): string[] {
  const first = places.slice(0, MOST_NAMED).map(withEscapes);
  return places.length > MOST_NAMED ? [...first, `and ${places.length - MOST_NAMED} more`] : first;
}
