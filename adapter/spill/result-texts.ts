import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import { releaseBytes } from '../exchange/answers/release-bytes.ts';
import { elements, locate, type Member, members, type Span } from '../exchange/scanning/json-scan.ts';
import { JsonStringText } from './json-string-text.ts';
import { Outline } from './outline.ts';
import type { SpillPart } from './plan-spill.ts';
import { Preview } from './preview.ts';

/** JSON text of a tool's result, with its long strings in it or somewhere else. */
export interface ResultSource {
  readonly outline: Outline;
  /** The bytes of a hole. */
  readonly read: (hole: Span) => AsyncIterable<Buffer>;
}

/** A text of a result, which may be on a disk. */
export interface ResultText extends SpillPart {
  /** Where its block stands in `content`; -1: it is the structured content. */
  readonly block: number;
  /** In UTF-8. */
  readonly bytes: number;
  readonly isJson: boolean;
  readonly preview: Preview;
  readonly pieces: () => Iterable<string> | AsyncIterable<string>;
}

/** Where things stand in a result that a model is to read. */
export interface ReadResult {
  /** The blocks of `content`, and of those that are text, where that stands. */
  readonly blocks: readonly { readonly span: Span; readonly text: Span | undefined }[];
  readonly structured: Member | undefined;
}

/** What a longer text is, nobody finds out. */
const PARSED_CHARS = 1 << 20;
const QUOTE = '"';

/** Undefined for an error, and for what is not the result of a tool that has ended. `result`: JSON text of an object. */
export function readResult(result: string): ReadResult | undefined {
  const { isError, resultType, content, structuredContent: structured } = membersOf(result);
  if (content === undefined || result.charAt(content.start) !== '[') return undefined;
  if (isError !== undefined && result.slice(isError.start, isError.end) === 'true') return undefined;
  if (resultType !== undefined && result.slice(resultType.start, resultType.end) !== '"complete"') return undefined;
  const blocks = Array.from(elements(result, content.start), (span) => ({ span, text: textOf(result, span) }));
  return { blocks, structured };
}

const READ = new Set(['isError', 'resultType', 'content', 'structuredContent']);

function membersOf(result: string): Record<string, Member | undefined> {
  const found: Record<string, Member | undefined> = {};
  for (const member of members(result)) if (READ.has(member.key)) found[member.key] = member;
  return found;
}

function textOf(result: string, { start }: Span): Span | undefined {
  const type = locate(result, ['type'], start);
  if (type === undefined || result.slice(type.start, type.end) !== '"text"') return undefined;
  const text = locate(result, ['text'], start);
  return text !== undefined && result.charAt(text.start) === QUOTE ? text : undefined;
}

/** Looks at the text of a block. */
export async function textAt(
  { outline, read }: ResultSource,
  block: number,
  span: Span,
  previewChars: number,
): Promise<ResultText> {
  const hole = outline.hole(span);
  if (hole !== undefined) return measured(block, previewChars, () => stringPieces(read(hole)));
  const text = JSON.parse(outline.text.slice(span.start, span.end)) as string;
  return inMemory(block, previewChars, text);
}

/** Looks at structured content as text. */
export async function structuredAt(
  source: ResultSource,
  { start, end }: Span,
  previewChars: number,
): Promise<ResultText> {
  const text = source.outline.text.slice(start, end);
  if (source.outline.holes.length === 0) return inMemory(-1, previewChars, text);
  return measured(-1, previewChars, () => jsonPieces(source, text));
}

function inMemory(block: number, previewChars: number, text: string): ResultText {
  const preview = Preview.of(text, previewChars);
  const isJson = text.length <= PARSED_CHARS && hasBrackets(preview) && isParsed(text);
  return { block, chars: text.length, bytes: Buffer.byteLength(text), isJson, preview, pieces: () => [text] };
}

async function measured(block: number, previewChars: number, pieces: () => AsyncIterable<string>): Promise<ResultText> {
  const preview = new Preview(previewChars);
  let bytes = 0;
  for await (const piece of pieces()) {
    preview.push(piece);
    bytes += Buffer.byteLength(piece);
  }
  return { block, chars: preview.chars, bytes, isJson: false, preview, pieces };
}

async function* stringPieces(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const text = new JsonStringText();
  for await (const chunk of bytes) {
    yield text.push(chunk);
    releaseBytes(chunk);
  }
  yield text.end();
}

async function* jsonPieces({ outline, read }: ResultSource, text: string): AsyncGenerator<string> {
  for (const part of outline.partsOf(text)) {
    if (typeof part === 'string') yield part;
    else {
      const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
      for await (const chunk of read(part)) {
        yield decoder.decode(chunk, { stream: true });
        releaseBytes(chunk);
      }
      yield decoder.decode();
    }
  }
}

function hasBrackets({ ends: [first, last] }: Preview): boolean {
  return (first === '{' && last === '}') || (first === '[' && last === ']');
}

function isParsed(text: string): boolean {
  try {
    parseJson(text, ANSWER_LIMITS);
    return true;
  } catch {
    return false;
  }
}
