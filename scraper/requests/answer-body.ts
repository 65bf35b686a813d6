import { isUtf8 } from 'node:buffer';
import type { Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { KeptParts } from '../../lib/stream/kept-parts.ts';
import { MOST_OF_A_TURN, PAUSE_MS, SmallParts } from '../../lib/stream/small-parts.ts';
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

/** What may be read of a body. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Called for every part before it is kept; it may wait, or throw. */
  readonly take: (bytes: number) => Promise<void>;
}

const CHUNK = { chunkSize: 65_536 };

const DECOMPRESS: Readonly<Record<string, (bytes: Buffer) => Transform>> = {
  gzip: () => createGunzip(CHUNK),
  'x-gzip': () => createGunzip(CHUNK),
  br: () => createBrotliDecompress(CHUNK),
  zstd: () => createZstdDecompress(CHUNK),
  // Some servers leave out the header of zlib, whose low half-byte would be 8.
  deflate: (bytes) => (((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate(CHUNK) : createInflateRaw(CHUNK)),
};

/** Reads a stream to its end, but no more than so many bytes. */
export async function readBytes(body: AsyncIterable<Buffer>, { maxBytes, take }: BodyLimits): Promise<Buffer> {
  const parts = new KeptParts();
  const small = new SmallParts(MOST_OF_A_TURN);
  for await (const chunk of body) {
    if (parts.size + chunk.length > maxBytes) throw tooLarge(maxBytes);
    if (small.reached(chunk.length)) await delay(PAUSE_MS);
    await take(chunk.length);
    parts.push(chunk);
  }
  return parts.whole();
}

/** The text of a body: decompressed, within the limit, and UTF-8. */
export async function decodeBody(bytes: Buffer, encoding: string | undefined, limits: BodyLimits): Promise<Buffer> {
  let decoded = bytes;
  // As a list, the last one was applied last.
  for (const name of (encoding ?? '').toLowerCase().split(',').toReversed()) {
    decoded = await decompressed(decoded, name.trim(), limits);
  }
  if (!isUtf8(decoded)) throw new UnreadableBody('not_json', 'the answer is not UTF-8');
  return decoded;
}

async function decompressed(bytes: Buffer, encoding: string, limits: BodyLimits): Promise<Buffer> {
  if (encoding === '' || encoding === 'identity' || bytes.length === 0) return bytes;
  const decompress = Object.hasOwn(DECOMPRESS, encoding) ? DECOMPRESS[encoding] : undefined;
  if (decompress === undefined) throw new UnreadableBody('not_json', 'the answer has an unknown content-encoding');
  const stream = decompress(bytes);
  let broken = false;
  stream.on('error', () => (broken = true)).end(bytes);
  try {
    return await readBytes(stream as AsyncIterable<Buffer>, limits);
  } catch (error) {
    if (!broken) throw error;
    throw new UnreadableBody('network', `the answer is not the ${encoding} that it says it is, or ends too early`);
  }
}

export const tooLarge = (maxBytes: number): UnreadableBody =>
  new UnreadableBody('too_large', `the answer is larger than ${maxBytes} bytes`);
