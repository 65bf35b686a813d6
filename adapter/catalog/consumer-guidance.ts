import { locate, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { insertMember } from './insert-member.ts';
import { schemaPath } from './schema-path.ts';

export interface GuidanceOptions {
  /** Keys of `file_path_argument`. */
  readonly path: readonly string[];
  /** `uploads.uri_scheme`. */
  readonly uriScheme: string;
  /** Name of the tool that tells where to upload; undefined when it is hidden. */
  readonly helper: string | undefined;
  /** Most words of the upstream's description; null keeps all of it. */
  readonly summaryWords: number | null;
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
  return splice(
    tool,
    edits.toSorted((a, b) => a.start - b.start),
  );
}

/** What a model must know to call a tool that takes uploads. */
export function guidanceOf({ path, uriScheme, helper }: GuidanceOptions): string {
  const how =
    helper === undefined
      ? 'Without a handle, ask the user to upload the file to the adapter first.'
      : `Without a handle, call \`${helper}\`, upload the file as it says, and pass the handle from the answer.`;
  return (
    `\`${path.join('.')}\` takes handles of uploaded files only, such as \`${uriScheme}sessions/…/…\`. ` +
    `Paths, web addresses and file contents are refused. ${how}`
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
