import { isObject } from '../../../lib/json/json-object.ts';
import { type Json, own, ownList, ownText } from './schema-view.ts';

/** What discovery keeps of a tool. */
export interface ListedTool {
  readonly name: string;
  /** What the adapter has to say about this tool: that it has changed. */
  readonly warning: string | undefined;
  /** In the order of the definition, each once. */
  readonly tags: readonly string[];
  /** The definition as it stands in tools/list. */
  readonly text: string;
  /** Reads the definition again each time: its values take many times the memory of its text. */
  details(): ToolDetails;
}

/** The definition of a tool, as far as discovery reads it. */
export interface ToolDetails {
  /** Of the tool itself or of its annotations. */
  readonly title: string | undefined;
  readonly description: string;
  readonly definition: Json;
}

/** What the descriptions of tools begin with that have changed since a session saw them first, each on a line. */
export interface ToolWarnings {
  readonly ofAll: string;
  /** By name. */
  readonly ofTool: ReadonlyMap<string, string>;
}

const MAX_TAGS = 50;
const MAX_TAG = 100;

/**
 * Undefined for what cannot be called: no object, or without a name. Warnings are taken out of the description.
 * @param mostTags how many tags there is room for
 */
export function listedTool(text: string, warnings?: ToolWarnings, mostTags = MAX_TAGS): ListedTool | undefined {
  const definition = parsed(text);
  const name = own(definition, 'name');
  if (!isObject(definition) || typeof name !== 'string') return undefined;
  const warning = warnings?.ofTool.get(name);
  return {
    name,
    warning,
    tags: tagsOf(own(definition, '_meta')).slice(0, mostTags),
    text,
    details: () => detailsOf(parsed(text) as Json, [warnings?.ofAll, warning]),
  };
}

function detailsOf(definition: Json, warnings: readonly (string | undefined)[]): ToolDetails {
  return {
    title: ownText(definition, 'title') ?? ownText(own(definition, 'annotations'), 'title'),
    description: warnings.reduce<string>(withoutLine, ownText(definition, 'description') ?? ''),
    definition,
  };
}

/** Where FastMCP puts them (`fastmcp`, earlier `_fastmcp`), and where others do. */
function tagsOf(meta: unknown): readonly string[] {
  const all = [own(meta, 'fastmcp'), own(meta, '_fastmcp'), meta].flatMap((place) => ownList(place, 'tags'));
  const tags = all.filter(
    (tag): tag is string => typeof tag === 'string' && tag.trim() !== '' && tag.length <= MAX_TAG,
  );
  return [...new Set(tags)].slice(0, MAX_TAGS);
}

function withoutLine(text: string, line: string | undefined): string {
  if (line === undefined) return text;
  return text === line ? '' : text.startsWith(`${line}\n`) ? text.slice(line.length + 1) : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
