import { addAbortSignal, type Readable } from 'node:stream';
import {
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { S3 } from '../../../crds/config/adapter-file/storage.ts';
import type { FileRecord } from '../../state/file-records.ts';
import { contentDisposition } from '../keys/content-disposition.ts';
import { FileRefused, type FileKey } from '../keys/file-key.ts';
import { s3Client } from './s3-client.ts';
import { folderOf, keyOf, placeOf } from './s3-keys.ts';
import { putObject, type Source } from './s3-put.ts';
import { S3Removal } from './s3-remove.ts';
import { S3Requests } from './s3-requests.ts';
import { UnfinishedUploads } from './s3-unfinished.ts';
import { type BlobStore, BlobStoreFailed } from './blob-store.ts';

/** What S3 allows, in seconds. */
const LONGEST_URL = 604_800;

type ListedFile = FileKey & { readonly modifiedAt: number };

/** A bucket of Amazon S3 or of a server that speaks its protocol. */
export class S3BlobStore implements BlobStore {
  readonly #settings: S3;
  readonly #client: S3Client;
  /** Signs for the name by which others reach the server. */
  readonly #presigner: S3Client;
  readonly #requests: S3Requests;
  readonly #removal: S3Removal;
  readonly #unfinished: UnfinishedUploads;

  constructor(settings: S3) {
    this.#settings = settings;
    this.#client = s3Client(settings, settings.endpoint);
    const { public_endpoint: named } = settings;
    this.#presigner = named === null ? this.#client : s3Client(settings, named);
    this.#requests = new S3Requests(this.#client, settings.bucket);
    this.#removal = new S3Removal(this.#requests);
    this.#unfinished = new UnfinishedUploads(this.#requests);
  }

  async put(file: FileRecord, source: Source, signal?: AbortSignal): Promise<void> {
    const headers = {
      ...this.#object(file),
      ContentType: mediaType(file.mimeType),
      ContentDisposition: contentDisposition('attachment', file.filename),
      ...(file.sha256 === null ? {} : { Metadata: { sha256: file.sha256 } }),
    };
    await this.#requests.run(signal, (limit) =>
      putObject(headers, source, {
        client: this.#client,
        sha256: file.sha256,
        isPassing: (error) => {
          const failure = this.#requests.failure(error);
          return failure instanceof BlobStoreFailed && failure.reason === 'unreachable';
        },
        signal: limit,
      }),
    );
  }

  async url(
    file: FileKey & Pick<FileRecord, 'mimeType'>,
    { expiresInSeconds, as }: { expiresInSeconds: number; as: 'attachment' | 'inline' },
  ): Promise<string> {
    const command = new GetObjectCommand({
      ...this.#object(file),
      ResponseContentDisposition: contentDisposition(as, file.filename),
      ResponseContentType: mediaType(file.mimeType),
    });
    const expiresIn = Math.min(Math.max(1, Math.floor(expiresInSeconds)), LONGEST_URL);
    // Nothing is sent, but the credentials may have to be fetched.
    return await this.#requests.send(undefined, (_, signal) =>
      untilAborted(getSignedUrl(this.#presigner, command, { expiresIn }), signal),
    );
  }

  async get(file: FileKey, signal?: AbortSignal): Promise<AsyncIterable<Buffer>> {
    return await this.#requests.run(signal, async (abortSignal) => {
      const command = new GetObjectCommand(this.#object(file));
      const { Body, ContentLength } = await this.#client.send(command, { abortSignal });
      const body = Body as Readable;
      if (signal !== undefined) addAbortSignal(signal, body);
      return this.#whole(body, ContentLength, signal);
    });
  }

  async has(file: FileKey, signal?: AbortSignal): Promise<boolean> {
    const command = new HeadObjectCommand(this.#object(file));
    try {
      await this.#requests.send(signal, (client, abortSignal) => client.send(command, { abortSignal }));
      return true;
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      // The answer to HEAD has no body, so that it may be the whole bucket that is not there.
      await this.check(signal);
      return false;
    }
  }

  async remove(files: readonly FileKey[], signal?: AbortSignal): Promise<void> {
    const keys = files.map((file) => keyOf(this.#settings.prefix, file));
    await this.#unfinished.forget(keys, signal);
    await this.#removal.remove(keys, signal);
  }

  async *items(signal: AbortSignal): AsyncGenerator<ListedFile> {
    const { prefix } = this.#settings;
    for (const kind of ['upload', 'artifact'] as const) {
      const folder = folderOf(prefix, kind);
      for await (const { key, begunAt } of this.#unfinished.list(folder, signal)) {
        const place = placeOf(prefix, kind, key);
        if (place !== undefined) yield { ...place, modifiedAt: begunAt };
      }
      yield* this.#objects(kind, folder, signal);
    }
  }

  async check(signal?: AbortSignal): Promise<void> {
    const { bucket: Bucket, endpoint } = this.#settings;
    const command = new HeadBucketCommand({ Bucket });
    try {
      await this.#requests.send(signal, (client, abortSignal) => client.send(command, { abortSignal }));
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      throw new BlobStoreFailed('refused', `there is no bucket ${Bucket} at ${endpoint ?? 'Amazon S3'}`);
    }
  }

  close(): void {
    this.#client.destroy();
    this.#presigner.destroy();
  }

  #object(file: FileKey): { Bucket: string; Key: string } {
    return { Bucket: this.#settings.bucket, Key: keyOf(this.#settings.prefix, file) };
  }

  async *#objects(kind: FileKey['kind'], Prefix: string, signal: AbortSignal): AsyncGenerator<ListedFile> {
    const { bucket: Bucket, prefix } = this.#settings;
    let ContinuationToken: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken });
      const page = await this.#requests.send(signal, (client, abortSignal) => client.send(command, { abortSignal }));
      for (const { Key = '', LastModified } of page.Contents ?? []) {
        const place = placeOf(prefix, kind, Key);
        if (place !== undefined) yield { ...place, modifiedAt: LastModified?.getTime() ?? Date.now() };
      }
      ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
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
      throw this.#requests.failure(error);
    }
    if (length !== undefined && size !== length) {
      throw new BlobStoreFailed('unreachable', `the bucket ${this.#settings.bucket} sent ${size} of ${length} bytes`);
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
