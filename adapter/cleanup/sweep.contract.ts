import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { type ReconcileResult, reconcileStorage } from '../files/reconcile/reconcile-storage.ts';
import { storedFiles, type StoredFiles } from '../files/testing/stored-files.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { StateStore } from '../state/state-store.ts';
import { type StoreClients, stateStores } from '../state/testing/state-stores.ts';
import { Sweep, type SweepSettings } from './sweep.ts';
import { SessionFiles } from '../sessions/session-files.ts';

const MINUTE_MS = 60_000;
const SETTINGS: SweepSettings = {
  idleTtlMs: 10 * MINUTE_MS,
  allowRevival: false,
  tombstoneTtlMs: 60 * MINUTE_MS,
  workspaceTtlMs: 10 * MINUTE_MS,
  uploadTtlMs: 2 * MINUTE_MS,
  artifactTtlMs: null,
  orphanGraceMs: MINUTE_MS,
};
const never = new AbortController().signal;

/** Two replicas that share a store and a folder. */
describe.each(stateStores)('the cleanup with $name', (technology) => {
  let clients: StoreClients;
  let files: StoredFiles;

  beforeAll(() => technology.start?.());
  afterAll(() => technology.stop?.());
  beforeEach(async () => {
    clients = await technology.connect();
    files = await storedFiles(clients.a);
  });
  afterEach(async () => {
    await files[Symbol.asyncDispose]();
    await clients.close();
  });

  function replica(store: StateStore, settings: Partial<SweepSettings> = {}): Sweep {
    const { bytes, stage, telemetry } = files;
    return new Sweep(
      {
        store,
        sessionFiles: new SessionFiles(store, bytes, () => expect.unreachable()),
        bytes,
        stage,
        blobStore: undefined,
        telemetry,
        usable: () => true,
        clockDiffers: () => false,
        mayRemoveOrphans: () => true,
        endUpstream: async () => undefined,
        log: { info: () => undefined, warn: () => expect.unreachable() },
      },
      { ...SETTINGS, ...settings },
    );
  }
  const exists = (file: FileRecord): boolean => existsSync(files.pathOf(file));
  const both = async (...passes: Sweep[]): Promise<Record<string, number>> => {
    await Promise.all(passes.map((pass) => pass.run(never)));
    const sum: Record<string, number> = {};
    for (const { last } of passes) {
      for (const [name, value] of Object.entries(last ?? {})) {
        if (typeof value === 'number' && value > 0) sum[name] = (sum[name] ?? 0) + value;
      }
    }
    const { finished_at: _at, duration_ms: _ms, ...counts } = sum;
    return counts;
  };

  test('by two replicas at once removes everything once', async () => {
    const now = Date.now();
    const kept: FileRecord[] = [];
    const gone: FileRecord[] = [];
    for (let i = 0; i < 5; i++) {
      const idle = await files.session({ lastActiveAt: now - 11 * MINUTE_MS });
      gone.push(await files.file(idle, 'upload'), await files.file(idle, 'artifact'));
      const session = await files.session();
      kept.push(await files.file(session, 'artifact'), await files.file(session, 'upload'));
      const orphan = await files.orphan('artifact');
      await files.age(orphan, now - 2 * MINUTE_MS);
      gone.push(await files.file(session, 'upload', { lastUsedAt: now - 3 * MINUTE_MS }), orphan);
    }
    const [a, b] = [replica(clients.a), replica(clients.b)];
    const counts = await both(a, b);
    expect(counts).toEqual({
      expired_sessions: 5,
      removed_uploads: 10,
      removed_artifacts: 5,
      removed_orphan_files: 5,
    });
    expect(gone.map(exists)).toEqual(gone.map(() => false));
    expect(kept.map(exists)).toEqual(kept.map(() => true));
    expect(await clients.b.files.totals()).toEqual({
      uploads: { count: 5, bytes: 25 },
      artifacts: { count: 5, bytes: 25 },
    });
    expect(await both(a, b)).toEqual({});
  });

  test('finishes what a replica that died in the middle had begun', async () => {
    const session = await files.session();
    const [upload, artifact] = [await files.file(session, 'upload'), await files.file(session, 'artifact')];
    // A DELETE that got as far as the session, and one that got as far as the records.
    await clients.a.remove(session);
    const other = await files.session();
    const orphan = await files.file(other, 'upload');
    await clients.a.remove(other);
    await clients.a.files.purge(other);
    await files.age(orphan, 0);
    await both(replica(clients.b));
    expect([upload, artifact, orphan].map(exists)).toEqual([false, false, false]);
    expect(await clients.b.files.totals()).toMatchObject({ uploads: { count: 0 }, artifacts: { count: 0 } });
  });

  test('leaves a tombstone its files until its end', async () => {
    const session = await files.session({ lastActiveAt: Date.now() - 11 * MINUTE_MS });
    const file = await files.file(session, 'artifact');
    const settings = { allowRevival: true, tombstoneTtlMs: 1_000 };
    const [a, b] = [replica(clients.a, settings), replica(clients.b, settings)];
    expect(await both(a, b)).toEqual({ tombstoned_sessions: 1 });
    expect(exists(file)).toBe(true);
    const found = await clients.b.files.find(file, { now: Date.now(), ttlMs: null });
    expect(found).toMatchObject({ fileId: file.fileId });
    await delay(1_000);
    expect(await both(a, b)).toEqual({ removed_tombstones: 1, removed_artifacts: 1 });
    expect(exists(file)).toBe(false);
  });

  test('comes after the reconciliation, which adopts everything once', async () => {
    const sessionIds = Array.from({ length: 12 }, () => randomBytes(16).toString('hex'));
    const found: FileRecord[] = [];
    for (const sessionId of sessionIds) {
      found.push(await files.orphan('upload', { sessionId }), await files.orphan('artifact', { sessionId }));
    }
    const reconcile = (store: StateStore): Promise<ReconcileResult> =>
      reconcileStorage(
        { store, stage: files.stage, usable: () => true },
        {
          mode: 'always',
          refreshed: false,
          serverIds: ['s1'],
          legacyServerId: null,
          principal: '',
          version: '1',
          exposed: true,
          uploadTtlMs: null,
          artifactTtlMs: null,
        },
        never,
      );
    const results = await Promise.all([reconcile(clients.a), reconcile(clients.b)]);
    const backfilled = results.map((result) => (result.status === 'applied' ? result.uploads_backfilled : -1));
    expect(backfilled.toSorted((x, y) => x - y)).toEqual([0, 12]);
    expect(await clients.b.counts(Date.now())).toMatchObject({ sessions: 12 });
    expect(await clients.b.files.totals()).toMatchObject({ uploads: { count: 12 }, artifacts: { count: 12 } });
    for (const file of found) await files.age(file, 0);
    await both(replica(clients.a), replica(clients.b));
    expect(found.map(exists)).toEqual(found.map(() => true));
  });
});
