import { cleanName } from '../catalog/drift.ts';
import { AdapterError } from '../errors.ts';
import type { LockRefusal } from './locked-list.ts';

const MAX_FIELDS = 12;
const KINDS = {
  tool: { unknown: 'unknown_tool', drifted: 'tool_definition_drift', word: 'tool' },
  prompt: { unknown: 'unknown_prompt', drifted: 'prompt_definition_drift', word: 'prompt' },
} as const;

/** For the use of what is another thing than was approved, or was never approved. */
export function lockedError(kind: keyof typeof KINDS, name: string, refusal: LockRefusal): AdapterError {
  const { unknown, drifted, word } = KINDS[kind];
  if (refusal === 'unknown') return new AdapterError(unknown, `Unknown ${word}: ${name}`);
  const fields = refusal.drifted.slice(0, MAX_FIELDS);
  const verb = fields.length === 1 ? 'differs' : 'differ';
  return new AdapterError(
    drifted,
    `The ${word} ${cleanName(name)} is not what was approved: ${fields.join(', ')} ${verb}.`,
    {
      data: { changed: [{ name: cleanName(name), fields }], new: [], removed: [] },
    },
  );
}
