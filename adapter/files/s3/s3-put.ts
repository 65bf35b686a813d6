import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { FileRefused, type OpenedFile } from '../keys/file-key.ts';

/** The source of an object. Can be read again, so that a part can be sent again. */
export type Source = Pick<OpenedFile, 'size' | 'read'>;

/** Everything of a request but its bytes. */
export type ObjectHeaders = Omit<PutObjectCommandInput, 'Body' | 'ContentLength'>;

export interface PutOptions {
  readonly client: S3Client;
  /** Hexadecimal; null when it is not known. */
  readonly sha256: string | null;
  /** Of an error that time may heal. */
  readonly isPassing: (error: unknown) => boolean;
  readonly signal: AbortSignal;
  /** Bytes of a part, and the most that is sent in one request. At least 5 MiB (S3). */
  readonly partBytes?: number;
  /** Before an attempt is repeated; doubled each time. */
  readonly pauseMs?: number;
}

interface Range {
  /** Inclusive, both. */
  readonly start: number;
  readonly end: number;
}

const PART_BYTES = 64 * 1024 * 1024;
const MAX_PARTS = 10_000;
const ATTEMPTS = 3;
const PAUSE_MS = 200;
/** How long the server may take to forget the parts of an object that is given up. */
const ABORT_MS = 10_000;

/**
 * Sends a file as an object, in parts when it is large. Bytes go from the file to the connection without being held,
 * and their hash is signed with the request, so that the server refuses others. (lib-storage holds whole parts in memory,
 * and when it is stopped, its requests go on.)
 */
export async function putObject(headers: ObjectHeaders, source: Source, options: PutOptions): Promise<void> {
  const { size } = source;
  const partBytes = Math.max(options.partBytes ?? PART_BYTES, Math.ceil(size / MAX_PARTS));
  if (size > partBytes) return await putParts(headers, source, partBytes, options);
  const range = { start: 0, end: size - 1 };
  const sha256 = options.sha256 ?? (await hashOf(source, range, options.signal));
  await send(source, range, sha256, options, (body, length) => {
    return new PutObjectCommand({ ...headers, Body: body, ContentLength: length });
  });
}

async function putParts(headers: ObjectHeaders, source: Source, partBytes: number, options: PutOptions): Promise<void> {
  const { client, signal } = options;
  const { Bucket, Key } = headers;
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(headers), { abortSignal: signal });
  const parts: { PartNumber: number; ETag: string | undefined }[] = [];
  try {
    const whole = createHash('sha256');
    for (let start = 0; start < source.size; start += partBytes) {
      const range = { start, end: Math.min(start + partBytes, source.size) - 1 };
      const PartNumber = parts.length + 1;
      const sha256 = await hashOf(source, range, signal, whole);
      const { ETag } = await send(source, range, sha256, options, (body, length) => {
        return new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body: body, ContentLength: length });
      });
      parts.push({ PartNumber, ETag });
    }
    if (options.sha256 !== null && whole.digest('hex') !== options.sha256) throw changed();
    const MultipartUpload = { Parts: parts };
    await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }), {
      abortSignal: signal,
    });
  } catch (error) {
    // What it does not forget now costs space until the bucket's own rules remove it.
    await client
      .send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), { abortSignal: AbortSignal.timeout(ABORT_MS) })
      .catch(() => undefined);
    throw error;
  }
}

/** One request with a body. The SDK does not repeat those, because it cannot read a stream again. */
async function send(
  source: Source,
  range: Range,
  sha256: string,
  { client, isPassing, signal, pauseMs = PAUSE_MS }: PutOptions,
  command: (body: Readable, length: number) => PutObjectCommand | UploadPartCommand,
): Promise<{ ETag?: string | undefined }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(client, source, range, sha256, signal, command);
    } catch (error) {
      signal.throwIfAborted();
      if (attempt === ATTEMPTS || !isPassing(error)) throw error;
    }
    await delay(pauseMs * 2 ** (attempt - 1), undefined, { signal });
  }
}

async function sendOnce(
  client: S3Client,
  source: Source,
  range: Range,
  sha256: string,
  signal: AbortSignal,
  command: (body: Readable, length: number) => PutObjectCommand | UploadPartCommand,
): Promise<{ ETag?: string | undefined }> {
  const length = range.end - range.start + 1;
  const unread = new AbortController();
  const body = Readable.from(exactly(source, range, signal), { objectMode: false });
  // A body that fails does not end its request by itself, which would wait for the rest of the bytes.
  body.once('error', (error) => unread.abort(error));
  // The types of the two commands have no common form that `send` takes.
  const request = command(body, length) as PutObjectCommand;
  request.middlewareStack.add(
    (next) => async (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      headers['x-amz-content-sha256'] = sha256;
      return await next(args);
    },
    { step: 'build', name: 'signBody' },
  );
  try {
    return await client.send(request, { abortSignal: AbortSignal.any([signal, unread.signal]) });
  } catch (error) {
    signal.throwIfAborted();
    unread.signal.throwIfAborted();
    throw error;
  } finally {
    body.destroy();
  }
}

/** The bytes of a range, neither more nor fewer: the file may be growing or shrinking. */
async function* exactly(source: Source, { start, end }: Range, signal: AbortSignal): AsyncGenerator<Buffer> {
  let left = end - start + 1;
  if (left === 0) return;
  for await (const chunk of source.read({ start, end, signal })) {
    left -= chunk.length;
    if (left < 0) throw changed();
    yield chunk;
  }
  if (left > 0) throw changed();
}

async function hashOf(
  source: Source,
  range: Range,
  signal: AbortSignal,
  whole?: ReturnType<typeof createHash>,
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of exactly(source, range, signal)) {
    hash.update(chunk);
    whole?.update(chunk);
  }
  return hash.digest('hex');
}

const changed = (): FileRefused => new FileRefused('changed', 'the file changed while it was copied to the bucket');
