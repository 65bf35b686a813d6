import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { FileRecord } from '../../state/file-records.ts';
import { type DanglingDeps, DanglingRecords } from './dangling-records.ts';
import { storedFiles, type StoredFiles } from '../testing/stored-files.ts';

const MIN_AGE_MS = 60_000;
const never = new AbortController().signal;

describe('a record whose file is gone', () => {
  let files: StoredFiles;
  let usable: boolean;
  const now = Date.now();
  const old: Partial<FileRecord> = { createdAt: now - MIN_AGE_MS };

  beforeEach(async () => {
    files = await storedFiles();
    usable = true;
  });
  afterEach(() => files[Symbol.asyncDispose]());

  const dangling = (blobStore?: DanglingDeps['blobStore']): DanglingRecords => {
    const { store, stage, bytes } = files;
    return new DanglingRecords({ records: store.files, stage, bytes, blobStore, usable: () => usable }, MIN_AGE_MS);
  };
  const isKnown = async (file: FileRecord): Promise<boolean> =>
    (await files.store.files.find(file, { now, ttlMs: null })) !== undefined;

  test('goes; the others stay', async () => {
    const session = await files.session();
    const lost = await files.file(session, 'upload', old);
    const lostToo = await files.file(session, 'artifact', old);
    const there = await files.file(session, 'upload', old);
    await rm(dirname(files.pathOf(lost)), { recursive: true });
    await rm(files.pathOf(lostToo));
    expect(await dangling().check(now, never)).toEqual({ uploads: 1, artifacts: 1 });
    expect(await Promise.all([lost, lostToo, there].map(isKnown))).toEqual([false, false, true]);
    expect(files.told.toSorted()).toEqual(['artifact dangling 1', 'upload dangling 1']);
  });

  test('stays while other machines may not see its file yet', async () => {
    const young = await files.file(await files.session(), 'upload', { createdAt: now - MIN_AGE_MS + 1 });
    await rm(files.pathOf(young));
    expect(await dangling().check(now, never)).toEqual({ uploads: 0, artifacts: 0 });
    expect(await isKnown(young)).toBe(true);
  });

  test('stays where the file can be fetched back', async () => {
    const file = await files.file(await files.session(), 'upload', old);
    await rm(files.pathOf(file));
    const answers = [true, false];
    const check = dangling({ has: async () => answers.shift() ?? expect.unreachable() });
    expect(await check.check(now, never)).toEqual({ uploads: 0, artifacts: 0 });
    expect(await check.check(now, never)).toEqual({ uploads: 1, artifacts: 0 });
  });

  test('stays also where replicas have no folder in common', async () => {
    const file = await files.file(await files.session(), 'upload', old);
    await rm(join(files.root, 'uploads'), { recursive: true });
    expect(await dangling({ has: async () => true }).check(now, never)).toEqual({ uploads: 0, artifacts: 0 });
    expect(await isKnown(file)).toBe(true);
  });

  test('stays when the whole volume is away', async () => {
    const file = await files.file(await files.session(), 'upload', old);
    await rm(join(files.root, 'uploads'), { recursive: true });
    await expect(dangling().check(now, never)).rejects.toThrow('uploads/sessions');
    expect(await isKnown(file)).toBe(true);
  });

  test('stays while the store is not itself', async () => {
    const file = await files.file(await files.session(), 'upload', old);
    await rm(files.pathOf(file));
    usable = false;
    expect(await dangling().check(now, never)).toEqual({ uploads: 0, artifacts: 0 });
    expect(await isKnown(file)).toBe(true);
  });

  test('is found in one of the next passes, however many records there are', async () => {
    const all = Array.from({ length: 4_500 }, (_, i) => ({ i }));
    const pages: (string | undefined)[] = [];
    const records: DanglingDeps['records'] = {
      page: async (cursor, limit) => {
        pages.push(cursor);
        const start = Number(cursor ?? 0);
        return { files: [], next: start + limit >= all.length ? undefined : String(start + limit) };
      },
      remove: async () => undefined,
    };
    const { stage, bytes } = files;
    const check = new DanglingRecords({ records, stage, bytes, blobStore: undefined, usable: () => true }, 0);
    for (const passes of [20, 20, 5]) {
      pages.length = 0;
      await check.check(now, never);
      expect(pages).toHaveLength(passes);
    }
    pages.length = 0;
    await check.check(now, never);
    expect(pages[0]).toBeUndefined();
  });

  test('is not counted when somebody else removed it first', async () => {
    const file = await files.file(await files.session(), 'upload', old);
    await rm(files.pathOf(file));
    vi.spyOn(files.store.files, 'remove').mockResolvedValue(undefined);
    expect(await dangling().check(now, never)).toEqual({ uploads: 0, artifacts: 0 });
    expect(files.told).toEqual([]);
  });
});
