import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { StorageFault } from '../files/keys/file-key.ts';
import { storedFiles, type StoredFiles } from '../files/testing/stored-files.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { type SweepDeps, Sweep, type SweepSettings } from './sweep.ts';
import { SessionFiles } from '../sessions/session-files.ts';

const MINUTE_MS = 60_000;
const SETTINGS: SweepSettings = {
  idleTtlMs: 10 * MINUTE_MS,
  allowRevival: true,
  tombstoneTtlMs: 60 * MINUTE_MS,
  workspaceTtlMs: 10 * MINUTE_MS,
  uploadTtlMs: 2 * MINUTE_MS,
  artifactTtlMs: 10 * MINUTE_MS,
  orphanGraceMs: 5 * MINUTE_MS,
};
const NONE = {
  expired_sessions: 0,
  tombstoned_sessions: 0,
  removed_tombstones: 0,
  removed_uploads: 0,
  removed_artifacts: 0,
  removed_dangling_upload_records: 0,
  removed_dangling_artifact_records: 0,
  removed_orphan_files: 0,
};
const never = new AbortController().signal;

describe('a pass of the cleanup over sessions and files', () => {
  let files: StoredFiles;
  let ended: string[];
  let logged: unknown[];

  beforeEach(async () => {
    files = await storedFiles();
    ended = [];
    logged = [];
  });
  afterEach(() => files[Symbol.asyncDispose]());

  function pass(settings: Partial<SweepSettings> = {}, changes: Partial<SweepDeps> = {}): Sweep {
    const { store, bytes, stage, telemetry } = files;
    const deps: SweepDeps = {
      store,
      sessionFiles: new SessionFiles(store, bytes, () => expect.unreachable()),
      bytes,
      stage,
      blobStore: undefined,
      telemetry,
      usable: () => true,
      clockDiffers: () => false,
      mayRemoveOrphans: () => true,
      endUpstream: async ({ sessionId }: SessionRecord) => void ended.push(sessionId),
      log: { info: (counts) => logged.push(counts), warn: (attributes) => logged.push(attributes) },
      ...changes,
    };
    return new Sweep(deps, { ...SETTINGS, ...settings });
  }
  const exists = (file: FileRecord): boolean => existsSync(files.pathOf(file));
  const idle = (): Partial<SessionRecord> => ({ lastActiveAt: Date.now() - 11 * MINUTE_MS });

  test('M5: removes nothing where the clock of the replica differs, and says so', async () => {
    const session = await files.session(idle());
    const file = await files.file(session, 'upload', { lastUsedAt: Date.now() - 60 * MINUTE_MS });
    let clockDiffers = true;
    const one = pass({}, { clockDiffers: () => clockDiffers });
    await one.run(never);
    expect(one.last).toMatchObject({ ...NONE, files: 'skipped', skipped: 'clock_differs' });
    expect([exists(file), ended]).toEqual([true, []]);
    clockDiffers = false;
    await one.run(never);
    expect(one.last).not.toHaveProperty('skipped');
    expect(exists(file)).toBe(false);
  });

  test('that finds nothing to do says nothing', async () => {
    await files.file(await files.session(), 'upload');
    const one = pass();
    expect(one.last).toBeUndefined();
    await one.run(never);
    expect(one.last).toEqual({
      ...NONE,
      files: 'done',
      status: 'ok',
      finished_at: expect.closeTo(Date.now() / 1000, -1),
      duration_ms: expect.any(Number),
    });
    expect(logged).toEqual([]);
  });

  test.each([true, false])(
    'tells telemetry of itself, and of each session that it ends (revival: %s)',
    async (allowRevival) => {
      const telemetry = new RecordingTelemetry();
      const { serverId } = await files.session({
        ...idle(),
        createdAt: Date.now() - 90_000,
        protocolVersion: '2025-11-25',
      });
      await files.session();
      await pass({ allowRevival }, { telemetry }).run(never);
      const event = allowRevival ? 'idle_expired_tombstoned' : 'idle_expired_deleted';
      expect(telemetry.all).toEqual([
        {
          kind: 'session',
          observed: { serverId, event, seconds: expect.closeTo(90, -1), protocolVersion: '2025-11-25' },
        },
        {
          kind: 'cleanup',
          observed: {
            status: 'ok',
            removed: { ...NONE, [allowRevival ? 'tombstoned_sessions' : 'expired_sessions']: 1 },
          },
        },
      ]);
      vi.spyOn(files.store, 'expireIdle').mockRejectedValueOnce(new Error('down'));
      await expect(pass({}, { telemetry }).run(never)).rejects.toThrow('down');
      expect(telemetry.of('cleanup')[1]).toEqual({ status: 'error', removed: NONE });
    },
  );

  test('counts what it removed under the names of the original', async () => {
    const session = await files.session();
    const old = Date.now() - 60 * MINUTE_MS;
    await files.file(session, 'upload', { lastUsedAt: old });
    await files.file(session, 'artifact', { lastUsedAt: old });
    const orphan = await files.orphan('artifact');
    await files.age(orphan, old);
    for (const kind of ['upload', 'artifact', 'artifact'] as const) {
      await rm(files.pathOf(await files.file(session, kind, { createdAt: old })));
    }
    await files.session(idle());
    const tombstone = await files.session({ lastActiveAt: 0 });
    const now = Date.now();
    await files.store.expireIdle({ now, idleBefore: 1, tombstoneUntil: now, limit: 1 });
    await files.file(await files.session(), 'upload');
    const one = pass();
    await one.run(never);
    const counts = {
      expired_sessions: 0,
      tombstoned_sessions: 1,
      removed_tombstones: 1,
      removed_uploads: 1,
      removed_artifacts: 1,
      removed_dangling_upload_records: 1,
      removed_dangling_artifact_records: 2,
      removed_orphan_files: 1,
    };
    expect(one.last).toMatchObject(counts);
    expect(logged).toEqual([counts]);
    expect(await files.store.find(tombstone, { principal: '', now })).toEqual({ state: 'unknown' });
  });

  test('leaves a session that becomes a tombstone its files, also under the sweeper', async () => {
    const session = await files.session(idle());
    const file = await files.file(session, 'artifact');
    await files.age(file, Date.now() - 60 * MINUTE_MS);
    const one = pass();
    for (let i = 0; i < 2; i++) await one.run(never);
    expect(exists(file)).toBe(true);
    expect(ended).toEqual([session.sessionId]);
    await files.store.revive(session, { principal: '', now: Date.now() }, { maxActive: null });
    expect(await files.store.files.find(file, { now: Date.now(), ttlMs: null })).toMatchObject({
      fileId: file.fileId,
    });
  });

  test('removes the files with the session that cannot come back', async () => {
    const session = await files.session(idle());
    const file = await files.file(session, 'upload');
    const one = pass({ allowRevival: false });
    await one.run(never);
    expect(exists(file)).toBe(false);
    expect(one.last).toMatchObject({ expired_sessions: 1, tombstoned_sessions: 0, removed_uploads: 1 });
    expect(ended).toEqual([session.sessionId]);
  });

  test('removes the files of a tombstone when its time is over', async () => {
    const session = await files.session(idle());
    const file = await files.file(session, 'artifact');
    const one = pass({ tombstoneTtlMs: 1 });
    await one.run(never);
    expect(exists(file)).toBe(true);
    await vi.waitFor(async () => {
      await one.run(never);
      expect(exists(file)).toBe(false);
    });
    expect(one.last).toMatchObject({ removed_tombstones: 1, removed_artifacts: 1 });
  });

  test('leaves files to the replica that is at it, but not the sessions and what dies with them', async () => {
    const session = await files.session(idle());
    const died = await files.file(session, 'upload');
    const file = await files.file(await files.session(), 'upload', { lastUsedAt: 0 });
    await files.store.tryLock('cleanup', 'another replica', MINUTE_MS);
    const one = pass({ allowRevival: false });
    await one.run(never);
    expect(one.last).toMatchObject({ files: 'skipped', expired_sessions: 1, removed_uploads: 1 });
    expect([died, file].map(exists)).toEqual([false, true]);
    await files.store.unlock('cleanup', 'another replica');
    await one.run(never);
    expect(exists(file)).toBe(false);
    expect(await files.store.lockHolder('cleanup')).toBeUndefined();
  });

  test('deletes nothing on the word of the memory that replaces the store', async () => {
    const session = await files.session(idle());
    const kept = [await files.file(session, 'upload', { lastUsedAt: 0 }), await files.orphan('upload')];
    for (const file of kept) await files.age(file, 0);
    const one = pass({ allowRevival: false }, { usable: () => false });
    await one.run(never);
    expect(kept.map(exists)).toEqual([true, true]);
    expect(one.last).toMatchObject({ files: 'skipped', expired_sessions: 1, removed_uploads: 0 });
  });

  test('removes no orphans before they could be adopted, or where nobody wants it', async () => {
    const orphan = await files.orphan('upload');
    await files.age(orphan, 0);
    let reconciled = false;
    const one = pass({}, { mayRemoveOrphans: () => reconciled });
    await one.run(never);
    await pass({ orphanGraceMs: null }).run(never);
    expect(exists(orphan)).toBe(true);
    reconciled = true;
    await one.run(never);
    expect(exists(orphan)).toBe(false);
  });

  test('rests longer the longer it looked for orphans', async () => {
    const items = files.stage.items.bind(files.stage);
    const listed = vi.spyOn(files.stage, 'items').mockImplementation(async function* (kind, signal) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      yield* items(kind, signal);
    });
    const one = pass();
    await one.run(never);
    await one.run(never);
    expect(listed).toHaveBeenCalledTimes(2);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await one.run(never);
    expect(listed).toHaveBeenCalledTimes(4);
  });

  test('does not rest after it was held up by a store that failed', async () => {
    const orphan = await files.orphan('upload');
    await files.age(orphan, 0);
    let usable = true;
    const known = files.store.files.known.bind(files.store.files);
    vi.spyOn(files.store.files, 'known').mockImplementationOnce(async (sessionId, ids) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      usable = false;
      return known(sessionId, ids);
    });
    const one = pass({}, { usable: () => usable });
    await one.run(never);
    expect(exists(orphan)).toBe(true);
    usable = true;
    await one.run(never);
    expect(exists(orphan)).toBe(false);
  });

  test('ends the sessions that it has taken, also when the store fails after that', async () => {
    const session = await files.session(idle());
    const file = await files.file(session, 'upload');
    vi.spyOn(files.store, 'expireTombstones').mockRejectedValue(new Error('broken'));
    vi.spyOn(files.store.files, 'purgeAbandoned').mockResolvedValue([]);
    const one = pass({ allowRevival: false });
    await expect(one.run(never)).rejects.toThrow('broken');
    expect([ended, exists(file), one.last?.expired_sessions]).toEqual([[session.sessionId], false, 1]);
  });

  test('ends empty workspaces of sessionless clients, of which the upstream knows nothing', async () => {
    const lastActiveAt = Date.now() - 10 * MINUTE_MS - 1;
    await files.session({ protocolVersion: '2026-07-28', upstreamSessionId: null, lastActiveAt });
    const one = pass({ idleTtlMs: null });
    await one.run(never);
    expect(one.last).toMatchObject({ expired_sessions: 1, tombstoned_sessions: 0 });
    expect(ended).toEqual([]);
  });

  test('holds no record for dangling that is younger than what a network file system may hide', async () => {
    const created = { createdAt: Date.now() - 50_000 };
    const hidden = await files.file(await files.session(), 'upload', created);
    await rm(files.pathOf(hidden));
    const one = pass({ orphanGraceMs: 1 });
    await one.run(never);
    expect(one.last).toMatchObject({ removed_dangling_upload_records: 0 });
  });

  test('ends soon after it is told to, also while bytes elsewhere cannot be removed', async () => {
    for (let i = 0; i < 3; i++) await files.file(await files.session(idle()), 'upload');
    const stop = new AbortController();
    let discarded = 0;
    const bytes: SweepDeps['bytes'] = {
      discard: (_files, _reason, signal) =>
        new Promise((resolve) => {
          discarded += 1;
          signal?.addEventListener('abort', () => resolve());
          stop.abort();
        }),
      discardSession: async () => undefined,
    };
    const sessionFiles = new SessionFiles(files.store, bytes, () => expect.unreachable());
    await pass({ allowRevival: false }, { bytes, sessionFiles }).run(stop.signal);
    expect(discarded).toBe(1);
    // The others have their records, so that the next pass finds them.
    expect(await files.store.files.purgeAbandoned({ now: Date.now(), limit: 10 })).toHaveLength(2);
  });

  test('says once of what it may not read that it is there', async () => {
    const item = { kind: 'upload', sessionId: 'a', entry: null, fileId: null, temporary: [], modifiedAt: 0 } as const;
    const unreadable = new StorageFault('EACCES', 'of another user');
    const looked = vi.spyOn(files.stage, 'items').mockImplementation(async function* () {
      yield { ...item, unreadable };
    });
    const one = pass();
    await one.run(never);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await one.run(never);
    expect(logged).toEqual([{ entries: 2, err: unreadable }]);
    expect(looked).toHaveBeenCalledTimes(4);
  });

  test('goes on with the rest when a part fails, and fails in the end', async () => {
    const session = await files.session(idle());
    const orphan = await files.orphan('upload');
    await files.age(orphan, 0);
    vi.spyOn(files.store.files, 'expire').mockRejectedValue(new Error('broken'));
    const one = pass();
    await expect(one.run(never)).rejects.toThrow('broken');
    expect(exists(orphan)).toBe(false);
    expect(ended).toEqual([session.sessionId]);
    expect(one.last).toMatchObject({ status: 'error', removed_orphan_files: 1, tombstoned_sessions: 1 });
  });
});
