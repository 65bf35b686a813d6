import type { StreamedAnswer } from '../exchange/answers/answer.ts';
import { releaseBytes } from '../exchange/answers/release-bytes.ts';
import type { OpenedFile } from '../files/keys/file-key.ts';

/** A multiple of three. */
const PIECE_BYTES = 48 << 10;

/** The member of an MCP resource with the content of a file: as it is, or as base64. */
export type ContentForm = 'text' | 'blob';

/**
 * How clients get a file: as text where that is what it is by its type and by its bytes, all of which must be UTF-8.
 * Closes the file when it fails.
 */
export async function contentForm(file: OpenedFile, mimeType: string, signal?: AbortSignal): Promise<ContentForm> {
  try {
    return mimeType.startsWith('text/') && (await isUtf8(file.read({ ...(signal && { signal }) }))) ? 'text' : 'blob';
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** A file's content between two texts, read as the answer leaves: within a JSON string. Closes the file at the end. */
export function fileContent(file: OpenedFile, as: ContentForm, before: string, after: string): StreamedAnswer {
  return {
    bytes: as === 'text' ? undefined : Buffer.byteLength(before) + base64Length(file.size) + Buffer.byteLength(after),
    parts: partsOf(file, as, before, after),
  };
}

async function* partsOf(
  file: OpenedFile,
  as: ContentForm,
  before: string,
  after: string,
): AsyncGenerator<string | Buffer> {
  try {
    yield before;
    yield* as === 'text' ? jsonText(file.read()) : base64(file.read());
    yield after;
  } finally {
    await file.close();
  }
}

const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/** In pieces of moderate length: V8 frees those soon, but lets large strings pile up. */
async function* base64(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const taken = rest.length === 0 ? 0 : Math.min(3 - rest.length, chunk.length);
    const group = Buffer.concat([rest, chunk.subarray(0, taken)]);
    const end = chunk.length - ((chunk.length - taken) % 3);
    rest = group.length % 3 === 0 ? Buffer.from(chunk.subarray(end)) : group;
    if (group.length === 3) yield group.toString('base64');
    for (let at = taken; at < end; at += PIECE_BYTES) {
      yield chunk.toString('base64', at, Math.min(end, at + PIECE_BYTES));
    }
    releaseBytes(chunk);
  }
  if (rest.length > 0) yield rest.toString('base64');
}

async function isUtf8(chunks: AsyncIterable<Buffer>): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of chunks) {
      decoder.decode(chunk, { stream: true });
      releaseBytes(chunk);
    }
    decoder.decode();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** What stands between the quotes of a JSON string. */
async function* jsonText(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for await (const chunk of chunks) {
    yield escaped(decoder.decode(chunk, { stream: true }));
    releaseBytes(chunk);
  }
  yield escaped(decoder.decode());
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
