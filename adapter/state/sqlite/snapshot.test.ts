import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isUnreconciled, markReconciled, markUnreconciled } from '../../files/reconcile/reconcile-marker.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { Snapshot } from './snapshot.ts';
import { SqliteStore } from './sqlite-store.ts';
import { sampleSession } from '../testing/sample-session.ts';
import type { SessionRecord } from '../state-store.ts';
import { addFile, beginFile, T } from '../testing/files.ts';

const newRecord = (sessionId: string): SessionRecord =>
  sampleSession(sessionId, {
    upstreamSessionId: null,
    generation: 2,
    logLevel: '{"level":"info"}',
    subscriptions: ['file:///a'],
    listsGeneration: 1,
  });

const caller = { principal: '', now: 2_000 };

describe('Snapshot', () => {
  let folder: string;
  let path: string;
  const logged: string[] = [];
  const snapshots: Snapshot[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'snapshot-'));
    path = join(folder, 'state', 'snapshot.sqlite3');
    logged.length = 0;
  });
  afterEach(async () => {
    for (const snapshot of snapshots.splice(0)) await snapshot.stop();
    await rm(folder, { recursive: true });
  });

  const log = (message: string): void => void logged.push(message);

  const snapshotOf = (store: MemoryStore, intervalMs = 60_000): Snapshot => {
    const snapshot = new Snapshot(store, { file: { path, wal: true }, intervalMs, log });
    snapshots.push(snapshot);
    return snapshot;
  };

  const loaded = (): MemoryStore => {
    const store = new MemoryStore();
    snapshotOf(store).load();
    return store;
  };

  test('sessions and tombstones are there again after a restart', async () => {
    const store = new MemoryStore();
    await store.open(newRecord('idle'));
    await store.expireIdle({ now: 2_000, idleBefore: 2_000, tombstoneUntil: 9_000, limit: 1 });
    await store.open(newRecord('active'));
    await snapshotOf(store).save();

    const after = loaded();
    expect(await after.find(newRecord('active'), caller)).toEqual({ state: 'active', record: newRecord('active') });
    expect(await after.find(newRecord('idle'), caller)).toMatchObject({ state: 'tombstoned', expiresAt: 9_000 });
    expect(after.export()).toEqual(store.export());
  });

  test('what is pinned is there again after a restart, and gone with its session', async () => {
    const store = new MemoryStore();
    const baseline = { fingerprint: 'f', text: '["größe"]' };
    for (const id of ['one', 'two', 'unpinned', 'idle']) await store.open(newRecord(id));
    for (const id of ['one', 'two', 'idle']) await store.pin(newRecord(id), baseline);
    await store.pin(newRecord('two'), { fingerprint: 'other', text: 'other' });
    await store.invalidate(newRecord('idle'), 'drift', 9_000);
    const snapshot = snapshotOf(store);
    await snapshot.save();
    const after = loaded();
    expect(after.export()).toEqual(store.export());
    expect(await after.baseline(newRecord('one'))).toEqual(baseline);
    expect(await after.pin(newRecord('two'), { fingerprint: 'other', text: 'other' })).toEqual(baseline);
    expect(await after.baseline(newRecord('unpinned'))).toBeUndefined();

    for (const id of ['one', 'two', 'idle']) await store.remove(newRecord(id));
    await snapshot.save();
    expect(loaded().exportBaselines()).toEqual(new Map());
    const database = new DatabaseSync(path);
    expect(database.prepare('SELECT * FROM baselines').all()).toEqual([]);
    database.close();
  });

  test('that files are still to be adopted is known again, who held a lock is not', async () => {
    const store = new MemoryStore();
    await markUnreconciled(store);
    await store.tryLock('cleanup', 'me', 60_000);
    await snapshotOf(store).save();
    const after = loaded();
    expect(await isUnreconciled(after)).toBe(true);
    expect(await after.lockHolder('cleanup')).toBeUndefined();
    await markReconciled(after);
    await snapshotOf(after).save();
    expect(await isUnreconciled(loaded())).toBe(false);
  });

  test('committed files and secrets are there again, pending files, leases and nonces are not', async () => {
    const store = new MemoryStore();
    const session = newRecord('active');
    await store.open(session);
    const file = await addFile(store, session, { kind: 'artifact', sizeBytes: 9 });
    await store.files.use(file, { now: T, ttlMs: null, leaseUntil: T + 1 });
    await beginFile(store, session, { sizeBytes: 4 });
    await store.nonces.issue('nonce', { ...session, toolName: null, elicitationId: null, expiresAt: 9e15 }, T);
    const secret = await store.secret('signing');
    const removed = newRecord('removed');
    await store.open(removed);
    const lost = await addFile(store, removed);
    await store.remove(removed);
    await snapshotOf(store).save();

    const after = loaded();
    expect(await after.files.find(file, { now: T, ttlMs: null })).toEqual(file);
    expect(await after.files.totals()).toEqual({ uploads: { count: 0, bytes: 0 }, artifacts: { count: 1, bytes: 9 } });
    expect(await after.files.known('removed', [lost.fileId])).toEqual(new Set());
    expect(await after.nonces.find('nonce', T)).toBeUndefined();
    expect(await after.secret('signing')).toBe(secret);

    const fresh = new MemoryStore();
    snapshotOf(fresh).load('secrets');
    expect(fresh.export()).toEqual([]);
    expect(fresh.exportFiles()).toEqual([]);
    expect(fresh.exportBaselines()).toEqual(new Map());
    expect(await fresh.secret('signing')).toBe(secret);
  });

  test('what was removed since the last snapshot is gone from the next', async () => {
    const store = new MemoryStore();
    const snapshot = snapshotOf(store);
    await store.open(newRecord('one'));
    await store.open(newRecord('two'));
    await snapshot.save();
    await store.remove(newRecord('one'));
    await snapshot.save();
    expect(loaded().export()).toEqual(store.export());
    expect(snapshot.status).toMatchObject({ lastError: null, lastSessionsCount: 1, lastTombstonesCount: 0 });
    expect(snapshot.status.lastSuccessAt).toBeGreaterThan(0);
  });

  test('it is taken at once, every interval, and on stopping', async () => {
    const store = new MemoryStore();
    const snapshot = snapshotOf(store, 20);
    snapshot.start();
    await expect.poll(() => snapshot.status.lastSessionsCount).toBe(0);
    await store.open(newRecord('one'));
    await expect.poll(() => snapshot.status.lastSessionsCount).toBe(1);
    await store.open(newRecord('two'));
    await snapshot.stop();
    expect(loaded().export()).toHaveLength(2);
  });

  test('a large snapshot leaves turns to other work, and is what it was when it began', async () => {
    const store = new MemoryStore();
    for (let index = 0; index < 3_000; index += 1) await store.open(newRecord(`session-${index}`));
    let turns = 0;
    const watch = setInterval(() => {
      turns += 1;
    }, 0);
    const saving = snapshotOf(store).save();
    await store.remove(newRecord('session-2999'));
    await saving;
    clearInterval(watch);
    expect(turns).toBeGreaterThanOrEqual(3);
    expect(loaded().export()).toHaveLength(3_000);
  });

  test('without a file the store stays empty', () => {
    expect(loaded().export()).toEqual([]);
    expect(logged).toEqual([]);
  });

  test('a file that is no database is left alone, and told once', async () => {
    await snapshotOf(new MemoryStore()).save();
    const text = 'precious, but no database '.repeat(200);
    await writeFile(path, text);
    const snapshot = snapshotOf(new MemoryStore(), 10);
    snapshot.load();
    snapshot.start();
    await snapshot.stop();
    expect(await readFile(path, 'utf8')).toBe(text);
    expect(snapshot.status.lastError).toMatch(/not a database/);
    expect(logged).toHaveLength(1);
    await rm(path);
  });

  test('a snapshot with a damaged row is not overwritten', async () => {
    const store = new MemoryStore();
    await store.open(newRecord('one'));
    await snapshotOf(store).save();
    const rows = (sql: string): unknown[] => {
      const database = new DatabaseSync(path);
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    };
    rows("UPDATE sessions SET subscriptions = 'no JSON'");
    const after = new MemoryStore();
    const snapshot = snapshotOf(after);
    snapshot.load();
    await snapshot.save();
    expect(after.export()).toEqual([]);
    expect(rows('SELECT session_id FROM sessions')).toEqual([{ session_id: 'one' }]);
    expect(logged).toHaveLength(1);
  });

  test('a file that cannot be written shows in the status and recovers', async () => {
    await writeFile(join(folder, 'state'), 'a file where a folder should be');
    const store = new MemoryStore();
    const snapshot = snapshotOf(store);
    await snapshot.save();
    await snapshot.save();
    expect(snapshot.status.lastError).not.toBeNull();
    expect(snapshot.status.lastFailureAt).toBeGreaterThan(0);
    expect(logged).toHaveLength(1);
    await rm(join(folder, 'state'));
    await snapshot.save();
    expect(snapshot.status.lastError).toBeNull();
  });

  test('type disk takes over where a snapshot of type memory left off', async () => {
    const store = new MemoryStore();
    await store.open(newRecord('one'));
    await snapshotOf(store).save();
    const disk = new SqliteStore({ path, wal: true });
    try {
      expect(await disk.find(newRecord('one'), caller)).toEqual({ state: 'active', record: newRecord('one') });
    } finally {
      await disk.close();
    }
  });
});
