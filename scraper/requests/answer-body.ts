import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { RequestFailure } from './failure.ts';

/** Why a body cannot be read; the caller adds which. */
export type BodyProblem = Extract<RequestFailure['kind'], 'too_large' | 'not_json' | 'network'>;

export class UnreadableBody extends Error {
  readonly kind: BodyProblem;

  constructor(kind: BodyProblem, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The encodings that are asked for. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const [unzip, unbrotli, unzstd, zlib, raw] = [gunzip, brotliDecompress, zstdDecompress, inflate, inflateRaw].map(
  (decompress) => promisify(decompress) as Decompress,
) as [Decompress, Decompress, Decompress, Decompress, Decompress];

const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  gzip: unzip,
  'x-gzip': unzip,
  br: unbrotli,
  zstd: unzstd,
  // Some servers leave out the header of zlib, whose low half-byte would be 8.
  deflate: (bytes, options) => (((bytes[0] ?? 0) & 0x0f) === 8 ? zlib : raw)(bytes, options),
};

/** Reads a stream to its end, but no more than so many bytes. */
export async function readBytes(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, total);
}

/** The text of a body: decompressed, within the limit, and UTF-8. */
export async function decodeBody(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  let decoded = bytes;
  // As a list, the last one was applied last.
  for (const name of (encoding ?? '').toLowerCase().split(',').toReversed()) {
    decoded = await decompressed(decoded, name.trim(), maxBytes);
  }
  if (!isUtf8(decoded)) throw new UnreadableBody('not_json', 'the answer is not UTF-8');
  return decoded;
}

async function decompressed(bytes: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  if (encoding === '' || encoding === 'identity' || bytes.length === 0) return bytes;
  const decompress = Object.hasOwn(DECOMPRESS, encoding) ? DECOMPRESS[encoding] : undefined;
  if (decompress === undefined) throw new UnreadableBody('not_json', 'the answer has an unknown content-encoding');
  try {
    return await decompress(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw new UnreadableBody('network', `the answer is not the ${encoding} that it says it is, or ends too early`);
  }
}

export const tooLarge = (maxBytes: number): UnreadableBody =>
  new UnreadableBody('too_large', `the answer is larger than ${maxBytes} bytes`);
