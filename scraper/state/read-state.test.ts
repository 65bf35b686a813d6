import { createHash } from 'node:crypto';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { readState, type StateReader } from './read-state.ts';
import { SqliteLedger } from './sqlite-ledger.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const fence = { token: 0n };
const [one, two, three] = [1, 2, 3].map((hour) => new Date(`2026-03-01T0${hour}:00:00Z`)) as [Date, Date, Date];

let folder: string;
let path: string;
let reader: StateReader | undefined;
beforeEach(async () => {
  // A name that is a URL to whoever does not look closely.
  folder = await mkdtemp(join(tmpdir(), 'read #?%20 state-'));
  path = join(folder, 'state.db');
});
afterEach(async () => {
  await reader?.close();
  reader = undefined;
  await rm(folder, { recursive: true });
});

const read = async (): Promise<StateReader | undefined> => {
  reader = await readState(FingerprintStore.parse({ sqlite: { path } }));
  return reader;
};

async function written(): Promise<SqliteLedger> {
  const ledger = new SqliteLedger({ path, lockRetries: 3, lockBackoffMs: 5 });
  const range = { start: one, end: two };
  await ledger.plan('s', undefined, [range, { start: two, end: three }], three, fence);
  const [window] = await ledger.due('s', three, 1);
  const commit = { now: three, fingerprints: [hash('a')], ttlMs: 1e6, maxEntries: 9 };
  await ledger.commit('s', window?.id ?? '', commit, fence);
  return ledger;
}

async function expectItIsRead(): Promise<void> {
  const state = await read();
  expect(await state?.source('s')).toMatchObject({ plannedUntil: three, watermark: two, openWindows: 1 });
  expect(await state?.due('s', three, 9)).toMatchObject([{ start: two, end: three }]);
  expect(await state?.seen('s', [hash('a'), hash('b')], three)).toEqual(new Set([hash('a')]));
  expect(await state?.source('none')).toBeUndefined();
}

test('of a scraper that has ended is read, and nothing is left beside it', async () => {
  await (await written()).close();
  const [before, bytes] = [await readdir(folder), await readFile(path)];
  await expectItIsRead();
  await reader?.close();
  expect(await readdir(folder)).toEqual(before);
  expect((await readFile(path)).equals(bytes)).toBe(true);
});

test('of a scraper that runs is read as it is now, and the scraper goes on', async () => {
  const ledger = await written();
  await expectItIsRead();
  const [window] = await ledger.due('s', three, 1);
  const commit = { now: three, fingerprints: [hash('b')], ttlMs: 1e6, maxEntries: 9 };
  expect(await ledger.commit('s', window?.id ?? '', commit, fence)).toBe(true);
  expect(await reader?.seen('s', [hash('b')], three)).toEqual(new Set([hash('b')]));
  await ledger.close();
});

test('of a scraper that was killed is read, with what had not come into the file itself', async () => {
  const ledger = await written();
  for (const end of ['', '-wal']) await copyFile(path + end, `${path}.killed${end}`);
  await ledger.close();
  path += '.killed';
  await expectItIsRead();
});

test('of the original is read without being taken over', async () => {
  const file = new DatabaseSync(path);
  file.exec(`CREATE TABLE last_success (source TEXT PRIMARY KEY, timestamp TEXT);
    INSERT INTO last_success VALUES ('s', '2026-03-01T01:00:00.000000+00:00')`);
  file.close();
  const bytes = await readFile(path);
  const state = await read();
  expect(await state?.source('s')).toMatchObject({ plannedUntil: one, openWindows: 0 });
  expect(await state?.due('s', three, 9)).toEqual([]);
  expect(await state?.seen('s', [hash('a')], three)).toEqual(new Set());
  await state?.close();
  expect([await readdir(folder), (await readFile(path)).equals(bytes)]).toEqual([['state.db'], true]);
});

test('that is not there yet is not made', async () => {
  expect(await read()).toBeUndefined();
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  ['something else', 'hello, this is no database at all', /not a database/],
  ['nothing', '', undefined],
])('a file with %s in it stays as it is', async (_, content, error) => {
  await writeFile(path, content);
  if (error === undefined) expect(await (await read())?.source('s')).toBeUndefined();
  else await expect(read()).rejects.toThrow(error);
  expect([await readdir(folder), await readFile(path, 'utf8')]).toEqual([['state.db'], content]);
});

test('of a newer release is not guessed at', async () => {
  const file = new DatabaseSync(path);
  file.exec('PRAGMA user_version = 99');
  file.close();
  await expect(read()).rejects.toThrow('version 99, written by a newer release');
});

test.each([true, false])('nothing can be written by mistake, while a scraper runs: %s', async (runs) => {
  const running = await written();
  if (!runs) await running.close();
  const ledger = new SqliteLedger({ path, lockRetries: 0, lockBackoffMs: 1, readOnly: true });
  await expect(ledger.pause('s')).rejects.toThrow(/readonly/);
  await ledger.close();
  await running.close();
});
