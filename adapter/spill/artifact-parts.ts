import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import { ownTurn } from '../../lib/stream/own-turn.ts';
import type { Pattern } from '../catalog/pattern.ts';
import { elements, locate, skipSpace, type Span } from '../exchange/scanning/json-scan.ts';
import type { OpenedFile } from '../files/keys/file-key.ts';

/** A part of a text. Offsets are bytes from the beginning of the file. */
export interface TextPart {
  readonly text: string;
  readonly offset: number;
  /** Where to go on; null: this is the end. */
  readonly nextOffset: number | null;
}

/** Why there is no part: a sentence for a model. */
export interface NoPart {
  readonly problem: string;
}

/** A JSON text that is parsed as a whole is no larger. */
const MAX_POINTED_BYTES = 8 << 20;
/** So much is searched in one call: it takes the CPU from others. */
const MAX_SEARCHED_BYTES = 128 << 20;
/** With a regular expression, which is slower than a word. */
const MAX_MATCHED_BYTES = 16 << 20;
/** A longer line is shown in part. */
const MAX_LINE_BYTES = 2000;
const LONGEST_CHARACTER = 4;
const LF = 0x0a;
const NOT_TEXT: NoPart = { problem: 'It is not text (UTF-8).' };
/** Regular expressions have something of this; a pattern without is a word. */
const META = /[\\^$.|?*+()[\]{}]/;

/** The text from `offset` on, up to `limit` bytes; both are moved to the next whole character. */
export async function textPart(file: OpenedFile, offset: number, limit: number): Promise<TextPart | NoPart> {
  const bytes = await readBytes(file, offset, Math.min(file.size, offset + limit + LONGEST_CHARACTER));
  const start = characterAt(bytes, 0);
  const end = Math.max(characterAt(bytes, Math.min(limit, bytes.length)), start);
  const text = decoded(bytes.subarray(start, end));
  if (text === undefined) return NOT_TEXT;
  const next = offset + end;
  return { text, offset: offset + start, nextOffset: next < file.size ? next : null };
}

/** Where the first character begins at or after a place. */
function characterAt(bytes: Buffer, at: number): number {
  let i = at;
  while (i < bytes.length && ((bytes[i] as number) & 0xc0) === 0x80) i++;
  return i;
}

/** A line in which a pattern was found, or where the search has ended. */
export type Found =
  | { readonly line: string }
  /** `nextOffset`: where to go on; null: this is the end. */
  | { readonly nextOffset: number | null };

/**
 * Lines from `offset` on in which the pattern is found, each with the offset at which it begins, up to about `limit` bytes. A
 * pattern without special characters is looked for as a word.
 */
export async function* matchingLines(
  file: OpenedFile,
  source: string,
  pattern: Exclude<Pattern, { fault: string }>,
  { offset, limit, signal }: { readonly offset: number; readonly limit: number; readonly signal: AbortSignal },
): AsyncGenerator<Found> {
  const isWord = !META.test(source);
  const finder = isWord ? byWord(Buffer.from(source)) : byPattern(pattern);
  const most = offset + (isWord ? MAX_SEARCHED_BYTES : MAX_MATCHED_BYTES);
  let bytes = 0;
  for await (const { block, at } of linesOf(file, offset, signal)) {
    for (const { start, end } of finder(block)) {
      const line = `${at + start}: ${shown(block.subarray(start, end))}`;
      const length = Buffer.byteLength(line) + 1;
      if (bytes > 0 && bytes + length > limit) {
        yield { nextOffset: at + start };
        return;
      }
      bytes += length;
      yield { line };
    }
    const next = at + block.length;
    if (next >= most && next < file.size) {
      yield { nextOffset: next };
      return;
    }
    await ownTurn(block.length, block.length);
  }
  yield { nextOffset: null };
}

