import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { type StoredFiles, storedFiles } from '../../files/testing/stored-files.ts';
import type { FileRecord } from '../../state/file-records.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { STATUS, UploadStatus, type UploadStatusOptions } from './upload-status.ts';

const TTL_MS = 60_000;
let files: StoredFiles;
let session: SessionRecord;
beforeEach(async () => {
  files = await storedFiles();
  session = await files.session();
});
afterEach(async () => {
  vi.useRealTimers();
  await files[Symbol.asyncDispose]();
});

const make = (changes: Partial<UploadStatusOptions> = {}): UploadStatus =>
  new UploadStatus({
    secret: 'secret',
    records: files.store.files,
    uploadTtlMs: TTL_MS,
    statusTtlMs: 900_000,
    clock: Date.now,
    ...changes,
  });

function tokenOf(status: UploadStatus, all: readonly FileRecord[]): string {
  return new URLSearchParams(status.query(all)).get(STATUS) ?? '';
}

const unused = (): Promise<FileRecord> => {
  const now = Date.now() - 10;
  return files.file(session, 'upload', { createdAt: now, lastUsedAt: now });
};
const use = (file: FileRecord) => files.store.files.use(file, { now: Date.now(), ttlMs: TTL_MS });
const waits = { signal: new AbortController().signal, mayWait: () => true };
const asks = { ...waits, mayWait: () => false };

describe('the status of an upload', () => {
  test('has a letter for each file: waiting, taken, gone; from any replica', async () => {
    const [one, two, three] = [await unused(), await unused(), await unused()];
    const token = tokenOf(make(), [one, two, three]);
    await use(two);
    await files.store.files.remove(three);
    expect(await make().next(session.serverId, token, null, asks)).toBe('wtg');
  });

  test('comes as soon as there is news, and else after a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] });
    const file = await unused();
    const status = make({ statusWaitMs: 0 });
    const token = tokenOf(status, [file]);
    expect(await status.next(session.serverId, token, 'w', waits)).toBe('w');
    vi.useRealTimers();
    const news = make().next(session.serverId, token, 'w', waits);
    await use(file);
    expect(await news).toBe('t');
  });

  test('does not wait for a page that is gone', async () => {
    const status = make();
    const gone = new AbortController();
    const answer = status.next(session.serverId, tokenOf(status, [await unused()]), 'w', {
      ...waits,
      signal: gone.signal,
    });
    gone.abort();
    expect(await answer).toBe('w');
  });

  test('T3: is told to who has its token, for a time', async () => {
    const file = await unused();
    const token = tokenOf(make(), [file]);
    const changed = token.slice(0, 40) + (token[40] === 'A' ? 'B' : 'A') + token.slice(41);
    const { serverId } = session;
    expect(await make().next('other', token, null, asks)).toBeUndefined();
    expect(await make({ secret: 'other' }).next(serverId, token, null, asks)).toBeUndefined();
    expect(await make({ clock: () => Date.now() + 900_001 }).next(serverId, token, null, asks)).toBeUndefined();
    for (const bad of [changed, '', 'x', 'A'.repeat(9_000)]) {
      expect(await make().next(serverId, bad, null, asks)).toBeUndefined();
    }
    const hundred = Array.from({ length: 100 }, () => file);
    expect(await make().next(serverId, tokenOf(make(), hundred), null, asks)).toBe('w'.repeat(100));
  });
});
