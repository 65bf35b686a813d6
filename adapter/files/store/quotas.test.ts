import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FileRecord } from '../../state/file-records.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { Quotas, type QuotaLimits } from './quotas.ts';
import { fileRecord, type StoredFiles, storedFiles } from '../testing/stored-files.ts';

let files: StoredFiles;
let session: SessionRecord;

beforeEach(async () => {
  files = await storedFiles();
  session = await files.session();
});
afterEach(() => files[Symbol.asyncDispose]());

const lease = (): number => Date.now() + 60_000;

const quotasOf = (
  limits: Partial<QuotaLimits>,
  uploadTtlMs: number | null = null,
  usable: () => boolean = () => true,
): Quotas =>
  new Quotas({
    records: files.store.files,
    files: files.bytes,
    limits: { maxTotal: null, maxSession: null, evictFirst: 'upload', ...limits },
    times: { uploadTtlMs, artifactTtlMs: null },
    clock: Date.now,
    usable,
  });

async function pending(owner: SessionRecord = session): Promise<FileRecord> {
  const { serverId, sessionId } = owner;
  const file = fileRecord({ serverId, sessionId, state: 'pending', sizeBytes: 0, leaseUntil: lease() });
  await files.store.files.begin([file], { now: Date.now(), maxArtifacts: null });
  return file;
}

describe('the quota of a session', () => {
  test('room is made by removing its least recently used files, from the disk too', async () => {
    const now = Date.now();
    const old = await files.file(session, 'upload', { sizeBytes: 60, lastUsedAt: now - 2000 });
    const fresh = await files.file(session, 'upload', { sizeBytes: 30, lastUsedAt: now - 1000 });
    await quotasOf({ maxSession: 100 }).reserve(await pending(), 50, lease());
    expect(await files.stage.filesIn(old)).toEqual([]);
    expect(await files.stage.filesIn(fresh)).toEqual(['file.txt']);
    expect(files.told).toEqual(['upload evicted 1']);
  });

  test('what does not fit even alone is refused, and nothing is removed for it', async () => {
    const kept = await files.file(session, 'upload', { sizeBytes: 60 });
    const reserving = quotasOf({ maxSession: 100 }).reserve(await pending(), 101, lease());
    await expect(reserving).rejects.toMatchObject({ code: 'session_quota', status: 507 });
    expect(await files.stage.filesIn(kept)).toEqual(['file.txt']);
    expect(files.told).toEqual([]);
  });
});

test('while memory stands in for the store, nothing is removed to make room', async () => {
  const kept = await files.file(session, 'upload', { sizeBytes: 60 });
  const quotas = quotasOf({ maxSession: 100 }, null, () => false);
  const file = await pending();
  await expect(quotas.reserve(file, 50, lease())).rejects.toMatchObject({ code: 'session_quota' });
  expect(await files.stage.filesIn(kept)).toEqual(['file.txt']);
  expect(await files.store.files.find(kept, { now: Date.now(), ttlMs: null })).toMatchObject({ fileId: kept.fileId });
  expect(files.told).toEqual([]);
  await files.store.files.remove(file);
  await quotas.reserve(await pending(), 40, lease());
});

describe('the quota of all files', () => {
  test('files of others are never removed for it', async () => {
    const other = await files.file(await files.session(), 'upload', { sizeBytes: 60 });
    const reserving = quotasOf({ maxTotal: 100 }).reserve(await pending(), 50, lease());
    await expect(reserving).rejects.toMatchObject({ code: 'storage_quota', status: 507 });
    expect(await files.stage.filesIn(other)).toEqual(['file.txt']);
  });

  test('but those whose time is over do not count', async () => {
    const over = await files.file(await files.session(), 'upload', { sizeBytes: 60, lastUsedAt: Date.now() - 10_000 });
    const quotas = quotasOf({ maxTotal: 100 }, 5_000);
    const [one, two] = [await pending(), await pending()];
    await Promise.all([quotas.reserve(one, 40, lease()), quotas.reserve(two, 45, lease())]);
    expect(await files.stage.filesIn(over)).toEqual([]);
    expect(files.told).toEqual(['upload expired 1']);
    await expect(quotas.reserve(one, 60, lease())).rejects.toMatchObject({ code: 'storage_quota' });
  });
});

test('a file whose session has ended meanwhile is refused as that', async () => {
  const file = await pending();
  await files.store.remove(session);
  const reserving = quotasOf({ maxTotal: 100 }).reserve(file, 1, lease());
  await expect(reserving).rejects.toMatchObject({ code: 'session_ended' });
});

test('without quotas the store is not even asked', async () => {
  await quotasOf({}).reserve(fileRecord(), Number.MAX_SAFE_INTEGER, lease());
});
