import type { StreamedAnswer } from '../exchange/answer.ts';
import type { OpenedFile } from '../files/places.ts';

/** Whether clients get a file of this type as text; all others are base64. */
export const isTextual = (mimeType: string): boolean => mimeType.startsWith('text/');

/**
 * A file's content between two texts, read as the answer leaves: within a JSON string, as text (UTF-8, with replacement
 * characters for what is not) or as base64. Closes the file at the end.
 */
export function fileContent(file: OpenedFile, as: 'text' | 'base64', before: string, after: string): StreamedAnswer {
  return {
    bytes: as === 'text' ? undefined : Buffer.byteLength(before) + base64Length(file.size) + Buffer.byteLength(after),
    parts: partsOf(file, as, before, after),
  };
}

async function* partsOf(
  file: OpenedFile,
  as: 'text' | 'base64',
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

async function* base64(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const whole = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = whole.length - (whole.length % 3);
    rest = Buffer.from(whole.subarray(end));
    if (end > 0) yield Buffer.from(whole.toString('base64', 0, end), 'latin1');
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1');
}

/** What stands between the quotes of a JSON string. */
async function* jsonText(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for await (const chunk of chunks) yield escaped(decoder.decode(chunk, { stream: true }));
  yield escaped(decoder.decode());
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
