import { locate, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { insertMember } from './insert-member.ts';
import { mayBeList, schemaPath } from './schema-path.ts';

export interface GuidanceOptions {
  /** Keys of `file_path_argument`. */
  readonly path: readonly string[];
  /** `uploads.uri_scheme`. */
  readonly uriScheme: string;
  /** Name of the tool that tells where to upload; undefined when it is hidden. */
  readonly helper: string | undefined;
  /** Most words of the upstream's description; null keeps all of it. */
  readonly summaryWords: number | null;
  /** What the argument takes, for its schema (`files.drafts`); undefined: nothing is said there. */
  readonly draft?: { readonly accept: readonly string[] | null; readonly maxSize: number } | undefined;
}

/**
 * The definition (JSON text) of a tool that takes uploads, with the way to call it: added to its description and to
 * that of the argument. Types, `required`, `x-mcp-file` and whatever else stands there stay byte for byte.
 */
export function withGuidance(tool: string, options: GuidanceOptions): string {
  const guidance = guidanceOf(options);
  const whole = { start: 0, end: tool.length };
  const text = stringAt(tool, locate(tool, ['description']));
  const kept = text === undefined || options.summaryWords === null ? text : summaryOf(text, options.summaryWords);
  const edits = [describe(tool, whole, kept, guidance)];
  const schema = locate(tool, ['inputSchema']);
  if (schema !== undefined && tool.charAt(schema.start) === '{') {
    const described = schemaPath(tool.slice(schema.start, schema.end), options.path, false).at(-1)?.span;
    // What the schema does not describe is said of the arguments as a whole.
    const target = described === undefined ? schema : shift(described, schema.start);
    if (tool.charAt(target.start) === '{') {
      const own = stringAt(tool, locate(tool, ['description'], target.start));
      edits.push(describe(tool, target, own, guidance));
    }
  }
  const described = splice(
    tool,
    edits.toSorted((a, b) => a.start - b.start),
  );
  return options.draft === undefined ? described : withDraft(described, options.path, options.draft);
}

/**
 * Says in the schema of the argument, or of its elements, which files it takes (drafts SEP-2356, SEP-2631); what the server
 * says there itself stays.
 */
function withDraft(
  tool: string,
  path: readonly string[],
  { accept, maxSize }: NonNullable<GuidanceOptions['draft']>,
): string {
  const schema = locate(tool, ['inputSchema']);
  if (schema === undefined) return tool;
  const text = tool.slice(schema.start, schema.end);
  const properties = schemaPath(text, path, false);
  const property = properties.length === path.length ? properties.at(-1)?.span : undefined;
  if (property === undefined || text.charAt(property.start) !== '{') return tool;
  const items = mayBeList(text, property) ? locate(text, ['items'], property.start) : undefined;
  const at = shift(items !== undefined && text.charAt(items.start) === '{' ? items : property, schema.start);
  if (locate(tool, [DRAFT], at.start) !== undefined) return tool;
  const value = JSON.stringify({ ...(accept === null ? {} : { accept }), maxSize });
  return splice(tool, [insertMember(tool, at, DRAFT, value)]);
}

const DRAFT = 'x-mcp-file';

/** What a model must know to call a tool that takes uploads. */
export function guidanceOf({ path, uriScheme, helper }: GuidanceOptions): string {
  const how =
    helper === undefined
      ? 'Without a handle, ask the user to upload the file to the adapter first.'
      : `Without a handle, call \`${helper}\`, upload the file as it says, and pass the handle from the answer.`;
  return (
    `\`${path.join('.')}\` takes handles of uploaded files, such as \`${uriScheme}sessions/…/…\`, or the content of a small ` +
    `file as a \`data:\` URI. Paths and web addresses are refused. ${how}`
  );
}

/** The first sentence, cut after so many words. */
export function summaryOf(description: string, words: number): string {
  const [paragraph = ''] = description.trim().split(/\n\s*\n/);
  const flat = paragraph.replaceAll(/\s+/g, ' ').trim();
  const sentence = /^.*?[.!?。！？](?=$|\s+[^\p{Ll}\s])/u.exec(flat)?.[0] ?? flat;
  const parts = sentence.split(' ');
  return parts.length <= words ? sentence : `${parts.slice(0, words).join(' ')}...`;
}

/** The edit that gives an object its description with the guidance. */
function describe(text: string, object: Span, kept: string | undefined, guidance: string): Span & { with: string } {
  const value = JSON.stringify(kept === undefined || kept === '' ? guidance : `${kept}\n\n${guidance}`);
  const present = locate(text, ['description'], object.start);
  return present === undefined ? insertMember(text, object, 'description', value) : { ...present, with: value };
}

function stringAt(text: string, span: Span | undefined): string | undefined {
  if (span === undefined || text.charAt(span.start) !== '"') return undefined;
  return JSON.parse(text.slice(span.start, span.end)) as string;
}

function shift(span: Span, by: number): Span {
  return { start: span.start + by, end: span.end + by };
}
