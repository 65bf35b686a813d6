import { addAbortSignal, type Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { S3 } from '../../crds/config/storage.ts';
import type { FileRecord } from '../state/file-records.ts';
import { contentDisposition } from './content-disposition.ts';
import { FileRefused, type FilePlace } from './places.ts';
import { s3Client } from './s3-client.ts';
import { isUnsupported, s3Failure } from './s3-errors.ts';
import { folderOf, keyOf, placeOf } from './s3-keys.ts';
import { putObject, type Source } from './s3-put.ts';
import { type SecondHome, SecondHomeFailed } from './second-home.ts';

/** For requests without a body, with all their attempts. */
const REQUEST_MS = 30_000;
/** What S3 deletes with one request. */
const BATCH = 1000;
/** Requests at the same time where each deletes one object. */
const SINGLE_DELETES = 8;
/** What S3 allows, in seconds. */
const LONGEST_URL = 604_800;

/** A bucket of Amazon S3 or of a server that speaks its protocol. */
export class S3Home implements SecondHome {
  readonly #settings: S3;
  readonly #client: S3Client;
  /** Signs for the name by which others reach the server. */
  readonly #presigner: S3Client;
  #deletesBatches = true;

  constructor(settings: S3) {
    this.#settings = settings;
    this.#client = s3Client(settings, settings.endpoint);
    const { public_endpoint: named } = settings;
    this.#presigner = named === null ? this.#client : s3Client(settings, named);
  }

  async put(file: FileRecord, source: Source, signal?: AbortSignal): Promise<void> {
    const headers = {
      ...this.#object(file),
      ContentType: mediaType(file.mimeType),
      ContentDisposition: contentDisposition('attachment', file.filename),
      ...(file.sha256 === null ? {} : { Metadata: { sha256: file.sha256 } }),
    };
    await this.#do(signal, (limit) =>
      putObject(headers, source, {
        client: this.#client,
        sha256: file.sha256,
        isPassing: (error) => this.#isPassing(error),
        signal: limit,
      }),
    );
  }

  async url(
    file: FilePlace & Pick<FileRecord, 'mimeType'>,
    { expiresInSeconds, as }: { expiresInSeconds: number; as: 'attachment' | 'inline' },
  ): Promise<string> {
    const command = new GetObjectCommand({
      ...this.#object(file),
      ResponseContentDisposition: contentDisposition(as, file.filename),
      ResponseContentType: mediaType(file.mimeType),
    });
    const expiresIn = Math.min(Math.max(1, Math.floor(expiresInSeconds)), LONGEST_URL);
    // Nothing is sent, but the credentials may have to be fetched.
    return await this.#request(undefined, (signal) =>
      untilAborted(getSignedUrl(this.#presigner, command, { expiresIn }), signal),
    );
  }

  async get(file: FilePlace, signal?: AbortSignal): Promise<AsyncIterable<Buffer>> {
    return await this.#do(signal, async (abortSignal) => {
      const { Body, ContentLength } = await this.#client.send(new GetObjectCommand(this.#object(file)), {
        abortSignal,
      });
      const body = Body as Readable;
      if (signal !== undefined) addAbortSignal(signal, body);
      return this.#whole(body, ContentLength, signal);
    });
  }

  async has(file: FilePlace, signal?: AbortSignal): Promise<boolean> {
    try {
      await this.#request(signal, (abortSignal) =>
        this.#client.send(new HeadObjectCommand(this.#object(file)), { abortSignal }),
      );
      return true;
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      // The answer to HEAD has no body, so that it may be the whole bucket that is not there.
      await this.check(signal);
      return false;
    }
  }

  async remove(files: readonly FilePlace[], signal?: AbortSignal): Promise<void> {
    for (let start = 0; start < files.length; start += BATCH) {
      const keys = files.slice(start, start + BATCH).map((file) => keyOf(this.#settings.prefix, file));
      if (keys.length === 1 || !this.#deletesBatches || !(await this.#removeBatch(keys, signal))) {
        await this.#removeEach(keys, signal);
      }
    }
  }

  async *items(signal: AbortSignal): AsyncGenerator<FilePlace & { readonly modifiedAt: number }> {
    const { bucket: Bucket, prefix } = this.#settings;
    for (const kind of ['upload', 'artifact'] as const) {
      let token: string | undefined;
      do {
        const command = new ListObjectsV2Command({ Bucket, Prefix: folderOf(prefix, kind), ContinuationToken: token });
        const page = await this.#request(signal, (abortSignal) => this.#client.send(command, { abortSignal }));
        for (const { Key = '', LastModified } of page.Contents ?? []) {
          const place = placeOf(prefix, kind, Key);
          if (place !== undefined) yield { ...place, modifiedAt: LastModified?.getTime() ?? 0 };
        }
        // A server that forgets to give the token would be asked for the first page for ever.
        token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (token !== undefined);
    }
  }

  async check(signal?: AbortSignal): Promise<void> {
    const { bucket: Bucket } = this.#settings;
    try {
      await this.#request(signal, (abortSignal) =>
        this.#client.send(new HeadBucketCommand({ Bucket }), { abortSignal }),
      );
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      throw new SecondHomeFailed(
        'refused',
        `there is no bucket ${Bucket} at ${this.#settings.endpoint ?? 'Amazon S3'}`,
      );
    }
  }

  close(): void {
    this.#client.destroy();
    this.#presigner.destroy();
  }

  #object(file: FilePlace): { Bucket: string; Key: string } {
    return { Bucket: this.#settings.bucket, Key: keyOf(this.#settings.prefix, file) };
  }

  /** @returns whether the server knows such requests */
  async #removeBatch(keys: readonly string[], signal: AbortSignal | undefined): Promise<boolean> {
    const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true };
    const command = new DeleteObjectsCommand({ Bucket: this.#settings.bucket, Delete });
    return await this.#request(signal, async (abortSignal) => {
      const outcome = await this.#client.send(command, { abortSignal }).catch((error: unknown) => {
        if (isUnsupported(error)) return undefined;
        throw error;
      });
      if (outcome === undefined) {
        this.#deletesBatches = false;
        return false;
      }
      const kept = outcome.Errors?.find(({ Code }) => Code !== 'NoSuchKey');
      if (kept !== undefined)
        throw Object.assign(new Error(), { name: kept.Code ?? 'Error', $metadata: outcome.$metadata });
      return true;
    });
  }

  async #removeEach(keys: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const left = [...keys];
    const work = async (): Promise<void> => {
      for (let Key = left.pop(); Key !== undefined; Key = left.pop()) {
        const command = new DeleteObjectCommand({ Bucket: this.#settings.bucket, Key });
        await this.#request(signal, (abortSignal) => this.#client.send(command, { abortSignal })).catch(
          (error: unknown) => {
            if (!(error instanceof FileRefused)) throw error;
          },
        );
      }
    };
    await Promise.all(Array.from({ length: Math.min(SINGLE_DELETES, keys.length) }, work));
  }

  /** The bytes of an answer, which may end too early. */
  async *#whole(
    body: Readable,
    length: number | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Buffer, void, undefined> {
    let size = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        size += chunk.length;
        yield chunk;
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw s3Failure(error, this.#settings.bucket);
    }
    if (length !== undefined && size !== length) {
      throw new SecondHomeFailed('unreachable', `the bucket ${this.#settings.bucket} sent ${size} of ${length} bytes`);
    }
  }

  #isPassing(error: unknown): boolean {
    const failure = s3Failure(error, this.#settings.bucket);
    return failure instanceof SecondHomeFailed && failure.reason === 'unreachable';
  }

  #request<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = AbortSignal.timeout(REQUEST_MS);
    return this.#do(signal, (own) => work(AbortSignal.any([own, limit])));
  }

  /** Errors of the SDK become ours; that of the caller's signal stays. */
  async #do<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await work(signal ?? new AbortController().signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw s3Failure(error, this.#settings.bucket);
    }
  }
}

/** What a header can hold; what a client said may be anything. */
const mediaType = (type: string): string => (/^[!-~][ -~]*$/.test(type) ? type : 'application/octet-stream');

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', onAbort));
}
