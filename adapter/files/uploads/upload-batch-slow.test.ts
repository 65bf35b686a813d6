import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { ProcessLocks } from '../locks/process-lock.ts';
import { Quotas } from '../store/quotas.ts';
import { type StoredFiles, storedFiles } from '../testing/stored-files.ts';
import { UploadBatch } from './upload-batch.ts';

let files: StoredFiles;
afterEach(() => files[Symbol.asyncDispose]());

test('a file that comes slowly is written on each sign of life, so that the sweeper sees that it grows', async () => {
  files = await storedFiles();
  const { serverId, sessionId } = await files.session();
  const records = files.store.files;
  const limits = { maxTotal: null, maxSession: null, evictFirst: 'upload' } as const;
  const times = { uploadTtlMs: null, artifactTtlMs: null };
  const quotas = new Quotas({ records, files: files.bytes, limits, times, clock: Date.now });
  const deps = { records, files: files.bytes, quotas, locks: new ProcessLocks(), maxFileBytes: 10, clock: Date.now };
  const batch = new UploadBatch(deps, { serverId, sessionId }, null);

  const written = async (): Promise<number> => {
    const [record] = batch.records;
    if (record === undefined) return expect.unreachable();
    const folder = dirname(files.pathOf(record));
    const [name = ''] = await readdir(folder);
    return (await stat(join(folder, name))).size;
  };
  const sizes: number[] = [];
  async function* slowly(): AsyncGenerator<Buffer> {
    for (const byte of ['a', 'b', 'c']) {
      yield Buffer.from(byte);
      sizes.push(await written());
      if (byte === 'a') await batch.keepAlive();
    }
  }
  await batch.add({ filename: 'slow.txt', mimeType: 'text/plain', content: slowly() });
  expect(sizes).toEqual([0, 2, 2]);
  expect(await written()).toBe(3);
  expect((await batch.commit())[0]).toMatchObject({ sizeBytes: 3 });
});
