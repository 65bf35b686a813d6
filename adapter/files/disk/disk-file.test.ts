import { randomBytes } from 'node:crypto';
import { mkdtemp, realpath, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { patient } from './disk-calls.ts';
import { DiskFile } from './disk-file.ts';

const PART = 256 * 1024;
const content = randomBytes(4 * PART + 7);
let path: string;

beforeAll(async () => {
  path = join(await realpath(await mkdtemp(join(tmpdir(), 'disk-file-'))), 'file');
});
afterAll(() => rm(join(path, '..'), { recursive: true }));

/** The file, and where its parts were read. */
async function opened(): Promise<{ readonly file: DiskFile; readonly reads: number[] }> {
  await writeFile(path, content);
  const reads: number[] = [];
  const file = await DiskFile.open(path, process.platform === 'linux', {
    ...patient,
    read(fd, buffer, position) {
      reads.push(position);
      return patient.read(fd, buffer, position);
    },
  });
  return { file, reads };
}

test('the next part is read while one is worked on, and leaves it as it is', async () => {
  const { file, reads } = await opened();
  await using _ = file;
  const taken: Buffer[] = [];
  for await (const part of file.read({ reused: true })) {
    expect(reads).toHaveLength(Math.min(taken.length + 2, 5));
    // Long enough for the next one to arrive.
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    taken.push(Buffer.from(part));
  }
  expect(Buffer.concat(taken).equals(content)).toBe(true);
  expect(reads).toEqual([0, 1, 2, 3, 4].map((part) => part * PART));
});

test('parts that somebody keeps are read when they are asked for', async () => {
  const { file, reads } = await opened();
  await using _ = file;
  const taken: Buffer[] = [];
  for await (const part of file.read()) {
    taken.push(part);
    expect(reads).toHaveLength(taken.length);
  }
  expect(Buffer.concat(taken).equals(content)).toBe(true);
});

test('what is read ahead harms nobody who stops before it', async () => {
  const { file, reads } = await opened();
  for await (const _ of file.read({ reused: true })) {
    await truncate(path, 10);
    break;
  }
  await file.close();
  expect(reads).toEqual([0, PART]);
});

test('a file that becomes shorter is no whole one, also where its parts are read ahead', async () => {
  const { file } = await opened();
  await using _ = file;
  const reading = async (): Promise<void> => {
    for await (const _part of file.read({ reused: true })) await truncate(path, 10);
  };
  await expect(reading()).rejects.toMatchObject({ reason: 'changed' });
});
