import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { windowId } from './ledger.ts';
import { SqliteLedger } from './sqlite-ledger.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const fence = { token: 0n };
const time = new Date('2026-03-01T10:15:00.123Z');
const later = new Date('2026-03-01T10:20:00Z');

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'original-'));
  path = join(folder, 'scraper_fingerprints.db');
});
afterEach(() => rm(folder, { recursive: true }));

function withFile<T>(work: (file: DatabaseSync) => T): T {
  const file = new DatabaseSync(path);
  try {
    return work(file);
  } finally {
    file.close();
  }
}

async function withLedger<T>(work: (ledger: SqliteLedger) => Promise<T>): Promise<T> {
  const ledger = new SqliteLedger({ path, lockRetries: 3, lockBackoffMs: 5 });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

const ORIGINAL = `
  CREATE TABLE last_success (source TEXT PRIMARY KEY, timestamp TEXT);
  CREATE TABLE fingerprints (hash TEXT, source TEXT, first_seen INTEGER, last_seen INTEGER, ttl INTEGER,
    PRIMARY KEY (hash, source));
  INSERT INTO last_success VALUES ('s', '2026-03-01T10:15:00.123456+00:00'), ('broken', 'yesterday');`;
const unix = (date: Date): number => Math.floor(date.getTime() / 1000);

test('a file of the original is taken over: sources continue where it has stopped', async () => {
  withFile((file) => file.exec(ORIGINAL));
  await withLedger(async (ledger) => {
    expect(await ledger.source('s')).toMatchObject({ plannedUntil: time, watermark: time, lastSuccess: undefined });
    expect(await ledger.source('broken')).toBeUndefined();
    expect(await ledger.plan('s', undefined, [], later, fence)).toBe(false);
    expect(await ledger.plan('s', time, [{ start: time, end: later }], later, fence)).toBe(true);
    expect(await ledger.source('s')).toMatchObject({ plannedUntil: later, watermark: time });
  });
});

test('its fingerprints hold, with the time to live that they were written with', async () => {
  withFile((file) => {
    file.exec(ORIGINAL);
    const insert = file.prepare(`INSERT INTO fingerprints VALUES (?, 's', ?2, ?2, ?)`);
    insert.run(hash('a'), unix(time), 600);
    insert.run(hash('b'), unix(time), 60);
    file.exec(`INSERT INTO fingerprints VALUES ('c', 'another', 1, 1, 1), ('d', 'z', 1, 1, 1)`);
  });
  await withLedger(async (ledger) => {
    const seen = (seconds: number) =>
      ledger.seen('s', ['a', 'b', 'c'].map(hash), new Date(time.getTime() + seconds * 1000));
    expect(await seen(59)).toEqual(new Set([hash('a'), hash('b')]));
    expect(await seen(100)).toEqual(new Set([hash('a')]));
    // Also when the source is not configured any more.
    expect(await ledger.cleanUp(new Date(time.getTime() + 100_000), [])).toMatchObject({ fingerprints: 3 });
    expect(await seen(59)).toEqual(new Set([hash('a')]));
  });
});

test('the original could take over again at the watermark', async () => {
  const range = { start: time, end: later };
  const timestamp = (): unknown =>
    withFile((file) => file.prepare(`SELECT timestamp FROM last_success WHERE source = 'new'`).get()?.['timestamp']);
  await withLedger(async (ledger) => {
    await ledger.plan('new', undefined, [range], later, fence);
    expect(timestamp()).toBe('2026-03-01T10:15:00.123000+00:00');
    const commit = { now: later, fingerprints: [hash('a')], ttlMs: 90_500, maxEntries: 10 };
    await ledger.commit('new', windowId('scheduled', range), commit, fence);
    expect(timestamp()).toBe('2026-03-01T10:20:00.000000+00:00');
  });
  expect(withFile((file) => ({ ...file.prepare('SELECT * FROM fingerprints').get() }))).toEqual({
    hash: hash('a'),
    source: 'new',
    first_seen: unix(later),
    last_seen: unix(later),
    ttl: 91,
  });
});

test('a file of a newer release is left alone', () => {
  withFile((file) => file.exec('PRAGMA user_version = 99'));
  expect(() => new SqliteLedger({ path, lockRetries: 0, lockBackoffMs: 0 })).toThrow(/newer release/);
});

test('a file that another program has locked is waited for, and then the state is unavailable', async () => {
  await withLedger(async (ledger) => {
    const file = new DatabaseSync(path);
    file.exec('BEGIN IMMEDIATE');
    await expect(ledger.pause('s')).rejects.toThrow(/the state file .* locked/);
    const paused = ledger.pause('s');
    file.exec('COMMIT');
    file.close();
    await paused;
    expect(await ledger.source('s')).toMatchObject({ paused: true });
  });
});

test('sources that nobody has used or known for more than a year are forgotten', async () => {
  await withLedger(async (ledger) => {
    await ledger.plan('old', undefined, [{ start: time, end: later }], later, fence);
    await ledger.plan('known', undefined, [], later, fence);
    const inAYear = new Date(later.getTime() + 401 * 86_400_000);
    await ledger.plan('young', undefined, [], inAYear, fence);
    expect(await ledger.cleanUp(inAYear, ['known'])).toEqual({ fingerprints: 0, windows: 1 });
    expect(await ledger.windows('old', { offset: 0, limit: 10 })).toEqual([]);
    expect(await ledger.source('known')).toBeDefined();
    expect(await ledger.source('young')).toBeDefined();
  });
});
