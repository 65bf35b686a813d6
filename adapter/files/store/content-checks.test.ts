import { createHash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FileRecord } from '../../state/file-records.ts';
import { ContentChecks } from './content-checks.ts';
import { DiskFile } from '../disk/disk-file.ts';
import { fileRecord } from '../testing/stored-files.ts';

let folder: string;
let path: string;
let record: FileRecord;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'checks-'));
  path = join(folder, 'a.txt');
  writeFileSync(path, 'stored');
  record = { ...fileRecord(), sizeBytes: 6, sha256: createHash('sha256').update('stored').digest('hex') };
});
afterEach(() => rmSync(folder, { recursive: true }));

/** One that counts as opened so long after the file was last changed. */
const checksAfter = (ms: number): ContentChecks => new ContentChecks(() => statSync(path).ctimeMs + ms);

/** How many times a check reads the file. */
async function reads(checks: ContentChecks, file = record): Promise<number> {
  await using opened = await DiskFile.open(path, true);
  let count = 0;
  await checks.check(file, {
    path,
    size: opened.size,
    version: opened.version,
    read: (range) => {
      count += 1;
      return opened.read(range);
    },
  });
  return count;
}

describe('T7: a stored file', () => {
  test('is read once while it stays as it is', async () => {
    const checks = checksAfter(10_000);
    expect([await reads(checks), await reads(checks), await reads(checks)]).toEqual([1, 0, 0]);
  });

  test('of another size is refused', async () => {
    writeFileSync(path, 'longer than that');
    await expect(reads(checksAfter(10_000))).rejects.toThrow('has 16 bytes instead of 6');
  });

  test('with other bytes of the same size is refused, whatever its times say', async () => {
    const checks = checksAfter(10_000);
    const { atime, mtime } = statSync(path);
    await reads(checks);
    // The clock of the file system takes steps.
    const { ctimeMs } = statSync(path);
    while (statSync(path).ctimeMs === ctimeMs) writeFileSync(path, 'forged');
    utimesSync(path, atime, mtime);
    await expect(reads(checks)).rejects.toMatchObject({ name: 'FileRefused', reason: 'changed' });
  });

  test('with another one in its place is refused', async () => {
    const checks = checksAfter(10_000);
    const { atime, mtime } = statSync(path);
    await reads(checks);
    writeFileSync(join(folder, 'b.txt'), 'forged');
    utimesSync(join(folder, 'b.txt'), atime, mtime);
    renameSync(join(folder, 'b.txt'), path);
    await expect(reads(checks)).rejects.toThrow('has the size but not the bytes of what was stored');
  });

  test('that was refused is read again, and is right when its bytes are back', async () => {
    const checks = checksAfter(10_000);
    writeFileSync(path, 'forged');
    await expect(reads(checks)).rejects.toThrow('the size but not the bytes');
    await expect(reads(checks)).rejects.toThrow('the size but not the bytes');
    writeFileSync(path, 'stored');
    expect(await reads(checks)).toBe(1);
  });

  test('that was just written is read each time, since another change might have the same time', async () => {
    const checks = checksAfter(100);
    expect([await reads(checks), await reads(checks)]).toEqual([1, 1]);
  });

  test('without a hash is not read', async () => {
    expect(await reads(checksAfter(10_000), { ...record, sha256: null, sizeBytes: 1 })).toBe(0);
  });
});
