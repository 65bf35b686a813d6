import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { S3 } from '../../../crds/config/adapter-file/storage.ts';
import { openBlobStore } from './open-blob-store.ts';
import { BlobStoreFailed } from './blob-store.ts';
import { S3_START_MS, startS3, type TestS3, whyNoS3Server } from '../testing/s3-server.ts';

const unavailable = await whyNoS3Server();

describe('at the start', () => {
  let server: TestS3;

  beforeAll(async () => {
    if (unavailable !== undefined) return;
    server = await startS3();
  }, S3_START_MS);
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server?.[Symbol.asyncDispose]();
  });
  beforeEach(({ skip }) => {
    if (unavailable !== undefined) skip(unavailable);
    for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
  });

  const settings = (changes: Partial<S3> = {}): S3 => ({
    bucket: server.bucket,
    prefix: '',
    endpoint: server.endpoint,
    public_endpoint: null,
    region: 'us-east-1',
    force_path_style: null,
    presign_ttl_seconds: 900,
    ...changes,
  });

  test('a bucket that can be used is opened without a word', async () => {
    const told = vi.fn<(message: string, error: unknown) => void>();
    const blobStore = await openBlobStore(settings(), told);
    expect(await blobStore?.items(AbortSignal.timeout(5_000))[Symbol.asyncIterator]().next()).toMatchObject({
      done: true,
    });
    expect(told).not.toHaveBeenCalled();
    blobStore?.close();
  });

  test('no bucket is none', async () => {
    expect(await openBlobStore(null, () => expect.fail('told'))).toBeUndefined();
  });

  test.each([
    ['a bucket that does not exist', { bucket: 'nowhere' }, {}, 'storage.s3: there is no bucket nowhere at http://'],
    ['a wrong secret', {}, { AWS_SECRET_ACCESS_KEY: 'wrong' }, 'storage.s3: the bucket files cannot be used: '],
  ])('%s ends it, with what to do', async (_, changes, env, says) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const opening = openBlobStore(settings(changes), () => expect.fail('told'));
    await expect(opening).rejects.toThrow(says);
    await expect(opening).rejects.toThrow('s3:ListBucket');
  });

  test('a server that does not answer is told and waited for', async () => {
    const told = vi.fn<(message: string, error: unknown) => void>();
    const blobStore = await openBlobStore(settings({ endpoint: 'http://127.0.0.1:9' }), told);
    expect(told).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('storage.s3 does not answer'),
      expect.any(BlobStoreFailed),
    );
    blobStore?.close();
  });
});
