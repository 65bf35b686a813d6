import { appendFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { newId, type StoredFiles, storedFiles } from '../files/testing/stored-files.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { ReadCopies } from './read-copies.ts';
import { type WorkCopy, workCopy } from './work-copy.ts';

const LEASE_MS = 120_000;

let files: StoredFiles;
let session: SessionRecord;
let file: FileRecord;
let copies: ReadCopies;

beforeEach(async () => {
  files = await storedFiles();
  session = await files.session();
  file = await files.file(session, 'artifact');
  copies = new ReadCopies({
    records: files.store.files,
    files: files.bytes,
    warn: (message) => expect.unreachable(message),
  });
});
afterEach(async () => {
  await files[Symbol.asyncDispose]();
});

/** A copy as a call makes one. */
async function made(of: FileRecord = file, leaseMs = LEASE_MS): Promise<WorkCopy> {
  const now = files.store.now();
  const place: FileRecord = {
    ...of,
    sessionId: session.sessionId,
    kind: 'upload',
    fileId: newId(),
    contentId: undefined,
    state: 'pending',
    leaseUntil: now + leaseMs,
  };
  expect(await files.store.files.begin([place], { now, maxArtifacts: null })).toBe('begun');
  return workCopy(files.bytes, of, place, new AbortController().signal);
}

const take = (of: FileRecord = file, reader = session.sessionId): Promise<WorkCopy | undefined> =>
  copies.take(of, reader, files.store.now() + LEASE_MS);

const isKnown = async ({ place }: WorkCopy): Promise<boolean> =>
  (await files.store.files.known(place.sessionId, [place.fileId])).has(place.fileId);

test('a copy is given to one call at a time, as often as it comes back untouched', async () => {
  const copy = await made();
  expect(await take()).toBeUndefined();
  for (let calls = 0; calls < 3; calls++) {
    // oxlint-disable-next-line no-await-in-loop -- one call after the other
    await copies.keep(file, copy);
    // oxlint-disable-next-line no-await-in-loop -- the same
    expect(await take()).toMatchObject({ path: copy.path });
    // oxlint-disable-next-line no-await-in-loop -- the same
    expect(await take()).toBeUndefined();
  }
});

test('it is that of one version of one file, in one session', async () => {
  await copies.keep(file, await made());
  expect(await take({ ...file, contentId: newId() })).toBeUndefined();
  expect(await take({ ...file, fileId: newId() })).toBeUndefined();
  expect(await take(file, newId())).toBeUndefined();
  expect(await take()).toBeDefined();
});

const TOUCHES: Record<string, (path: string) => Promise<unknown>> = {
  'written to': (path) => appendFile(path, 'y'),
  removed: (path) => rm(path),
  'removed with its folder': (path) => rm(dirname(path), { recursive: true }),
  'replaced by another': async (path) => {
    await writeFile(`${path}.new`, 'x');
    await rename(`${path}.new`, path);
  },
  'replaced by a link': async (path) => {
    await rename(path, `${path}.old`);
    await symlink(`${path}.old`, path);
  },
  'written to, and given its old times': async (path) => {
    await writeFile(path, 'z');
    await utimes(path, new Date(0), new Date(0));
  },
  'no longer alone': (path) => writeFile(join(dirname(path), 'beside.txt'), 'y'),
};

test.each(Object.entries(TOUCHES))('a copy that is %s is nobody else’s, and goes', async (_, touch) => {
  const before = await made();
  await touch(before.path);
  await copies.keep(file, before);
  expect(await isKnown(before)).toBe(false);
  expect(await take()).toBeUndefined();

  const idle = await made();
  await copies.keep(file, idle);
  await touch(idle.path);
  expect(await take()).toBeUndefined();
  expect(await isKnown(idle)).toBe(false);
});

test('the lease of a copy is extended to that of the call, and one whose lease is short is not given', async () => {
  await copies.keep(file, await made(file, 40_000));
  expect((await take())?.place.leaseUntil).toBeGreaterThan(files.store.now() + LEASE_MS - 5_000);
  const short = await made(file, 10_000);
  await copies.keep(file, short);
  expect(await take()).toBeUndefined();
  expect(await isKnown(short)).toBe(false);
});

test('a copy that nobody takes goes; a large one goes at once', async () => {
  const warn = (message: string): void => expect.unreachable(message);
  copies = new ReadCopies({ records: files.store.files, files: files.bytes, warn }, 20);
  const copy = await made();
  await copies.keep(file, copy);
  await expect.poll(() => isKnown(copy)).toBe(false);
  await expect.poll(() => files.stage.stateOf(copy.place)).toBeUndefined();

  const large = await files.file(session, 'artifact', { sizeBytes: 300_000, sha256: null });
  const other = await made(large);
  await copies.keep(large, other);
  expect(await isKnown(other)).toBe(false);
});
