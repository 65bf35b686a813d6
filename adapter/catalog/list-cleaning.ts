import type { ToolMetadataSanitization } from '../../crds/config/adapter-file/core.ts';
import { elements, locate, type Span } from '../exchange/scanning/json-scan.ts';
import { MAX_DEFINITION_CHARS } from './prepared-tool.ts';
import { sanitizeDefinition } from './sanitization.ts';
import type { DefinitionKind } from './text-meanings.ts';
import type { Cleaned } from './tool-cleaning.ts';

/** Lists of an upstream beside that of its tools. */
export type ListKind = Extract<DefinitionKind, 'prompt' | 'resource' | 'template'>;

/** What clients name an entry by. */
const ID_OF: Readonly<Record<ListKind, string>> = { prompt: 'name', resource: 'uri', template: 'uriTemplate' };

/** An entry that clients may see. */
export interface CleanEntry {
  /** In the text of the list. */
  readonly span: Span;
  /** The name of a prompt, the URI of a resource or of a template. */
  readonly id: string;
  /** JSON text. */
  readonly text: string;
}

export interface CleanList {
  readonly entries: readonly CleanEntry[];
  /** Whether some are missing in `entries`. */
  readonly isShorter: boolean;
  /** What was done to which, for a log. */
  readonly cleaned: readonly Cleaned[];
}

/**
 * A list (JSON text) of prompts, resources or resource templates, made fit for a model. What nobody can ask for is no entry.
 * Takes a step for each, so that a long one does not have to be looked at in one go.
 */
export function* cleanList(list: string, kind: ListKind, rules: ToolMetadataSanitization): Generator<void, CleanList> {
  const entries: CleanEntry[] = [];
  const cleaned: Cleaned[] = [];
  let count = 0;
  for (const span of elements(list)) {
    count++;
    yield;
    const given = list.slice(span.start, span.end);
    const id = idOf(given, kind);
    if (id === undefined) {
      cleaned.push({ name: id, fields: [`no ${ID_OF[kind]}`], isHidden: true });
      continue;
    }
    if (rules.mode !== 'off' && given.length > MAX_DEFINITION_CHARS) {
      cleaned.push({ name: id, fields: [`longer than ${MAX_DEFINITION_CHARS} characters`], isHidden: true });
      continue;
    }
    const { text, modified, isUnfit } = sanitizeDefinition(given, rules, kind);
    const isHidden = isUnfit || (rules.mode === 'block' && modified.length > 0);
    if (modified.length > 0) cleaned.push({ name: id, fields: modified, isHidden });
    if (!isHidden) entries.push({ span, id, text });
  }
  return { entries, isShorter: entries.length < count, cleaned };
}

function idOf(entry: string, kind: ListKind): string | undefined {
  const id = entry.startsWith('{') ? locate(entry, [ID_OF[kind]]) : undefined;
  if (id === undefined || entry.charAt(id.start) !== '"') return undefined;
  return JSON.parse(entry.slice(id.start, id.end)) as string;
}
