import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { FileRecord } from '../../state/file-records.ts';
import { expireFiles, type FileTimes, type RemovedFiles } from './expire-files.ts';
import { fileRecord, storedFiles, type StoredFiles } from '../testing/stored-files.ts';

const MINUTE_MS = 60_000;
const TIMES = { uploadTtlMs: 2 * MINUTE_MS, artifactTtlMs: 10 * MINUTE_MS };
const never = new AbortController().signal;

describe('files whose time is over', () => {
  let files: StoredFiles;
  let usable: boolean;
  const now = Date.now();

  beforeEach(async () => {
    files = await storedFiles();
    usable = true;
  });
  afterEach(() => files[Symbol.asyncDispose]());

  const expire = (times: FileTimes = TIMES, signal = never): Promise<RemovedFiles> => {
    const { store, bytes } = files;
    return expireFiles({ records: store.files, bytes, usable: () => usable }, times, () => now, signal);
  };
  const exists = (file: FileRecord): boolean => existsSync(dirname(files.pathOf(file)));

  test('go, each kind after its own time; those that are in use stay', async () => {
    const session = await files.session();
    const at = (ms: number): Partial<FileRecord> => ({ lastUsedAt: now - ms });
    const upload = await files.file(session, 'upload', at(2 * MINUTE_MS));
    const newer = await files.file(session, 'upload', at(2 * MINUTE_MS - 1000));
    const used = await files.file(session, 'upload', { ...at(5 * MINUTE_MS), leaseUntil: now + 1000 });
    const artifact = await files.file(session, 'artifact', at(10 * MINUTE_MS));
    const youngArtifact = await files.file(session, 'artifact', at(5 * MINUTE_MS));
    expect(await expire()).toEqual({ uploads: 1, artifacts: 1 });
    expect([upload, artifact].map(exists)).toEqual([false, false]);
    expect([newer, used, youngArtifact].map(exists)).toEqual([true, true, true]);
    expect(files.told).toEqual(['upload expired 1', 'artifact expired 1']);
    expect(await expire()).toEqual({ uploads: 0, artifacts: 0 });
  });

  test('stay with their session where they have no time of their own', async () => {
    const file = await files.file(await files.session(), 'upload', { lastUsedAt: 0 });
    await expire({ uploadTtlMs: null, artifactTtlMs: null });
    expect(exists(file)).toBe(true);
  });

  test('go with tombstones too, which keep the others', async () => {
    const session = await files.session({ lastActiveAt: 0 });
    const old = await files.file(session, 'artifact', { lastUsedAt: 0 });
    const newer = await files.file(session, 'artifact');
    await files.store.expireIdle({ now, idleBefore: 1, tombstoneUntil: now + MINUTE_MS, limit: 10 });
    expect(await expire()).toEqual({ uploads: 0, artifacts: 1 });
    expect([old, newer].map(exists)).toEqual([false, true]);
  });

  test('include those that nobody finished, once the lease of whoever made them is over', async () => {
    const session = await files.session();
    const pending = (leaseUntil: number): FileRecord =>
      fileRecord({ serverId: 's1', sessionId: session.sessionId, state: 'pending', leaseUntil });
    const [dead, alive] = [pending(now - 1), pending(now + 1000)];
    await files.store.files.begin([dead, alive], { now, maxArtifacts: null });
    for (const file of [dead, alive]) await files.stage.prepare(file);
    expect(await expire()).toEqual({ uploads: 1, artifacts: 0 });
    expect([dead, alive].map(exists)).toEqual([false, true]);
    expect(files.told).toEqual(['upload failed 1']);
  });

  test('include those of sessions that are gone or must not be used any more', async () => {
    const [deleted, invalidated, active] = [await files.session(), await files.session(), await files.session()];
    const lost = [await files.file(deleted, 'upload'), await files.file(invalidated, 'artifact')];
    const kept = await files.file(active, 'upload');
    await files.store.remove(deleted);
    await files.store.invalidate(invalidated, 'drift', now + MINUTE_MS);
    expect(await expire()).toEqual({ uploads: 1, artifacts: 1 });
    expect([...lost, kept].map(exists)).toEqual([false, false, true]);
    expect(files.told.toSorted()).toEqual(['artifact session_ended 1', 'upload session_ended 1']);
  });

  test('all go, however many there are', { timeout: 60_000 }, async () => {
    const session = await files.session();
    for (let i = 0; i < 450; i++) await files.file(session, 'upload', { lastUsedAt: 0 });
    expect(await expire()).toEqual({ uploads: 450, artifacts: 0 });
  });

  test('stay while memory replaces the store, also when that begins in the middle', async () => {
    const session = await files.session();
    const file = await files.file(session, 'upload', { lastUsedAt: 0 });
    const abandoned = await files.file(await files.session(), 'upload');
    await files.store.remove(abandoned);
    usable = false;
    expect(await expire()).toEqual({ uploads: 0, artifacts: 0 });
    for (const method of ['expire', 'purgeAbandoned'] as const) {
      usable = true;
      vi.spyOn(files.store.files, method).mockImplementation(async () => {
        usable = false;
        return [file, abandoned];
      });
      if (method === 'purgeAbandoned') vi.spyOn(files.store.files, 'expire').mockResolvedValue([]);
      expect(await expire()).toEqual({ uploads: 0, artifacts: 0 });
    }
    expect([file, abandoned].map(exists)).toEqual([true, true]);
  });

  test('stay when the adapter stops', async () => {
    const file = await files.file(await files.session(), 'upload', { lastUsedAt: 0 });
    expect(await expire(TIMES, AbortSignal.abort())).toEqual({ uploads: 0, artifacts: 0 });
    expect(exists(file)).toBe(true);
  });
});
