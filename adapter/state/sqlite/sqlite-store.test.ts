import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sqliteFault } from '../../../lib/sqlite/sqlite-fault.ts';
import { openDatabase } from './sqlite-database.ts';
import { SqliteSessionTable } from './sqlite-session-table.ts';
import { SqliteStore } from './sqlite-store.ts';
import { StoreUnavailable } from '../state-store.ts';
import { sampleSession } from '../testing/sample-session.ts';
import type { SessionRecord } from '../state-store.ts';
import { addFile, beginFile, newFile } from '../testing/files.ts';

const T = 1_700_000_000_000;
const DAY = 86_400_000;

const newRecord = (changes: Partial<SessionRecord> = {}): SessionRecord => {
  const upstream = { upstreamSessionId: 'upstream-1', subscriptions: ['file:///a'] };
  return sampleSession(randomUUID(), { ...upstream, createdAt: T, lastActiveAt: T, ...changes });
};

/** Takes away what came with pins. */
const WITHOUT_PINS =
  'DROP INDEX sessions_by_baseline; ALTER TABLE sessions DROP COLUMN baseline; DROP TABLE baselines; DROP TABLE first_texts; DROP TABLE call_rates; DROP TABLE call_places';
const WITHOUT_SPILLS = 'ALTER TABLE files DROP COLUMN spilled; ALTER TABLE files DROP COLUMN versions';

const caller = (now = T) => ({ principal: '', now });
const lease = (id: string = randomUUID()) => ({ id, until: T + DAY, maxInFlight: null });

