import type { ToolDescriptionPolicy } from '../../crds/config/adapter-file/core.ts';
import { type Span, splice } from '../exchange/scanning/json-scan.ts';
import { type DefinitionText, definitionTexts, type TextEdit } from './definition-texts.ts';
import { removals } from './removals.ts';
import { capped } from './visible-text.ts';

/**
 * A tool's definition (JSON text) with as much description as `core.tool_description_policy` wants: that of the tool
 * and those of its schemas are cut, or taken out whatever they are. Everything else stays byte for byte.
 */
export function applyDescriptionPolicy(tool: string, policy: ToolDescriptionPolicy): string {
  if (policy.mode === 'preserve') return tool;
  const descriptions = definitionTexts(tool, 'tool').filter(({ key }) => key === 'description');
  const edits = policy.mode === 'strip' ? removals(tool, descriptions.map(whole)) : cuts(tool, descriptions, policy);
  return edits.length === 0 ? tool : splice(tool, edits);
}

function cuts(tool: string, descriptions: readonly DefinitionText[], policy: ToolDescriptionPolicy): TextEdit[] {
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

/** From its key on. */
const whole = ({ keyStart, end }: DefinitionText): Span => ({ start: keyStart, end });
