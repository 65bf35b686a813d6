import { isObject, type Json, own, ownList, ownText } from './schema-view.ts';

/** The definition of a tool, as far as discovery reads it. */
export interface ListedTool {
  readonly name: string;
  /** Of the tool itself or of its annotations. */
  readonly title: string | undefined;
  readonly description: string;
  /** What the adapter has to say about this tool: that it has changed. */
  readonly warning: string | undefined;
  /** In the order of the definition, each once. */
  readonly tags: readonly string[];
  readonly definition: Json;
  /** The definition as it stands in tools/list. */
  readonly text: string;
}

/** What the descriptions of tools begin with that have changed since a session saw them first, each on a line. */
export interface ToolWarnings {
  readonly ofAll: string;
  /** By name. */
  readonly ofTool: ReadonlyMap<string, string>;
}

const MAX_TAGS = 50;
const MAX_TAG = 100;

/** Undefined for what cannot be called: no object, or without a name. Warnings are taken out of the description. */
export function listedTool(text: string, warnings?: ToolWarnings): ListedTool | undefined {
  const definition = parsed(text);
  const name = own(definition, 'name');
  if (!isObject(definition) || typeof name !== 'string') return undefined;
  const warning = warnings?.ofTool.get(name);
  return {
    name,
    title: ownText(definition, 'title') ?? ownText(own(definition, 'annotations'), 'title'),
    description: withoutLine(withoutLine(ownText(definition, 'description') ?? '', warnings?.ofAll), warning),
    warning,
    tags: tagsOf(own(definition, '_meta')),
    definition,
    text,
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
