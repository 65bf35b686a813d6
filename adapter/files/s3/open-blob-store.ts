import type { S3 } from '../../../crds/config/adapter-file/storage.ts';
import { type BlobStore, BlobStoreFailed } from './blob-store.ts';

/** How long the start waits for an answer. */
const CHECK_MS = 5_000;

/**
 * Object storage that is configured. The SDK takes a while to load, and memory, so only who needs it pays for it.
 * Fails with a sentence for the log when it can never be used as it is configured; one that only does not answer now is
 * told to `onTrouble`.
 */
export async function openBlobStore(
  s3: S3 | null,
  onTrouble: (message: string, error: unknown) => void,
): Promise<BlobStore | undefined> {
  if (s3 === null) return undefined;
  const { S3BlobStore } = await import('./s3-blob-store.ts');
  const blobStore = new S3BlobStore(s3);
  try {
    await blobStore.check(AbortSignal.timeout(CHECK_MS));
  } catch (error) {
    if (error instanceof BlobStoreFailed && error.reason === 'refused') {
      blobStore.close();
      throw new Error(
        `storage.s3: ${error.message}. Name an existing bucket, and give the credentials in the environment the rights ` +
          's3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject.',
        { cause: error },
      );
    }
    onTrouble('storage.s3 does not answer; files can neither be stored nor fetched until it does', error);
  }
  return blobStore;
}
