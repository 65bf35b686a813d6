import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import type { CleanTool } from './catalog.ts';
import { applyDescriptionPolicy } from './description-policy.ts';
import type { PreparedTool } from './prepared-tool.ts';
import { sanitizeDefinition } from './sanitization.ts';
import type { DefinitionKind } from './text-meanings.ts';
import { withEscapes } from './visible-text.ts';

/** Tools that an event names. */
const MAX_NAMED = 10;
/** Of a name, in events. */
const MAX_NAME_CHARS = 128;

/** A list has definitions whose text had to change, or whose tools are hidden. They are told of once. */
export interface CleaningEvent {
  /** How many. */
  readonly tools: number;
  /** The first ten: names, cut and with escapes, for they are the upstream's text, and what was wrong with them. */
  readonly first: readonly { readonly name: string; readonly fields: readonly string[] }[];
  /** Whether the tools are hidden. */
  readonly blocked: boolean;
}

/** Told what they are. */
export type CleaningEvents = (event: CleaningEvent, kind: DefinitionKind) => void;

/** A definition whose text had to change, or which is hidden because of it. */
export interface Cleaned {
  readonly name: string | undefined;
  /** Paths, fit for a log. */
  readonly fields: readonly string[];
  readonly isHidden: boolean;
}

/**
 * What is done to the definitions of a server's tools before anything else looks at them: sanitisation, then the
 * description policy (specification 2.1). Undefined where both leave everything as it is.
 */
export function toolCleaning(
  rules: Pick<EffectiveServer, 'tool_metadata_sanitization' | 'tool_description_policy'>,
): CleanTool | undefined {
  const { tool_metadata_sanitization: sanitization, tool_description_policy: policy } = rules;
  if (sanitization.mode === 'off' && policy.mode === 'preserve') return undefined;
  return (tool) => {
    const { text, modified, isUnfit } = sanitizeDefinition(tool, sanitization);
    if (isUnfit || (sanitization.mode === 'block' && modified.length > 0)) return { text: undefined, modified };
    return { text: applyDescriptionPolicy(text, policy), modified };
  };
}

/** What is to be told of tools that are new in a list; those that are hidden apart from the others. */
export function cleaningEvents(tools: readonly PreparedTool[]): CleaningEvent[] {
  return eventsOf(tools.map(({ name, cleaned, fate }) => ({ name, fields: cleaned, isHidden: fate === 'blocked' })));
}

/** The same of any definitions. */
export function eventsOf(definitions: readonly Cleaned[]): CleaningEvent[] {
  return [true, false].flatMap((blocked) => {
    const cleaned = definitions.filter(({ fields, isHidden }) => fields.length > 0 && isHidden === blocked);
    if (cleaned.length === 0) return [];
    const first = cleaned.slice(0, MAX_NAMED).map(({ name, fields }) => {
      return { name: withEscapes((name ?? '').slice(0, MAX_NAME_CHARS)), fields };
    });
    return [{ tools: cleaned.length, first, blocked }];
  });
}
