import type { ToolDescriptionPolicy } from '../../crds/config/core.ts';
import { skipSpace, splice } from '../exchange/json-scan.ts';
import { type TextEdit, type ToolText, toolTexts } from './tool-texts.ts';
import { capped } from './visible-text.ts';

/**
 * A tool's definition (JSON text) with as much description as `core.tool_description_policy` wants: that of the tool
 * and those of its schemas are cut, or taken out whatever they are. Everything else stays byte for byte.
 */
export function applyDescriptionPolicy(tool: string, policy: ToolDescriptionPolicy): string {
  if (policy.mode === 'preserve') return tool;
  const descriptions = toolTexts(tool).filter(({ key }) => key === 'description');
  const edits = policy.mode === 'strip' ? removals(tool, descriptions) : cuts(tool, descriptions, policy);
  return edits.length === 0 ? tool : splice(tool, edits);
}

function cuts(tool: string, descriptions: readonly ToolText[], policy: ToolDescriptionPolicy): TextEdit[] {
  const edits: TextEdit[] = [];
  for (const { of, start, end } of descriptions) {
    const max = of === 'schema' ? policy.max_schema_description_chars : policy.max_tool_description_chars;
    // Written down, a text is at least as long as it is.
    if (max === null || tool.charAt(start) !== '"' || end - start - 2 <= max) continue;
    const value = JSON.parse(tool.slice(start, end)) as string;
    const kept = capped(value, max);
    if (kept !== value) edits.push({ start, end, with: JSON.stringify(kept) });
  }
  return edits;
}

/** Takes whole members out, each with one comma. */
function removals(tool: string, descriptions: readonly ToolText[]): TextEdit[] {
  const edits: TextEdit[] = [];
  for (const { keyStart, end } of descriptions) {
    // One of the same name directly before it: both go as one.
    const start = edits.at(-1)?.end === keyStart ? (edits.pop()?.start ?? keyStart) : keyStart;
    const next = skipSpace(tool, end);
    if (tool.charAt(next) === ',') edits.push({ start, end: skipSpace(tool, next + 1), with: '' });
    else edits.push({ start: withCommaBefore(tool, start), end, with: '' });
  }
  return edits;
}

function withCommaBefore(tool: string, start: number): number {
  const before = tool.slice(0, start).trimEnd().length - 1;
  return tool.charAt(before) === ',' ? before : start;
}
