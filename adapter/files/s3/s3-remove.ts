import { sideBySide } from '../../../lib/side-by-side.ts';
import { DeleteObjectCommand, DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { isUnsupported } from './s3-errors.ts';
import type { S3Requests } from './s3-requests.ts';
import { FileRefused } from '../keys/file-key.ts';

/** What S3 deletes with one request. */
const BATCH = 1000;
/** Requests at the same time where each deletes one object. */
const SINGLE_DELETES = 8;

/** Deletes objects: many with one request, or one by one where the server does not know that. */
export class S3Removal {
  readonly #requests: S3Requests;
  #deletesBatches = true;

  constructor(requests: S3Requests) {
    this.#requests = requests;
  }

  /** Harmless for what is not there. */
  async remove(keys: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    for (let start = 0; start < keys.length; start += BATCH) {
      const batch = keys.slice(start, start + BATCH);
      if (batch.length === 1 || !this.#deletesBatches || !(await this.#removeBatch(batch, signal))) {
        await this.#removeEach(batch, signal);
      }
    }
  }

  /** @returns whether the server knows such requests */
  async #removeBatch(keys: readonly string[], signal: AbortSignal | undefined): Promise<boolean> {
    const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true };
    const command = new DeleteObjectsCommand({ Bucket: this.#requests.bucket, Delete });
    return await this.#requests.send(signal, async (client, abortSignal) => {
      const outcome = await client.send(command, { abortSignal }).catch((error: unknown) => {
        if (isUnsupported(error)) return undefined;
        throw error;
      });
      if (outcome === undefined) {
        this.#deletesBatches = false;
        return false;
      }
      const kept = outcome.Errors?.find(({ Code }) => Code !== 'NoSuchKey');
      if (kept !== undefined) {
        throw Object.assign(new Error(), { name: kept.Code ?? 'Error', $metadata: outcome.$metadata });
      }
      return true;
    });
  }

  async #removeEach(keys: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    await sideBySide(keys, SINGLE_DELETES, async (Key) => {
      const command = new DeleteObjectCommand({ Bucket: this.#requests.bucket, Key });
      const deleted = this.#requests.send(signal, (client, abortSignal) => client.send(command, { abortSignal }));
      await deleted.catch((error: unknown) => {
        if (!(error instanceof FileRefused)) throw error;
      });
    });
  }
}