describe('SqliteStore', () => {
  let folder: string;
  let path: string;
  const stores: SqliteStore[] = [];
  const openStore = (wal = true): SqliteStore => {
    const store = new SqliteStore({ path, wal });
    stores.push(store);
    return store;
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sqlite-store-'));
    path = join(folder, 'not', 'yet', 'there', 'state.sqlite3');
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    await rm(folder, { recursive: true });
  });

  /** Looks into the file with a connection of its own. */
  const inFile = <T>(look: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(path);
    try {
      return look(database);
    } finally {
      database.close();
    }
  };

  const journalMode = (): unknown =>
    inFile((database) => database.prepare('PRAGMA journal_mode').get()?.['journal_mode']);

  const savedActivity = (): unknown =>
    inFile((database) => database.prepare('SELECT last_active_at FROM sessions').get()?.['last_active_at']);

  test.each([true, false])('sessions, tombstones and settings survive a restart, WAL: %s', async (wal) => {
    const before = openStore(wal);
    const [active, idle, drifted] = [newRecord({ lastActiveAt: T + DAY }), newRecord(), newRecord()];
    await before.open(idle);
    await before.expireIdle({ now: T, idleBefore: T + 1, tombstoneUntil: T + DAY, limit: 1 });
    await before.open(active);
    await before.open(drifted);
    await before.invalidate(drifted, 'drift', T + DAY);
    await before.setLogLevel(active, '{"level":"error"}');
    await before.close();

    expect(journalMode()).toBe(wal ? 'wal' : 'delete');
    const after = openStore(wal);
    const record = { ...active, logLevel: '{"level":"error"}' };
    expect(await after.find(active, caller())).toEqual({ state: 'active', record });
    expect((await after.find(idle, caller())).state).toBe('tombstoned');
    expect(await after.find(drifted, caller())).toMatchObject({ state: 'invalidated', reason: 'drift' });
  });

  test('files with their totals, nonces and secrets survive a restart', async () => {
    const before = openStore();
    const session = newRecord();
    await before.open(session);
    const file = await addFile(before, session, { kind: 'artifact', sizeBytes: 7 });
    const pending = await beginFile(before, session, { sizeBytes: 5 });
    const permission = { ...session, principal: 'p', toolName: null, elicitationId: 'e', expiresAt: T + DAY };
    await before.nonces.issue('nonce', permission, T);
    const secret = await before.secret('signing');
    await before.close();

    const after = openStore();
    expect(await after.files.find(file, { now: T, ttlMs: null })).toEqual(file);
    expect(await after.files.totals()).toEqual({
      uploads: { count: 0, bytes: 5 },
      artifacts: { count: 1, bytes: 7 },
    });
    expect(await after.files.remove(pending)).toEqual(pending);
    expect(await after.nonces.consume('nonce', T)).toMatchObject({ elicitationId: 'e', expiresAt: T + DAY });
    expect(await after.secret('signing')).toBe(secret);
  });

  test('nothing is left of files that are gone but the totals of all', async () => {
    const store = openStore();
    const [one, two, three] = [newRecord(), newRecord(), newRecord()];
    for (const session of [one, two, three]) {
      await store.open(session);
      await beginFile(store, session);
      await addFile(store, session, { kind: 'artifact', sizeBytes: 3 });
    }
    const rows = (): unknown =>
      inFile((database) =>
        database
          .prepare(
            `SELECT (SELECT count(*) FROM files) AS files, (SELECT count(*) FROM abandoned_sessions) AS abandoned,
               (SELECT count(*) FROM file_totals) AS totals`,
          )
          .get(),
      );
    expect(rows()).toEqual({ files: 6, abandoned: 0, totals: 8 });
    await store.remove(two);
    await store.invalidate(three, 'drift', T + DAY);
    expect(rows()).toEqual({ files: 6, abandoned: 2, totals: 8 });
    await store.files.purge(one);
    await store.files.purge(two);
    await store.files.purgeAbandoned({ now: T, limit: 9 });
    expect(rows()).toEqual({ files: 0, abandoned: 0, totals: 2 });
  });

  test('a file of the release before files is taken over with its sessions', async () => {
    const session = newRecord();
    const before = openStore();
    await before.open(session);
    await before.close();
    inFile((database) => {
      database.exec(`DROP TABLE files; DROP TABLE file_totals; DROP TABLE abandoned_sessions; DROP TABLE nonces;
        DROP TABLE secrets; DROP INDEX sessions_by_id; DROP INDEX workspaces; ${WITHOUT_PINS}; PRAGMA user_version = 1`);
    });
    const after = openStore();
    expect(await after.find(session, caller())).toEqual({ state: 'active', record: session });
    const file = await addFile(after, session);
    expect(await after.files.find(file, { now: T, ttlMs: null })).toEqual(file);
    expect(await after.files.ownerOf(session.sessionId)).toBe('files');
    expect(inFile((database) => database.prepare('PRAGMA user_version').get()?.['user_version'])).toBe(7);
  });

  test('a file of the release before pins is taken over with its sessions', async () => {
    const session = newRecord();
    const before = openStore();
    await before.open(session);
    await before.close();
    inFile((database) => database.exec(`${WITHOUT_PINS}; ${WITHOUT_SPILLS}; PRAGMA user_version = 2`));
    const after = openStore();
    expect(await after.find(session, caller())).toEqual({ state: 'active', record: session });
    const baseline = { fingerprint: 'f', text: '[]' };
    expect(await after.pin(session, baseline)).toEqual(baseline);
    await after.close();
    expect(await openStore().baseline(session)).toEqual(baseline);
  });

  test('a file of the release before limits is taken over, and what is over goes from it', async () => {
    const before = openStore();
    await before.ping();
    await before.close();
    inFile((database) =>
      database.exec(`DROP TABLE call_rates; DROP TABLE call_places; ${WITHOUT_SPILLS}; PRAGMA user_version = 4`),
    );
    const store = openStore();
    const take = (key: string, now: number) => {
      const rate = { per: 'tool' as const, key, intervalUs: 1_000, burst: 1, calls: 1 };
      const place = { per: 'tool' as const, key, most: 1, calls: 1 };
      const call = { id: key, until: now + 1, taking: { rates: [rate], places: [place] } };
      return store.callLimits.take(call, now);
    };
    for (let n = 0; n < 1_500; n += 1) expect(await take(`tool ${n % 1_200}`, T + 2 * n)).toBeUndefined();
    const count = (): unknown =>
      inFile((database) => database.prepare('SELECT count(*) AS rates FROM call_rates').get()?.['rates']);
    expect(count()).toBeLessThan(600);
  });

  test('pins survive a restart, share their texts, and leave nothing behind', async () => {
    const [one, two, idle] = [newRecord(), newRecord({ serverId: 'other' }), newRecord({ lastActiveAt: T - DAY })];
    const baseline = { fingerprint: 'fingerprint', text: '["größe 🐘"]' };
    const before = openStore();
    for (const session of [one, two, idle]) {
      await before.open(session);
      await before.pin(session, baseline);
    }
    await before.expireIdle({ now: T, idleBefore: T, tombstoneUntil: T + DAY, limit: 9 });
    await before.close();

    const texts = (): unknown => inFile((database) => database.prepare('SELECT text FROM baselines').all());
    expect(texts()).toEqual([{ text: baseline.text }]);
    const after = openStore();
    for (const session of [one, two, idle]) expect(await after.baseline(session)).toEqual(baseline);
    expect(await after.pin(one, { fingerprint: 'another', text: 'another' })).toEqual(baseline);
    await after.remove(one);
    await after.remove(two);
    expect(texts()).toHaveLength(1);
    await after.expireTombstones({ now: T + DAY, limit: 9 });
    expect(texts()).toEqual([]);
  });

  test('a step on files that fails alone leaves files and totals as they were', async () => {
    const store = openStore();
    const session = newRecord();
    await store.open(session);
    const file = await addFile(store, session);
    const outcomes = await Promise.allSettled([
      store.files.begin([newFile(session, { createdAt: Number.NaN })], { now: T, maxArtifacts: null }),
      store.files.begin([newFile(session, { sizeBytes: 3 })], { now: T, maxArtifacts: null }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await store.files.totals()).toMatchObject({ uploads: { count: 1, bytes: 3 } });
    expect(await store.files.list(session, 'upload', { now: T, ttlMs: null })).toEqual([file]);
  });

  test('a WAL file is turned into one without when WAL is switched off', async () => {
    const record = newRecord();
    const before = openStore(true);
    await before.open(record);
    await before.close();
    const after = openStore(false);
    expect((await after.find(record, caller())).state).toBe('active');
    await after.close();
    expect(journalMode()).toBe('delete');
  });

  test('activity within a second is written at most once, and the last one on closing', async () => {
    const store = openStore();
    const record = newRecord();
    await store.open(record);
    await store.enter(record, caller(T + 5_000), lease());
    expect(savedActivity()).toBe(T + 5_000);
    await store.enter(record, caller(T + 5_400), lease());
    await store.enter(record, caller(T + 5_999), lease());
    expect(savedActivity()).toBe(T + 5_000);
    expect(await store.find(record, caller())).toMatchObject({ record: { lastActiveAt: T + 5_999 } });
    await store.enter(record, caller(T + 6_000), lease());
    expect(savedActivity()).toBe(T + 6_000);
    await store.enter(record, caller(T + 6_001), lease());
    await store.close();
    expect(savedActivity()).toBe(T + 6_001);
  });

  test('activity that is held back is written by itself, survives the other handle, and counts for expiry', async () => {
    const [store, other] = [openStore(), openStore()];
    const record = newRecord();
    await store.open(record);
    const call = lease();
    await store.enter(record, caller(T + 500), call);
    await store.leave(record, call.id, T + 500);
    // Another connection commits: everything that was read is forgotten, but not the activity.
    await other.open(newRecord({ lastActiveAt: T + DAY }));
    expect(await store.find(record, caller())).toMatchObject({ record: { lastActiveAt: T + 500 } });
    expect(await store.expireIdle({ now: T, idleBefore: T + 500, tombstoneUntil: null, limit: 9 })).toEqual([]);
    expect(await other.find(record, caller())).toMatchObject({ record: { lastActiveAt: T + 500 } });

    await store.enter(record, caller(T + 600), lease());
    const seen = async () => {
      const found = await other.find(record, caller());
      return found.state === 'active' && found.record.lastActiveAt;
    };
    await expect.poll(seen, { timeout: 3_000 }).toBe(T + 600);
  });

  test('a step with a fault of its own fails alone and is no outage', async () => {
    const store = openStore();
    const [early, good] = [newRecord(), newRecord()];
    await store.open(early);
    const outcomes = await Promise.allSettled([
      store.dropLists(early),
      store.open(newRecord({ generation: Number.NaN })),
      store.open(good),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    // The step before it was undone and done again: once, not twice.
    expect(await store.find(early, caller())).toMatchObject({ record: { listsGeneration: 1 } });
    const fault = outcomes[1]?.status === 'rejected' ? (outcomes[1].reason as unknown) : undefined;
    expect(fault).toBeInstanceOf(Error);
    expect(fault).not.toBeInstanceOf(StoreUnavailable);
    expect(await store.counts(T)).toEqual({ sessions: 2, tombstones: 0, inFlight: 0 });
    expect((await store.find(good, caller())).state).toBe('active');
  });

  test('sessions beyond the cache are read from the file', async () => {
    const store = openStore();
    const records = Array.from({ length: 20_100 }, () => newRecord());
    await Promise.all(records.map((record) => store.open(record)));
    for (const record of [...records, ...records.slice(0, 3)]) {
      expect((await store.find(record, caller())).state).toBe('active');
    }
    expect((await store.counts(T)).sessions).toBe(20_100);
  });

  describe('another process', () => {
    test('that holds the file for a moment is waited for, without blocking this one', async () => {
      const store = openStore();
      await store.ping();
      const other = new DatabaseSync(path);
      let slowestTurn = 0;
      let turn = performance.now();
      const watch = setInterval(() => {
        const now = performance.now();
        slowestTurn = Math.max(slowestTurn, now - turn);
        turn = now;
      }, 1);
      try {
        other.exec('BEGIN IMMEDIATE');
        const opened = store.open(newRecord());
        await new Promise((resolve) => setTimeout(resolve, 600));
        other.exec('COMMIT');
        await opened;
      } finally {
        clearInterval(watch);
        other.close();
      }
      expect((await store.counts(T)).sessions).toBe(1);
      expect(slowestTurn).toBeLessThan(300);
    });

    test('that keeps the file makes the store unavailable, and reads go on', async () => {
      const store = openStore();
      const record = newRecord();
      await store.open(record);
      const other = new DatabaseSync(path);
      try {
        other.exec('BEGIN IMMEDIATE');
        const waiting = store.dropLists(record);
        expect((await store.find(record, caller())).state).toBe('active');
        await expect(waiting).rejects.toThrow(StoreUnavailable);
        other.exec('ROLLBACK');
        await store.dropLists(record);
      } finally {
        other.close();
      }
    });
  });

  describe('a file that cannot be used', () => {
    test('is refused when another program wrote it, and left as it is', async () => {
      await mkdir(dirname(path), { recursive: true });
      inFile((database) => database.exec('CREATE TABLE sessions (server_id TEXT, payload TEXT)'));
      await expect(openStore().ping()).rejects.toThrow(/another program.*move it away/);
      const tables = inFile((database) => database.prepare('SELECT name FROM sqlite_schema').all());
      expect(tables).toMatchObject([{ name: 'sessions' }]);
    });

    test('is refused when a newer release wrote it, and left as it is', async () => {
      await openStore().ping();
      inFile((database) => database.exec('PRAGMA user_version = 99'));
      await expect(openStore().ping()).rejects.toThrow(/schema 99.*newer release/);
      expect(inFile((database) => database.prepare('PRAGMA user_version').get()?.['user_version'])).toBe(99);
    });

    test('is unavailable when it is no database, and recovers with it', async () => {
      await mkdir(join(folder, 'not', 'yet', 'there'), { recursive: true });
      await writeFile(path, 'this is not a database, and long enough to be looked at as one'.repeat(100));
      const store = openStore();
      await expect(store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
      await expect(store.open(newRecord())).rejects.toThrow(StoreUnavailable);
      await rm(path);
      await expect(store.ping()).resolves.toBeUndefined();
    });

    test('is opened again after it was damaged while it was in use', async () => {
      const store = openStore(false);
      await store.open(newRecord());
      await writeFile(path, 'damaged '.repeat(5_000));
      await expect(store.open(newRecord())).rejects.toThrow(StoreUnavailable);
      await rm(path);
      await store.open(newRecord());
      expect((await store.counts(T)).sessions).toBe(1);
    });

    test('is unavailable when its folder cannot be made', async () => {
      await writeFile(join(folder, 'not'), 'a file where a folder should be');
      const store = openStore();
      await expect(store.ping()).rejects.toThrow(StoreUnavailable);
      await expect(store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
    });

    test('is unavailable once when it was removed, then made anew', async () => {
      const store = openStore();
      await store.open(newRecord());
      await rm(join(folder, 'not'), { recursive: true });
      await expect(store.ping()).rejects.toThrow(/removed or replaced/);
      await store.ping();
      expect((await store.counts(T)).sessions).toBe(0);
    });

    test('is no fault of a request when the disk is full', () => {
      const database = openDatabase({ path, wal: true });
      try {
        database.exec('PRAGMA max_page_count = 30');
        const table = new SqliteSessionTable(database, new Map());
        let fault: unknown;
        for (let index = 0; index < 200 && fault === undefined; index += 1) {
          try {
            table.put({ record: newRecord({ initializeParams: 'x'.repeat(2_000) }), ending: null });
          } catch (error) {
            fault = sqliteFault(error);
          }
        }
        expect(fault).toBe('full');
      } finally {
        database.close();
      }
    });
  });

  test('after closing everything is refused', async () => {
    const store = openStore();
    await store.close();
    await expect(store.ping()).rejects.toThrow(StoreUnavailable);
    await expect(store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
  });
});
