import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { MAX_SESSION_FILES } from '../../state/file-records.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import type { FileWriter } from '../keys/file-key.ts';
import { ProcessLocks } from '../locks/process-lock.ts';
import { Quotas } from '../store/quotas.ts';
import { fileRecord, type StoredFiles, storedFiles } from '../testing/stored-files.ts';
import { UploadBatch } from './upload-batch.ts';

let files: StoredFiles;
afterEach(() => files[Symbol.asyncDispose]());

/** A batch of the session; `create` stands for the disk. */
async function batchOf(create?: () => Promise<FileWriter>): Promise<{ batch: UploadBatch; session: SessionRecord }> {
  files = await storedFiles();
  const session = await files.session();
  const records = files.store.files;
  const limits = { maxTotal: null, maxSession: null, evictFirst: 'upload' } as const;
  const times = { uploadTtlMs: null, artifactTtlMs: null };
  const bytes = files.bytes;
  if (create !== undefined) bytes.create = create;
  const batch = new UploadBatch(
    {
      records,
      files: bytes,
      quotas: new Quotas({ records, files: bytes, limits, times, clock: Date.now }),
      locks: new ProcessLocks(),
      maxFileBytes: 10_000_000,
      clock: Date.now,
    },
    { serverId: session.serverId, sessionId: session.sessionId },
    null,
  );
  return { batch, session };
}

describe('while a part of a file is written', () => {
  /** A disk on which each step takes until somebody lets it end. */
  class SlowDisk implements FileWriter {
    readonly steps: { readonly bytes: Buffer; readonly end: PromiseWithResolvers<void> }[] = [];
    readonly written: Buffer[] = [];
    readonly calls: string[] = [];
    step = Promise.withResolvers<void>();
    isPatient = true;

    async write(chunk: Uint8Array): Promise<void> {
      const step = { bytes: Buffer.from(chunk), end: Promise.withResolvers<void>() };
      this.steps.push(step);
      // Both would begin at the same place of the file.
      expect(this.calls.at(-1)).not.toBe('write');
      this.calls.push('write');
      this.step.resolve();
      if (this.isPatient) await step.end.promise;
      else await nextTurn();
      // What was given must be what is there in the end: nobody may fill the buffer again meanwhile.
      expect(step.bytes.equals(chunk)).toBe(true);
      this.written.push(step.bytes);
      this.calls.push('written');
    }
    async finish(): Promise<void> {
      this.calls.push('finish');
    }
    async abort(): Promise<void> {
      this.calls.push('abort');
    }
    /** Lets the step end that is under way, or the next one. */
    async letEnd(fail?: Error): Promise<void> {
      await this.step.promise;
      this.step = Promise.withResolvers<void>();
      const { end } = this.steps.at(-1) ?? expect.unreachable();
      if (fail === undefined) end.resolve();
      else end.reject(fail);
    }
  }

  const CHUNK = 64 * 1024;
  const content = randomBytes(40 * CHUNK);

  test('the next one comes in, and no more than that; in the end every byte is in its place', async () => {
    const disk = new SlowDisk();
    const { batch } = await batchOf(async () => disk);
    let sent = 0;
    async function* body(): AsyncGenerator<Buffer> {
      for (; sent < content.length; sent += CHUNK) yield content.subarray(sent, sent + CHUNK);
    }
    const adding = batch.add({ filename: 'a.bin', mimeType: 'a/b', content: body() });
    await disk.step.promise;
    await turn(50);
    expect(disk.steps).toHaveLength(1);
    expect(sent / CHUNK).toBeGreaterThan(2);
    expect(sent / CHUNK).toBeLessThan(12);
    disk.isPatient = false;
    await disk.letEnd();
    await adding;
    expect(Buffer.concat(disk.written).equals(content)).toBe(true);
    expect(disk.calls.at(-1)).toBe('finish');
    expect(batch.records[0]).toMatchObject({
      sizeBytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    });
    batch.close();
  });

  test('the rest of the file waits for it', async () => {
    const disk = new SlowDisk();
    const { batch } = await batchOf(async () => disk);
    const adding = batch.add({ filename: 'a.bin', mimeType: 'a/b', content: only(content.subarray(0, CHUNK + 1)) });
    await disk.step.promise;
    await turn(50);
    expect(disk.calls).toEqual(['write']);
    await disk.letEnd();
    await disk.letEnd();
    await adding;
    expect(disk.calls).toEqual(['write', 'written', 'write', 'written', 'finish']);
  });

  test('a client that goes away is told only when nothing is written any more', async () => {
    const disk = new SlowDisk();
    const { batch } = await batchOf(async () => disk);
    async function* body(): AsyncGenerator<Buffer> {
      yield content.subarray(0, 2 * CHUNK);
      throw new Error('gone');
    }
    const failed = batch.add({ filename: 'a.bin', mimeType: 'a/b', content: body() }).catch((error: unknown) => {
      disk.calls.push('failed');
      return error;
    });
    await disk.step.promise;
    await turn(50);
    expect(disk.calls).toEqual(['write']);
    await disk.letEnd();
    expect(await failed).toMatchObject({ message: 'gone' });
    expect(disk.calls).toEqual(['write', 'written', 'failed']);
  });

  test('its failure ends the file', async () => {
    const disk = new SlowDisk();
    const { batch } = await batchOf(async () => disk);
    const adding = batch.add({ filename: 'a.bin', mimeType: 'a/b', content: only(content) });
    const failed = expect(adding).rejects.toThrow('the disk is full');
    await disk.letEnd(new Error('the disk is full'));
    await failed;
    expect(disk.calls).toEqual(['write']);
  });
});

async function* only(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

async function turn(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

test('empty files are refused too, once a session has as many files as it may have', async () => {
  const { batch, session } = await batchOf();
  const { serverId, sessionId } = session;
  const records = files.store.files;
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
