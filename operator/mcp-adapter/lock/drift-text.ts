import type { PendingDefinition } from '../../../crds/v1alpha1/mcp-tool-lock.ts';

const WORDS: Readonly<Record<string, string>> = {
  tools: 'the tool',
  prompts: 'the prompt',
  resourceTemplates: 'the resource template',
  instructions: 'its instructions',
};

/** What one difference is, for people. Its names are safe to show. */
export function driftText({ server, kind, name, state, fields = [] }: PendingDefinition): string {
  const what = `server ${server}: ${[WORDS[kind ?? ''] ?? 'the definition', name].filter((word) => word !== '').join(' ')}`;
  if (state === 'new') return `${what} is new`;
  if (state === 'removed') return `${what} is gone`;
  return `${what} differs${fields.length === 0 ? '' : ` in ${fields.join(', ')}`}`;
}
