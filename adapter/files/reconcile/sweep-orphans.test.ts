import { existsSync } from 'node:fs';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { FileRecord } from '../../state/file-records.ts';
import { AnchoredFolder } from '../disk/anchored-folder.ts';
import { StorageFault } from '../keys/file-key.ts';
import { type SweepOptions, type Swept, sweepOrphans } from './sweep-orphans.ts';
import { fileRecord, newId, storedFiles, type StoredFiles } from '../testing/stored-files.ts';

const GRACE_MS = 300_000;

describe('the sweeper of orphans', () => {
  let files: StoredFiles;
  let usable: boolean;
  const now = Date.now();
  const old = now - 2 * GRACE_MS;

  beforeEach(async () => {
    files = await storedFiles();
    usable = true;
  });
  afterEach(() => {
    vi.restoreAllMocks();
    return files[Symbol.asyncDispose]();
  });

  const sweep = (options: Partial<SweepOptions> = {}): Promise<Swept> => {
    const { store, stage, telemetry } = files;
    const deps = { records: store.files, stage, telemetry, usable: () => usable };
    return sweepOrphans(deps, { graceMs: GRACE_MS, now, signal: new AbortController().signal, ...options });
  };
  const exists = (file: FileRecord): boolean => existsSync(dirname(files.pathOf(file)));
  const aged = async (...files_: FileRecord[]): Promise<void> => {
    for (const file of files_) await files.age(file, old);
  };

  test('removes what has no record and is older than the grace, and nothing else', async () => {
    const session = await files.session();
    const { sessionId } = session;
    const known = [await files.file(session, 'upload'), await files.file(session, 'artifact')];
    const orphans = [
      await files.orphan('upload'),
      await files.orphan('artifact'),
      await files.orphan('artifact', { sessionId }),
    ];
    const young = await files.orphan('upload', { sessionId });
    await aged(...known, ...orphans);
    expect(await sweep()).toMatchObject({ removed: 3, failed: 0, failure: undefined, unreadable: 0 });
    expect(orphans.map(exists)).toEqual([false, false, false]);
    expect([...known, young].map(exists)).toEqual([true, true, true]);
    expect(files.told).toEqual(['upload orphan 1', 'artifact orphan 1', 'artifact orphan 1']);
  });

  test('keeps the files of tombstones, and of uploads that are under way', async () => {
    const idle = await files.session({ lastActiveAt: 0 });
    const file = await files.file(idle, 'artifact');
    await files.store.expireIdle({ now, idleBefore: 1, tombstoneUntil: now + 1000, limit: 10 });
    const pending = { ...file, ...(await files.session()), fileId: newId(), leaseUntil: now + 60_000 };
    await files.store.files.begin([pending], { now, maxArtifacts: null });
    const writer = await files.stage.create(pending);
    await writer.write(Buffer.from('so far'));
    await aged(file);
    expect(await sweep({ graceMs: 0, now: now + 300_000 })).toMatchObject({ removed: 0 });
    expect([file, pending].map(exists)).toEqual([true, true]);
    await writer.finish();
    expect(existsSync(files.pathOf(pending))).toBe(true);
  });

  test('removes temporary files that a crash left beside a file', async () => {
    const file = await files.file(await files.session(), 'artifact');
    const [left, fresh] = ['.file.txt.0123456789abcdef.tmp', '.file.txt.fedcba9876543210.tmp'].map((name) =>
      join(dirname(files.pathOf(file)), name),
    ) as [string, string];
    for (const path of [left, fresh]) await writeFile(path, 'half');
    await utimes(left, old / 1000, old / 1000);
    expect(await sweep()).toMatchObject({ removed: 1, failed: 0 });
    expect([files.pathOf(file), left, fresh].map((path) => existsSync(path))).toEqual([true, false, true]);
    const young = await files.orphan('upload');
    await writeFile(join(dirname(files.pathOf(young)), '.file.txt.0123456789abcdef.tmp'), 'half');
    expect(await sweep()).toMatchObject({ removed: 0 });
    expect(exists(young)).toBe(true);
  });

  test('removes versions of an edited file that its record does not name, once none is recorded any more', async () => {
    const first = await files.file(await files.session(), 'artifact');
    const second = { ...first, contentId: newId(), version: 2, older: [] };
    const versions = await Promise.all(
      [second, { ...first, contentId: newId() }, { ...first, contentId: newId() }].map(async (version) => {
        const writer = await files.stage.create(version);
        await writer.finish();
        return version;
      }),
    );
    expect(await files.store.files.revise(second, { now, from: 1 })).toBe(true);
    const [, left, young] = versions as [FileRecord, FileRecord, FileRecord];
    await aged(first, second, left);
    await utimes(dirname(files.pathOf(young)), old / 1000, (now - GRACE_MS) / 1000);
    const all = [first, second, left, young].map((version) => files.pathOf(version));
    // The first one is kept no more: a crash has come before its end.
    expect(await sweep()).toMatchObject({ removed: 2, failed: 0 });
    expect(all.map((path) => existsSync(path))).toEqual([false, true, false, true]);
    expect(await sweep({ now: now + GRACE_MS })).toMatchObject({ removed: 1 });
    expect(all.map((path) => existsSync(path))).toEqual([false, true, false, false]);
  });

  test('keeps what lies in the folder of an edited file whose record is not committed yet', async () => {
    const session = await files.session();
    const pending = fileRecord({ ...session, kind: 'artifact', leaseUntil: now + 60_000 });
    await files.store.files.begin([pending], { now, maxArtifacts: null });
    const version = { ...pending, contentId: newId() };
    for (const one of [pending, version]) await (await files.stage.create(one)).finish();
    await aged(pending, version);
    expect(await sweep()).toMatchObject({ removed: 0 });
    expect([pending, version].map((one) => existsSync(files.pathOf(one)))).toEqual([true, true]);
  });

  test('removes what is no item at all, and follows no link', async () => {
    const { root } = files;
    const sessions = join(root, 'uploads', 'sessions');
    const outside = join(root, 'state');
    await mkdir(outside);
    await writeFile(join(outside, 'adapter_state.sqlite3'), 'state');
    const folder = join(sessions, newId());
    await mkdir(join(folder, 'no id'), { recursive: true });
    await writeFile(join(folder, 'no id', 'file'), 'x');
    await writeFile(join(folder, newId()), 'a file where a folder should be');
    await symlink(outside, join(folder, newId()));
    await symlink(outside, join(sessions, newId()));
    await mkdir(join(sessions, 'other', newId()), { recursive: true });
    const later = now + 2 * GRACE_MS;
    expect(await sweep({ now: later })).toMatchObject({ removed: 4, failed: 0 });
    // What is empty now goes the next time, but for the folders of all sessions.
    await sweep({ now: later });
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(join(sessions, 'other'))).toBe(false);
    expect(existsSync(sessions)).toBe(true);
    expect(existsSync(join(outside, 'adapter_state.sqlite3'))).toBe(true);
  });

  test('believes nothing that it hears while the store is not itself', async () => {
    const file = await files.file(await files.session(), 'upload');
    await aged(file);
    // The fallback in memory does not know the file; the outage began while it was asked.
    vi.spyOn(files.store.files, 'known').mockImplementation(async () => {
      usable = false;
      return new Set();
    });
    expect(await sweep()).toMatchObject({ removed: 0 });
    expect(exists(file)).toBe(true);
    const known = vi.spyOn(files.store.files, 'known');
    known.mockClear();
    await sweep();
    expect(known).not.toHaveBeenCalled();
  });

  test('lists the folders before it asks for records', async () => {
    const session = await files.session();
    const asked = files.store.files.known.bind(files.store.files);
    // An upload that begins right after the question is no orphan, though the answer did not know it.
    let begun: FileRecord | undefined;
    vi.spyOn(files.store.files, 'known').mockImplementation(async (sessionId, ids) => {
      const answer = await asked(sessionId, ids);
      begun ??= await files.file(session, 'upload');
      return answer;
    });
    await files.orphan('upload', { sessionId: session.sessionId });
    await sweep({ graceMs: 0, now: Date.now() + 60_000 });
    expect(begun === undefined ? undefined : exists(begun)).toBe(true);
  });

  test('goes on with the others when something cannot be removed, and says so', async () => {
    const orphans = [await files.orphan('upload'), await files.orphan('upload'), await files.orphan('upload')];
    await aged(...orphans);
    const remove = files.stage.removeStray.bind(files.stage);
    let calls = 0;
    vi.spyOn(files.stage, 'removeStray').mockImplementation(async (item) => {
      if (++calls === 1) throw new Error('not allowed');
      await remove(item);
    });
    expect(await sweep()).toMatchObject({ removed: 2, failed: 1, failure: new Error('not allowed') });
  });

  test('leaves alone what it may not look into, says so, and goes on with all else', async () => {
    const [item, session] = [await files.orphan('upload'), await files.orphan('upload')];
    const others = [await files.orphan('upload')];
    for (let i = 0; i < 8; i++) others.push(await files.orphan('upload', { sessionId: item.sessionId }));
    await aged(item, session, ...others);
    // An upstream of another user made both for itself alone; this test may be run by root, for whom nothing is closed.
    const openFolder: AnchoredFolder['openFolder'] = Reflect.get(AnchoredFolder.prototype, 'openFolder');
    vi.spyOn(AnchoredFolder.prototype, 'openFolder').mockImplementation(function (this: AnchoredFolder, name) {
      const isClosed = name === item.fileId || name === session.sessionId;
      if (isClosed) return Promise.reject(new StorageFault('EACCES', 'of another user'));
      return openFolder.call(this, name);
    });
    expect(await sweep()).toMatchObject({ removed: 9, failed: 0, unreadable: 2, unread: { code: 'EACCES' } });
    expect([item, session].map(exists)).toEqual([true, true]);
    expect(others.filter(exists)).toEqual([]);
  });

  test('stops when it is told to', async () => {
    const orphans = [await files.orphan('upload'), await files.orphan('upload')];
    await aged(...orphans);
    expect(await sweep({ signal: AbortSignal.abort() }).catch(() => ({ removed: 0 }))).toMatchObject({ removed: 0 });
    expect(orphans.map(exists)).toEqual([true, true]);
  });
});
