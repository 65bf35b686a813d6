import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { FileKind } from '../../state/file-records.ts';
import { StorageFault } from '../keys/file-key.ts';
import { isUnreconciled } from './reconcile-marker.ts';
import { type ReconcileOptions, type ReconcileResult, reconcileStorage } from './reconcile-storage.ts';
import { fileRecord, newId, storedFiles, type StoredFiles } from '../testing/stored-files.ts';

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
const forever = { ttlMs: null };

describe('reconciliation', () => {
  let files: StoredFiles;
  let usable: boolean;

  beforeEach(async () => {
    files = await storedFiles();
    usable = true;
  });
  afterEach(() => files[Symbol.asyncDispose]());

  const options: ReconcileOptions = {
    mode: 'if_empty',
    refreshed: false,
    serverIds: ['s1'],
    legacyServerId: null,
    principal: 'me',
    version: '1.2.3',
    exposed: true,
    uploadTtlMs: null,
    artifactTtlMs: null,
  };
  const reconcile = (changes: Partial<ReconcileOptions> = {}, signal = new AbortController().signal) =>
    reconcileStorage(
      { store: files.store, stage: files.stage, usable: () => usable },
      { ...options, ...changes },
      signal,
    );

  /** A file as the original left it. */
  async function legacy(kind: FileKind, filename = 'old.txt', sessionId = newId(), content: string | Buffer = 'hello') {
    const file = fileRecord({ kind, sessionId, filename });
    const path = files.pathOf(file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    return { ...file, path };
  }
  const found = (session: { sessionId: string }, kind: FileKind, serverId = 's1') =>
    files.store.files.list({ serverId, sessionId: session.sessionId }, kind, { now: Date.now(), ...forever });
  const applied = (result: ReconcileResult) => (result.status === 'applied' ? result : expect.unreachable());

  describe('does nothing', () => {
    test.each<[string, Partial<ReconcileOptions>, object]>([
      ['when it is disabled', { mode: 'disabled' }, { status: 'disabled', reason: 'reconciliation_disabled' }],
      [
        'when state was discarded on purpose',
        { refreshed: true },
        { status: 'skipped', reason: 'refresh_on_startup_enabled' },
      ],
    ])('%s', async (_name, changes, result) => {
      const file = await legacy('upload');
      expect(await reconcile(changes)).toMatchObject(result);
      expect(await found(file, 'upload')).toEqual([]);
    });

    test('when there are sessions, or tombstones', async () => {
      const file = await legacy('upload');
      const session = await files.session({ lastActiveAt: 0 });
      const skipped = { status: 'skipped', mode: 'if_empty', reason: 'repository_not_empty', repository_empty: false };
      expect(await reconcile()).toEqual(skipped);
      const now = Date.now();
      await files.store.expireIdle({ now, idleBefore: 1, tombstoneUntil: now + 60_000, limit: 1 });
      expect(await reconcile()).toEqual(skipped);
      await files.store.remove(session);
      expect(await reconcile()).toMatchObject({ status: 'applied' });
      expect(await found(file, 'upload')).toHaveLength(1);
    });

    test('when there are no files', async () => {
      expect(await reconcile()).toEqual({
        status: 'skipped',
        mode: 'if_empty',
        reason: 'no_files_found',
        repository_empty: true,
      });
      await rm(join(files.root, 'uploads'), { recursive: true, force: true });
      expect(await reconcile({ mode: 'always' })).toMatchObject({ reason: 'no_files_found' });
    });
  });

  test('gives files their records, and sessions that their clients can use', async () => {
    const upload = await legacy('upload', 'notes.md');
    const artifact = await legacy('artifact', 'picture.dat', upload.sessionId, PNG);
    const other = await legacy('artifact');
    const [at, usedAt] = [Date.now() - 3_600_000, Date.now() - 60_000];
    await utimes(upload.path, usedAt / 1000, at / 1000);
    const result = applied(await reconcile());
    expect(result).toEqual({
      status: 'applied',
      mode: 'if_empty',
      repository_empty: true,
      legacy_migration: true,
      uploads_discovered: 1,
      artifacts_discovered: 2,
      uploads_backfilled: 1,
      artifacts_backfilled: 2,
      sessions_created: 2,
      sessions_updated: 0,
      unresolved_sessions: [],
      unresolved_sessions_count: 0,
      skipped_entries: 0,
      expired_entries: 0,
    });
    const [one] = await found(upload, 'upload');
    expect(one).toMatchObject({
      fileId: upload.fileId,
      filename: 'notes.md',
      mimeType: 'text/markdown',
      sizeBytes: 5,
      sha256: createHash('sha256').update('hello').digest('hex'),
      toolName: null,
      exposed: false,
      state: 'committed',
      leaseUntil: 0,
    });
    expect(Math.abs((one?.createdAt ?? 0) - at)).toBeLessThan(2);
    expect(Math.abs((one?.lastUsedAt ?? 0) - usedAt)).toBeLessThan(2);
    expect(await found(upload, 'artifact')).toMatchObject([
      { fileId: artifact.fileId, mimeType: 'image/png', sha256: null, exposed: true },
    ]);
    expect(await found(other, 'artifact')).toHaveLength(1);

    const key = { serverId: 's1', sessionId: upload.sessionId };
    const session = await files.store.find(key, { principal: 'me', now: Date.now() });
    expect(session).toMatchObject({
      state: 'active',
      record: { upstreamSessionId: '', generation: 0, protocolVersion: '2025-06-18', principal: 'me' },
    });
    const record = session.state === 'active' ? session.record : expect.unreachable();
    expect(JSON.parse(record.initializeParams)).toEqual({
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'remote_mcp_adapter', version: '1.2.3' },
    });
    expect(record.createdAt).toBe(one?.createdAt);
    expect(record.lastActiveAt).toBe(one?.lastUsedAt);
    expect(await files.store.find(key, { principal: 'you', now: Date.now() })).toEqual({ state: 'unknown' });
  });

  test('in mode always adds what is new to the sessions that there are, and changes nothing else', async () => {
    const session = await files.session({ principal: 'owner' });
    const known = await files.file(session, 'upload', { mimeType: 'x/y', toolName: 'tool' });
    const tombstone = await files.session({ lastActiveAt: 0 });
    const now = Date.now();
    await files.store.expireIdle({ now, idleBefore: 1, tombstoneUntil: now + 60_000, limit: 1 });
    await legacy('upload', 'a.txt', session.sessionId);
    await legacy('artifact', 'b.txt', tombstone.sessionId);
    const changes = { mode: 'always', refreshed: true } as const;
    expect(applied(await reconcile(changes))).toMatchObject({
      repository_empty: false,
      legacy_migration: false,
      uploads_discovered: 2,
      uploads_backfilled: 1,
      artifacts_backfilled: 1,
      sessions_created: 0,
      sessions_updated: 2,
    });
    expect((await found(session, 'upload')).find(({ fileId }) => fileId === known.fileId)).toMatchObject(known);
    expect(await files.store.find(session, { principal: 'owner', now })).toEqual({ state: 'active', record: session });
    expect(await files.store.find(tombstone, { principal: '', now })).toMatchObject({ state: 'tombstoned' });
    expect(applied(await reconcile(changes))).toMatchObject({ uploads_backfilled: 0, artifacts_backfilled: 0 });
  });

  describe('with several servers', () => {
    const serverIds = ['s1', 's2'];

    test('leaves files alone whose owner is not clear, and says how many sessions they are of', async () => {
      const file = await legacy('upload');
      await legacy('artifact', 'b.txt', file.sessionId);
      expect(applied(await reconcile({ serverIds }))).toMatchObject({
        uploads_discovered: 1,
        uploads_backfilled: 0,
        sessions_created: 0,
        unresolved_sessions: [`${file.sessionId.slice(0, 8)}…`],
        unresolved_sessions_count: 1,
      });
      expect(await files.store.counts(Date.now())).toMatchObject({ sessions: 0 });
      expect(existsSync(file.path)).toBe(true);
    });

    test('keeps these noted for all replicas until somebody says whose they are', async () => {
      const file = await legacy('upload');
      await reconcile({ serverIds });
      await files.session();
      expect(await isUnreconciled(files.store)).toBe(true);
      expect(applied(await reconcile({ serverIds, legacyServerId: 's2' }))).toMatchObject({ uploads_backfilled: 1 });
      expect(await found(file, 'upload', 's2')).toHaveLength(1);
      expect(await isUnreconciled(files.store)).toBe(false);
    });

    test('gives them to legacy_server_id, but for those of sessions that another server has', async () => {
      const session = await files.session({ serverId: 's1' });
      const mine = await legacy('upload', 'a.txt', session.sessionId);
      const legacyFile = await legacy('upload');
      await reconcile({ mode: 'always', serverIds, legacyServerId: 's2' });
      expect(await found(mine, 'upload', 's1')).toHaveLength(1);
      expect(await found(legacyFile, 'upload', 's2')).toHaveLength(1);
    });
  });

  test('never brings back a session that was invalidated', async () => {
    const session = await files.session({ principal: 'me' });
    await files.store.invalidate(session, 'drift', Date.now() + 60_000);
    await legacy('upload', 'a.txt', session.sessionId);
    expect(applied(await reconcile({ mode: 'always' }))).toMatchObject({ unresolved_sessions_count: 1 });
    // Its files may go: no configuration would give them a record.
    expect(await isUnreconciled(files.store)).toBe(false);
    expect(await files.store.find(session, { principal: 'me', now: Date.now() })).toMatchObject({
      state: 'invalidated',
    });
  });

  test('skips and counts what is no file of ours, and takes the newest of several', async () => {
    const sessions = join(files.root, 'uploads', 'sessions');
    const good = await legacy('upload', 'new.txt');
    const folder = dirname(good.path);
    await writeFile(join(folder, 'older.txt'), 'x');
    await utimes(join(folder, 'older.txt'), 1000, 1000);
    await writeFile(join(folder, '.new.txt.lock'), '');
    for (const [session, item] of [
      ['no-session-id', newId()],
      [newId(), 'no-item-id'],
      [newId().toUpperCase(), newId()],
    ] as const) {
      await mkdir(join(sessions, session, item), { recursive: true });
      await writeFile(join(sessions, session, item, 'file.txt'), 'x');
    }
    const linked = join(sessions, newId(), newId());
    await mkdir(linked, { recursive: true });
    await symlink('/etc/passwd', join(linked, 'passwd'));
    const result = applied(await reconcile());
    expect(result).toMatchObject({ uploads_discovered: 2, uploads_backfilled: 1, sessions_created: 1 });
    expect(result.skipped_entries).toBeGreaterThanOrEqual(4);
    expect(await found(good, 'upload')).toMatchObject([{ filename: 'new.txt' }]);
  });

  test('leaves files to the cleanup whose time is over', async () => {
    const file = await legacy('upload');
    await utimes(file.path, 1000, 1000);
    const artifact = await legacy('artifact');
    await utimes(artifact.path, 1000, 1000);
    const result = applied(await reconcile({ uploadTtlMs: 60_000 }));
    expect(result).toMatchObject({ uploads_backfilled: 0, expired_entries: 1, artifacts_backfilled: 1 });
    // Redis would hold a session that was last active in 1970 for forgotten.
    const { sessionId } = artifact;
    const opened = await files.store.find({ serverId: 's1', sessionId }, { principal: 'me', now: Date.now() });
    expect(opened).toMatchObject({ state: 'active', record: { lastActiveAt: expect.any(Number) } });
    if (opened.state === 'active') expect(opened.record.lastActiveAt).toBeGreaterThan(Date.now() - 2 * 86_400_000);
  });

  test('forgets files that were being deleted while it looked', async () => {
    const file = await legacy('upload');
    const adopt = files.store.files.adopt.bind(files.store.files);
    vi.spyOn(files.store.files, 'adopt').mockImplementation(async (records) => {
      await rm(dirname(file.path), { recursive: true, force: true });
      return adopt(records);
    });
    await reconcile();
    expect(await found(file, 'upload')).toEqual([]);
  });

  test('is done once where several replicas start together', async () => {
    for (let i = 0; i < 20; i++) await legacy('upload');
    const opened = vi.spyOn(files.store, 'open');
    const results = await Promise.all([reconcile(), reconcile(), reconcile()]);
    expect(results.map((result) => ('reason' in result ? result.reason : result.status)).toSorted()).toEqual([
      'applied',
      'repository_not_empty',
      'repository_not_empty',
    ]);
    expect(opened).toHaveBeenCalledTimes(20);
  });

  describe('that fails halfway, or whose replica is killed then', () => {
    /** Leaves some sessions in the store and files without records. */
    async function interrupted(): Promise<{ sessionId: string }[]> {
      const all = [await legacy('upload'), await legacy('upload'), await legacy('upload')];
      const adopt = files.store.files.adopt.bind(files.store.files);
      let adopted = 0;
      vi.spyOn(files.store.files, 'adopt').mockImplementation(async (records) => {
        const count = await adopt(records);
        if ((adopted += count) === 2) throw new Error('hiccup');
        return count;
      });
      await expect(reconcile()).rejects.toThrow('hiccup');
      vi.restoreAllMocks();
      expect(await files.store.counts(Date.now())).toMatchObject({ sessions: 2 });
      return all;
    }

    test('goes on later, though the store is not empty any more', async () => {
      const all = await interrupted();
      expect(await isUnreconciled(files.store)).toBe(true);
      expect(applied(await reconcile())).toMatchObject({ repository_empty: false, uploads_backfilled: 1 });
      for (const file of all) expect(await found(file, 'upload')).toHaveLength(1);
      expect(await isUnreconciled(files.store)).toBe(false);
      expect(await reconcile()).toMatchObject({ reason: 'repository_not_empty' });
    });

    test.each<Partial<ReconcileOptions>>([{ mode: 'disabled' }, { refreshed: true }])(
      'is forgotten where nobody wants it any more: %o',
      async (changes) => {
        await interrupted();
        await reconcile(changes);
        expect(await isUnreconciled(files.store)).toBe(false);
      },
    );
  });

  test('tells when sessions of clients make no difference any more: before the first file', async () => {
    const file = await legacy('upload');
    const onDecided = vi.fn();
    let foundBefore: unknown;
    const adopt = files.store.files.adopt.bind(files.store.files);
    vi.spyOn(files.store.files, 'adopt').mockImplementation(async (records) => {
      foundBefore ??= [await isUnreconciled(files.store), onDecided.mock.calls.length];
      return adopt(records);
    });
    const deps = { store: files.store, stage: files.stage, usable: () => true, onDecided };
    await reconcileStorage(deps, options, new AbortController().signal);
    expect(foundBefore).toEqual([true, 1]);
    expect(await found(file, 'upload')).toHaveLength(1);
  });

  test('says of the memory that replaces the store not that it has sessions, and fails', async () => {
    await files.session();
    usable = false;
    await expect(reconcile()).rejects.toThrow('not available');
  });

  test('skips and counts what it may not read, and goes on', async () => {
    const [forbidden, good] = [await legacy('upload'), await legacy('upload')];
    const open = files.stage.open.bind(files.stage);
    vi.spyOn(files.stage, 'open').mockImplementation(async (place) => {
      if (place.fileId === forbidden.fileId) throw new StorageFault('EACCES', 'of another user');
      return open(place);
    });
    expect(applied(await reconcile())).toMatchObject({ uploads_backfilled: 1, skipped_entries: 1 });
    expect(await found(good, 'upload')).toHaveLength(1);
    // A disk that is broken is another thing.
    const another = await legacy('upload');
    vi.spyOn(files.stage, 'open').mockRejectedValue(new StorageFault('EIO', 'broken'));
    await expect(reconcile({ mode: 'always' })).rejects.toThrow('broken');
    expect(await found(another, 'upload')).toEqual([]);
  });

  test('adopts nothing while the store is not itself, and fails', async () => {
    await legacy('upload');
    usable = false;
    await expect(reconcile()).rejects.toThrow('not available');
    expect(await files.store.counts(Date.now())).toMatchObject({ sessions: 0 });
  });

  test('ends when the adapter stops, also while it waits for another replica', async () => {
    await legacy('upload');
    await expect(reconcile({}, AbortSignal.abort())).rejects.toThrow();
    await files.store.tryLock('reconcile', 'somebody', 60_000);
    const stop = new AbortController();
    const waiting = reconcile({}, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
