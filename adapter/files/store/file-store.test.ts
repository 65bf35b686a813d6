import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FileRecord } from '../../state/file-records.ts';
import { DiskStagingArea } from '../disk/disk-staging-area.ts';
import { FileStore } from './file-store.ts';
import { type FileKey, FileRefused, type OpenedFile, StorageFault } from '../keys/file-key.ts';
import type { BlobStore } from '../s3/blob-store.ts';
import { fileRecord, newId } from '../testing/stored-files.ts';

/** A bucket in memory. */
class Bucket implements BlobStore {
  readonly objects = new Map<string, Buffer>();
  down = false;

  async put(file: FileRecord, source: Pick<OpenedFile, 'size' | 'read'>): Promise<void> {
    this.#up();
    this.objects.set(file.fileId, await bytesOf(source.read()));
  }

  async url(file: FileKey): Promise<string> {
    return `https://bucket.test/${file.fileId}`;
  }

  async get(file: FileKey): Promise<AsyncIterable<Buffer>> {
    this.#up();
    const bytes = this.objects.get(file.fileId);
    if (bytes === undefined) throw new FileRefused('missing', 'not in the bucket');
    return (async function* () {
      for (let i = 0; i < bytes.length; i += 1000) yield bytes.subarray(i, i + 1000);
    })();
  }

  async has(file: FileKey): Promise<boolean> {
    return this.objects.has(file.fileId);
  }

  async remove(files: readonly FileKey[]): Promise<void> {
    this.#up();
    for (const { fileId } of files) this.objects.delete(fileId);
  }

  async *items(): AsyncGenerator<never> {}
  async check(): Promise<void> {}
  close(): void {}

  #up(): void {
    if (this.down) throw new Error('the bucket is down');
  }
}

async function bytesOf(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of parts) chunks.push(chunk);
  return Buffer.concat(chunks);
}

let root: string;
let stage: DiskStagingArea;
let bucket: Bucket;
let told: string[];
let errors: string[];
let known: Set<string>;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'file-store-'));
  stage = await DiskStagingArea.open({ root, access: 'group', atomicWrites: false, locatorRoots: [], forbidden: [] });
  [bucket, told, errors, known] = [new Bucket(), [], [], new Set()];
});
afterEach(() => rm(root, { recursive: true }));

const storeWith = (second?: BlobStore, blobTimeoutMs?: number): FileStore =>
  new FileStore({
    stage,
    blobStore: second,
    blobTimeoutMs,
    records: { known: async (_, ids) => new Set(ids.filter((id) => known.has(id))) },
    telemetry: { filesRemoved: ({ kind, reason, files }) => void told.push(`${kind} ${reason} ${files}`) },
    onError: (message, error) => void errors.push(`${message}: ${String(error)}`),
  });

