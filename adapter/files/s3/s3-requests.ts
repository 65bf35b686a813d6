import type { S3Client } from '@aws-sdk/client-s3';
import { s3Failure } from './s3-errors.ts';

/** For requests without a body, with all their attempts. */
const REQUEST_MS = 30_000;

/** Requests to one bucket, whose errors come out as ours. */
export class S3Requests {
  readonly client: S3Client;
  readonly bucket: string;

  constructor(client: S3Client, bucket: string) {
    this.client = client;
    this.bucket = bucket;
  }

  /** A request that ends by itself after a while. */
  send<T>(signal: AbortSignal | undefined, work: (client: S3Client, signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = AbortSignal.timeout(REQUEST_MS);
    return this.run(signal, (own) => work(this.client, AbortSignal.any([own, limit])));
  }

  /** Errors of the SDK become ours; the reason of the caller's signal stays. */
  async run<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await work(signal ?? new AbortController().signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.failure(error);
    }
  }

  failure(error: unknown): ReturnType<typeof s3Failure> {
    return s3Failure(error, this.bucket);
  }
}