/** Blocks of whole lines; a line that is longer than a block is one. */
async function* linesOf(
  file: OpenedFile,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<{ readonly block: Buffer; readonly at: number }> {
  let begun: Buffer[] = [];
  let at = offset;
  for await (const chunk of file.read({ start: offset, signal })) {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end === 0 && begun.length < MOST_BEGUN) {
      begun.push(chunk);
      continue;
    }
    const stop = end === 0 ? chunk.length : end;
    const block = Buffer.concat([...begun, chunk.subarray(0, stop)]);
    yield { block, at };
    at += block.length;
    begun = stop < chunk.length ? [chunk.subarray(stop)] : [];
  }
  const block = Buffer.concat(begun);
  if (block.length > 0) yield { block, at };
}

/** Of a line without an end, in chunks; then it is cut. */
const MOST_BEGUN = 16;

type FindLines = (block: Buffer) => Generator<Span>;

function byWord(word: Buffer): FindLines {
  return function* find(block) {
    for (let at = block.indexOf(word); at !== -1;) {
      const line = lineAt(block, at);
      yield line;
      at = line.end + 1 >= block.length ? -1 : block.indexOf(word, line.end + 1);
    }
  };
}

function byPattern({ re2 }: Exclude<Pattern, { fault: string }>): FindLines {
  return function* find(block) {
    for (let start = 0; start < block.length;) {
      const { end } = lineAt(block, start);
      if (re2.matcher(block.toString('utf8', start, end)).find()) yield { start, end };
      start = end + 1;
    }
  };
}

function lineAt(block: Buffer, at: number): Span {
  const end = block.indexOf(LF, at);
  return { start: at === 0 ? 0 : block.lastIndexOf(LF, at - 1) + 1, end: end === -1 ? block.length : end };
}

function shown(line: Buffer): string {
  const end = line.at(-1) === 0x0d ? line.length - 1 : line.length;
  if (end <= MAX_LINE_BYTES) return line.toString('utf8', 0, end);
  return `${line.toString('utf8', 0, characterAt(line, MAX_LINE_BYTES))} … (${end} bytes)`;
}

/** The value at a JSON pointer (RFC 6901) as JSON text; offsets are bytes of that. */
export async function pointedPart(
  file: OpenedFile,
  pointer: string,
  offset: number,
  limit: number,
): Promise<TextPart | NoPart> {
  if (pointer !== '' && !pointer.startsWith('/'))
    return { problem: 'json_pointer must be empty or begin with / (RFC 6901).' };
  if (file.size > MAX_POINTED_BYTES) {
    return {
      problem: `It has more than ${MAX_POINTED_BYTES} bytes, so json_pointer cannot be used; use grep and offset.`,
    };
  }
  const json = decoded(await readBytes(file, 0, file.size));
  if (json === undefined) return NOT_TEXT;
  try {
    parseJson(json, ANSWER_LIMITS);
  } catch {
    return { problem: 'It is not JSON, or has too many values; use grep and offset.' };
  }
  const found = pointed(json, pointer);
  if (found === undefined) return { problem: 'There is nothing at this json_pointer.' };
  const value = Buffer.from(json.slice(found.start, found.end));
  const start = characterAt(value, Math.min(offset, value.length));
  const end = Math.max(characterAt(value, Math.min(offset + limit, value.length)), start);
  return { text: value.toString('utf8', start, end), offset: start, nextOffset: end < value.length ? end : null };
}

function pointed(json: string, pointer: string): Span | undefined {
  const root = skipSpace(json, 0);
  let at: Span | undefined = { start: root, end: json.trimEnd().length };
  for (const escaped of pointer.split('/').slice(1)) {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    at = json.charAt(at.start) === '[' ? elementAt(json, at, key) : locate(json, [key], at.start);
    if (at === undefined) return undefined;
  }
  return at;
}

function elementAt(json: string, { start }: Span, key: string): Span | undefined {
  if (!/^(?:0|[1-9]\d{0,8})$/.test(key)) return undefined;
  let left = Number(key);
  for (const span of elements(json, start)) if (left-- === 0) return span;
  return undefined;
}

async function readBytes(file: OpenedFile, start: number, end: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  if (start < end) for await (const chunk of file.read({ start, end: end - 1 })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