async function kept(files: FileStore, changes: Partial<FileRecord> = {}): Promise<FileRecord> {
  const bytes = randomBytes(5000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const file = fileRecord({ sizeBytes: bytes.length, sha256, ...changes });
  known.add(file.fileId);
  const writer = await files.create(file);
  await writer.write(bytes);
  await writer.finish();
  await files.secure(file);
  return file;
}

async function digest(files: FileStore, file: FileRecord): Promise<string> {
  await using opened = await files.open(file);
  return createHash('sha256')
    .update(await bytesOf(opened.read()))
    .digest('hex');
}

describe('without object storage', () => {
  test('a file is where it was written, and nowhere else', async () => {
    const files = storeWith();
    const file = await kept(files);
    expect(await digest(files, file)).toBe(file.sha256);
    expect(await files.url(file, { expiresInSeconds: 60, as: 'inline' })).toBeUndefined();
    await stage.removeItem(file);
    await expect(files.open(file)).rejects.toMatchObject({ name: 'FileRefused', reason: 'missing' });
  });
});

describe('T7: a file that somebody has changed', () => {
  test.each([10, 5000])('is not given out, which the log says: %i bytes', async (bytes) => {
    const files = storeWith();
    const file = await kept(files);
    await writeFile(stage.pathOf(file), 'x'.repeat(bytes));
    await expect(files.open(file)).rejects.toMatchObject({ name: 'FileRefused', reason: 'changed' });
    expect(errors.join()).toContain(`upload ${file.fileId} has `);
  });
});

describe('with object storage', () => {
  test('a file that is gone from the shared folder comes back as it was', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeSession(file.sessionId);
    expect(await digest(files, file)).toBe(file.sha256);
    bucket.down = true;
    expect(await digest(files, file)).toBe(file.sha256);
    expect(await files.url(file, { expiresInSeconds: 60, as: 'inline' })).toBe(`https://bucket.test/${file.fileId}`);
  });

  test('many readers of a file that is gone all get it whole', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeSession(file.sessionId);
    const digests = await Promise.all(Array.from({ length: 20 }, () => digest(files, file)));
    expect(digests).toEqual(digests.map(() => file.sha256));
    expect(await readdir(join(stage.pathOf(file), '..'))).toEqual([file.filename]);
  });

  test.each([
    ['shorter', (bytes: Buffer) => bytes.subarray(1)],
    ['longer', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('x')])],
    ['another one', (bytes: Buffer) => Buffer.from(bytes).fill(0, 10, 20)],
  ])('bytes that are not those of the record are not given out: %s', async (_, change) => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeSession(file.sessionId);
    bucket.objects.set(file.fileId, change(bucket.objects.get(file.fileId) ?? Buffer.alloc(0)));
    await expect(files.open(file)).rejects.toMatchObject({ reason: 'changed' });
    expect(await stage.filesIn(file)).toEqual([]);
  });

  test('what is in neither place is missing', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeItem(file);
    bucket.objects.clear();
    await expect(files.open(file)).rejects.toMatchObject({ reason: 'missing' });
  });

  test('nothing is asked of object storage when the shared folder cannot take it', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeItem(file);
    const asked = vi.spyOn(bucket, 'get');
    vi.spyOn(stage, 'create').mockRejectedValueOnce(new StorageFault('ENOSPC', 'full'));
    await expect(files.open(file)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(asked).not.toHaveBeenCalled();
    expect(await digest(files, file)).toBe(file.sha256);
  });

  test('object storage that does not answer leaves nothing', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeItem(file);
    bucket.down = true;
    await expect(files.open(file)).rejects.toThrow('the bucket is down');
    expect(await readdir(join(root, 'uploads', 'sessions', file.sessionId))).toEqual([]);
  });

  test('a link in the place of a file is not repaired by object storage', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await rename(stage.pathOf(file), join(root, 'elsewhere'));
    await symlink(join(root, 'elsewhere'), stage.pathOf(file));
    await expect(files.open(file)).rejects.toMatchObject({ reason: 'linked' });
    await expect(files.secure(file)).rejects.toMatchObject({ reason: 'linked' });
  });

  test('a file that was removed while it came back leaves nothing', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeSession(file.sessionId);
    known.clear();
    await expect(files.open(file)).rejects.toMatchObject({ reason: 'missing' });
    expect(await stage.filesIn(file)).toEqual([]);
  });

  test('a reader who goes away ends the fetching and leaves nothing', async () => {
    const files = storeWith(bucket);
    const file = await kept(files);
    await stage.removeSession(file.sessionId);
    await expect(files.open(file, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(await readdir(join(root, 'uploads', 'sessions', file.sessionId))).toEqual([]);
  });
});

describe('discarding', () => {
  test('both homes, and what was removed is told by kind', async () => {
    const files = storeWith(bucket);
    const records = [
      await kept(files),
      await kept(files, { kind: 'artifact' }),
      await kept(files, { kind: 'artifact', sizeBytes: 7 }),
    ];
    await files.discard(records, 'evicted');
    expect(told).toEqual(['upload evicted 1', 'artifact evicted 2']);
    expect(bucket.objects.size).toBe(0);
    for (const file of records) expect(await stage.filesIn(file)).toEqual([]);
    await files.discard([], 'evicted');
    expect(told).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  test('a failure of one is told and stops none of the others', async () => {
    const files = storeWith(bucket);
    const records = await Promise.all(Array.from({ length: 30 }, () => kept(files)));
    bucket.down = true;
    await files.discard([fileRecord({ fileId: '../..' }), ...records], 'expired');
    for (const file of records) expect(await stage.filesIn(file)).toEqual([]);
    expect(errors).toHaveLength(2);
    expect(errors.join('\n')).toContain('the bucket is down');
    expect(errors.join('\n')).toContain('an id is none');
  });

  test('object storage that does not answer is not waited for when it ends, nor again and again', async () => {
    const files = storeWith(bucket, 20);
    const records = [await kept(files), await kept(files), await kept(files)] as const;
    const asked = vi
      .spyOn(bucket, 'remove')
      .mockImplementation(
        (_files: unknown, signal?: AbortSignal) =>
          new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
      );
    const stop = new AbortController();
    const discarding = files.discard([records[0]], 'expired', stop.signal);
    stop.abort();
    await discarding;
    await files.discard([records[1]], 'expired');
    await files.discard([records[2]], 'expired');
    expect(asked).toHaveBeenCalledTimes(2);
    expect(errors).toHaveLength(3);
    for (const file of records) expect(await stage.filesIn(file)).toEqual([]);
  });

  test('all of a session, and nothing of another one', async () => {
    const files = storeWith();
    const sessionId = newId();
    const [file, other] = [await kept(files, { sessionId }), await kept(files)];
    await mkdir(join(root, 'artifacts', 'sessions', sessionId), { recursive: true });
    await writeFile(join(root, 'artifacts', 'sessions', sessionId, 'loose'), 'x');
    await files.discardSession(sessionId);
    expect(await readdir(join(root, 'uploads', 'sessions'))).toEqual([other.sessionId]);
    expect(await readdir(join(root, 'artifacts', 'sessions'))).toEqual([]);
    await files.discardSession(file.sessionId);
    await files.discardSession('../..');
    expect(errors).toHaveLength(1);
    expect((await readFile(stage.pathOf(other))).length).toBe(5000);
  });
});
