import { afterEach, expect, test } from 'vitest';
import { MAX_SESSION_FILES } from '../state/file-records.ts';
import { ProcessLocks } from './process-lock.ts';
import { Quotas } from './quotas.ts';
import { fileRecord, type StoredFiles, storedFiles } from './testing/stored-files.ts';
import { UploadBatch } from './upload-batch.ts';

let files: StoredFiles;
afterEach(() => files[Symbol.asyncDispose]());

test('empty files are refused too, once a session has as many files as it may have', async () => {
  files = await storedFiles();
  const session = await files.session();
  const { serverId, sessionId } = session;
  const records = files.store.files;
  const batch = new UploadBatch(
    {
      records,
      files: files.bytes,
      quotas: new Quotas({
        records,
        files: files.bytes,
        limits: { maxTotal: null, maxSession: null, evictFirst: 'upload' },
        times: { uploadTtlMs: null, artifactTtlMs: null },
        clock: Date.now,
      }),
      locks: new ProcessLocks(),
      maxFileBytes: 10,
      clock: Date.now,
    },
    { serverId, sessionId },
    null,
  );
  const leaseUntil = Date.now() + 60_000;
  const others = Array.from({ length: MAX_SESSION_FILES - 1 }, () =>
    fileRecord({ serverId, sessionId, state: 'pending', sizeBytes: 0, leaseUntil }),
  );
  await records.begin(others, { now: Date.now(), maxArtifacts: null });
  const empty = () => ({ filename: 'empty.txt', mimeType: 'text/plain', content: nothing() });

  await batch.add(empty());
  const error: unknown = await batch.add(empty()).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'session_quota', status: 507, message: expect.stringContaining('10000 files') });
  expect(await batch.discard(error)).toBe(error);
  expect(await records.purge(session)).toHaveLength(MAX_SESSION_FILES - 1);
});

async function* nothing(): AsyncGenerator<Buffer> {
  // A file without content.
}
