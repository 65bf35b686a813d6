import { LRUCache } from 'lru-cache';

import type { EffectiveServer } from '../../crds/config/effective-server.ts';
import type { CleanTool } from './catalog.ts';
import { applyDescriptionPolicy } from './description-policy.ts';
import { sanitizeTool } from './sanitization.ts';
import { withEscapes } from './visible-text.ts';

/** Definitions that were told of: the same one is not news. */
const MAX_TOLD = 10_000;
/** Of a name, in events. */
const MAX_NAME_CHARS = 128;

/** Told once for each definition whose text had to change, or hides its tool. `fields` are paths in the definition. */
export type CleaningEvents = (event: {
  /** Its name, cut and with escapes: it is the upstream's text. */
  readonly tool: string;
  readonly fields: readonly string[];
  readonly blocked: boolean;
}) => void;

type CleaningRules = Pick<EffectiveServer, 'tool_metadata_sanitization' | 'tool_description_policy'>;

/**
 * What is done to the definitions of a server's tools before anything else looks at them: sanitisation, then the
 * description policy (specification 2.1). Undefined where both leave everything as it is.
 */
export function toolCleaning(rules: CleaningRules, onCleaned?: CleaningEvents): CleanTool | undefined {
  const { tool_metadata_sanitization: sanitization, tool_description_policy: policy } = rules;
  if (sanitization.mode === 'off' && policy.mode === 'preserve') return undefined;
  const told = new LRUCache<string, true>({ max: MAX_TOLD });
  return (tool, name) => {
    const { text, modified } = sanitizeTool(tool, sanitization);
    const blocked = sanitization.mode === 'block' && modified.length > 0;
    if (modified.length > 0) {
      const shown = withEscapes((name ?? '').slice(0, MAX_NAME_CHARS));
      const key = `${shown}\n${modified.join('\n')}`;
      if (!told.has(key)) {
        told.set(key, true);
        onCleaned?.({ tool: shown, fields: modified, blocked });
      }
    }
    return blocked ? undefined : applyDescriptionPolicy(text, policy);
  };
}
