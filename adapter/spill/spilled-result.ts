import { artifactMeta } from '../artifacts/artifact-blocks.ts';
import { type ResultAdditions, withAdditions } from '../artifacts/artifact-result.ts';
import { type Span, splice, withoutMember } from '../exchange/scanning/json-scan.ts';
import type { KeptText } from './keep-text.ts';
import type { ReadResult, ResultText } from './result-texts.ts';

/** Texts of a result that have become one artifact. */
export interface Spilled {
  readonly texts: readonly ResultText[];
  readonly kept: KeptText;
  readonly downloadUrl: string | undefined;
}

export interface SpilledResultOptions {
  /** Name of the tool that reads artifacts; undefined where clients do not see it. */
  readonly reader: string | undefined;
  /** Whether the client knows resource links (MCP 2025-06-18). */
  readonly takesLinks: boolean;
  readonly previewChars: number;
}

const BEFORE = '{"result":';
const AFTER = '}';

/** A result (JSON text) with previews and links in place of the texts that have become artifacts. */
export function spilledResult(
  result: string,
  { blocks, structured }: ReadResult,
  all: readonly Spilled[],
  options: SpilledResultOptions,
): string {
  const shown = new Map<number, string>();
  const gone = new Set<number>();
  const last: string[] = [];
  const each = Math.max(1, Math.floor(options.previewChars / all.length));
  for (const spilled of all) {
    const [first, ...others] = spilled.texts;
    if (first === undefined) continue;
    const text = first.preview.with(line(spilled, options.reader), each);
    if (first.block === -1) last.push(JSON.stringify({ type: 'text', text }));
    else shown.set(first.block, text);
    for (const other of others) gone.add(other.block);
  }
  if (options.takesLinks) for (const { kept } of all) if (kept.file.exposed) last.push(linkOf(kept));
  const edits = contentEdits(result, blocks, shown, gone);
  const dropped = all.some(({ texts }) => texts.some(({ block }) => block === -1));
  const edited = splice(
    result,
    edits.sort((a, b) => a.start - b.start),
  );
  const left = dropped && structured !== undefined ? withoutMember(edited, structured.key) : edited;
  return added(left, { last, meta: metaOf(all) });
}

/** A result whose texts could not be kept, with a note of it. */
export const notSpilled = (result: string, code: string, detail: string): string =>
  added(result, { meta: { artifact_error: JSON.stringify({ code, detail }) } });

function added(result: string, additions: ResultAdditions): string {
  return withAdditions(`${BEFORE}${result}${AFTER}`, additions).slice(BEFORE.length, -AFTER.length);
}

function line({ texts, kept }: Spilled, reader: string | undefined): (leftOut: number) => string {
  const [first, ...others] = texts;
  // Structured content that a text repeats is the same once more.
  const more = others.filter(({ block }) => block !== -1).reduce((sum, text) => sum + text.chars + 1, 0);
  const chars = (first?.chars ?? 0) + more;
  const how = reader === undefined ? 'in the resource' : `read them with ${reader}, uri`;
  return (leftOut) => `[… ${leftOut + more} of ${chars} characters left out; ${how} ${kept.uri} …]`;
}

type Edit = Span & { with: string };

function contentEdits(
  result: string,
  blocks: ReadResult['blocks'],
  shown: ReadonlyMap<number, string>,
  gone: ReadonlySet<number>,
): Edit[] {
  const edits: Edit[] = [];
  for (const [index, text] of shown) {
    const span = blocks[index]?.text;
    if (span !== undefined) edits.push({ ...span, with: JSON.stringify(text) });
  }
  for (const index of gone) {
    const [before, block] = [blocks[index - 1], blocks[index]];
    // One that goes is never the first of those that have become one.
    if (before !== undefined && block !== undefined) {
      edits.push({ start: before.span.end, end: block.span.end, with: '' });
    }
  }
  return edits;
}

function linkOf({ file, uri }: KeptText): string {
  const { filename: name, mimeType, sizeBytes: size } = file;
  return JSON.stringify({ type: 'resource_link', uri, name, mimeType, size });
}

function metaOf(all: readonly Spilled[]): Record<string, string> {
  const artifacts = all.map(({ kept: { file, uri }, downloadUrl }) =>
    JSON.stringify(artifactMeta(file, uri, downloadUrl)),
  );
  const [first = '{}'] = artifacts;
  return artifacts.length === 1 ? { artifact: first } : { artifact: first, artifacts: `[${artifacts.join(',')}]` };
}
