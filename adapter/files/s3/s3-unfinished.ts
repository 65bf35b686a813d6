import { AbortMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import type { S3Requests } from './s3-requests.ts';
import { BlobStoreFailed } from './blob-store.ts';

/**
 * Uploads in parts that were begun and not completed; their parts take up space, and no listing of objects shows them.
 * It remembers what it has listed last, because only that says which uploads an object has.
 */
export class UnfinishedUploads {
  readonly #requests: S3Requests;
  readonly #listed = new Map<string, string[]>();

  constructor(requests: S3Requests) {
    this.#requests = requests;
  }

  /**
   * None where the server does not know such a request or the credentials do not allow it: the bucket's own rules can
   * remove them too.
   */
  async *list(Prefix: string, signal: AbortSignal): AsyncGenerator<{ readonly key: string; readonly begunAt: number }> {
    const Bucket = this.#requests.bucket;
    for (const key of this.#listed.keys()) if (key.startsWith(Prefix)) this.#listed.delete(key);
    let from: { KeyMarker: string | undefined; UploadIdMarker: string | undefined } | undefined;
    do {
      const command = new ListMultipartUploadsCommand({ Bucket, Prefix, ...from });
      const page = await this.#requests
        .send(signal, (client, abortSignal) => client.send(command, { abortSignal }))
        .catch((error: unknown) => {
          if (error instanceof BlobStoreFailed && error.reason !== 'unreachable') return undefined;
          throw error;
        });
      for (const { Key: key, UploadId: id, Initiated } of page?.Uploads ?? []) {
        if (key === undefined || id === undefined) continue;
        this.#listed.set(key, [...(this.#listed.get(key) ?? []), id]);
        yield { key, begunAt: Initiated?.getTime() ?? Date.now() };
      }
      const isMore = page?.IsTruncated === true && page.NextKeyMarker !== undefined && page.NextKeyMarker !== '';
      from = isMore ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined;
    } while (from !== undefined);
  }

  /** Gives up those that were listed. */
  async forget(keys: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    if (this.#listed.size === 0) return;
    for (const Key of keys) {
      for (const UploadId of this.#listed.get(Key) ?? []) {
        const command = new AbortMultipartUploadCommand({ Bucket: this.#requests.bucket, Key, UploadId });
        const abort = this.#requests.send(signal, (client, abortSignal) => client.send(command, { abortSignal }));
        // It may have been completed or given up meanwhile, which servers say in different ways.
        await abort.catch((error: unknown) => {
          if (!(error instanceof BlobStoreFailed) || error.reason === 'unreachable') throw error;
        });
      }
      this.#listed.delete(Key);
    }
  }
}
