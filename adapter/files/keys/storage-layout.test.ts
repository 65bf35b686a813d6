import { mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noTelemetry } from '../../telemetry/telemetry.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import type { FileRecord } from '../../state/file-records.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import { DanglingRecords } from '../reconcile/dangling-records.ts';
import { DiskStagingArea } from '../disk/disk-staging-area.ts';
import { reconcileStorage } from '../reconcile/reconcile-storage.ts';
import { sessionsFolder, treeCalled, treesOf } from './storage-layout.ts';
import { sweepOrphans } from '../reconcile/sweep-orphans.ts';
import { fileRecord, newId } from '../testing/stored-files.ts';

const signal = new AbortController().signal;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'layout-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const stageOf = (layout: 'shared' | 'per_server'): Promise<DiskStagingArea> =>
  DiskStagingArea.open({ root, access: 'group', atomicWrites: true, layout, locatorRoots: [], forbidden: [] });

async function stored(stage: DiskStagingArea, changes: Partial<FileRecord> = {}): Promise<FileRecord> {
  const file = fileRecord({ serverId: 's1', ...changes });
  const writer = await stage.create(file);
  await writer.write(Buffer.from('bytes'));
  await writer.finish();
  return file;
}

async function contentOf(stage: DiskStagingArea, file: FileRecord): Promise<string> {
  await using opened = await stage.open(file);
  const parts: Buffer[] = [];
  for await (const part of opened.read()) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function itemsOf(stage: DiskStagingArea, kind: 'upload' | 'artifact' = 'upload') {
  const found = [];
  for await (const item of stage.items(kind, signal)) found.push(item);
  return found;
}

describe('T7: the folders of sessions', () => {
  test('lie together, or below the folder of their server', () => {
    expect(sessionsFolder('/data', 'upload', null)).toBe('/data/uploads/sessions');
    expect(sessionsFolder('/data', 'artifact', 's1')).toBe('/data/artifacts/s1/sessions');
    expect(sessionsFolder('/data', 'artifact', 'a b')).toBe('/data/artifacts/a%20b/sessions');
  });

  test('a server that is called like the common folder has another one', () => {
    expect(sessionsFolder('/data', 'upload', 'sessions')).toBe('/data/uploads/%73essions/sessions');
    expect(treeCalled('%73essions')).toBe('sessions');
    expect(treeCalled('sessions')).toBeNull();
  });

  test.each(['a b', '%', '%61', '%2f'])('%j is no folder of a server', (name) => {
    expect(treeCalled(name)).toBeUndefined();
  });

  test('of both layouts are looked at, first those where new files go', () => {
    expect(treesOf('shared', 's1')).toEqual([null, 's1']);
    expect(treesOf('per_server', 's1')).toEqual(['s1', null]);
    expect(treesOf('per_server', undefined)).toEqual([null]);
  });
});

describe('T7: with a folder for each server', () => {
  test('files lie in it, and the tool is told that place', async () => {
    const stage = await stageOf('per_server');
    const file = await stored(stage);
    const path = join(root, 'uploads/s1/sessions', file.sessionId, file.fileId, 'file.txt');
    expect(await readFile(path, 'utf8')).toBe('bytes');
    expect(stage.toolPathOf((await stage.open(file)).path)).toBe(path);
    const given = await stage.prepare({ ...file, kind: 'artifact', fileId: newId() });
    expect(given.startsWith(join(root, 'artifacts/s1/sessions', file.sessionId))).toBe(true);
    expect((await stat(dirname(given))).mode & 0o777).toBe(0o770);
  });

  test('what a tool wrote is taken from the folder of its own server only', async () => {
    const stage = await stageOf('per_server');
    const file = await stored(stage);
    const path = stage.pathOf(file);
    await using opened = await stage.openOutput(path, file.sessionId, 's1');
    expect(opened.path).toBe(path);
    const refused = { name: 'FileRefused', reason: 'outside' };
    await expect(stage.openOutput(path, file.sessionId, 's2')).rejects.toMatchObject(refused);
    await expect(stage.openOutput(path, newId(), 's1')).rejects.toMatchObject(refused);
  });

  test('a session takes its files with it, and no other server’s', async () => {
    const stage = await stageOf('per_server');
    const [one, other] = [await stored(stage), await stored(stage, { serverId: 's2' })];
    await stage.removeSession(one.sessionId, 's1');
    expect((await itemsOf(stage)).map(({ serverId, fileId }) => [serverId, fileId])).toEqual([['s2', other.fileId]]);
    await stage.removeItem(other);
    await expect(stage.open(other)).rejects.toMatchObject({ reason: 'missing' });
  });
});

describe.each([
  { from: 'shared', to: 'per_server' },
  { from: 'per_server', to: 'shared' },
] as const)('T7: files from before storage.layout went from $from to $to', ({ from, to }) => {
  let file: FileRecord;
  let path: string;
  let stage: DiskStagingArea;
  beforeEach(async () => {
    const before = await stageOf(from);
    file = await stored(before);
    path = before.pathOf(file);
    stage = await stageOf(to);
  });

  test('are found where they are, beside new ones', async () => {
    expect(await contentOf(stage, file)).toBe('bytes');
    await using opened = await stage.open(file);
    expect(stage.toolPathOf(opened.path)).toBe(path);
    await using output = await stage.openOutput(path, file.sessionId, 's1');
    expect(output.path).toBe(path);
    const next = await stored(stage, { sessionId: file.sessionId });
    expect(dirname(dirname(stage.pathOf(next)))).not.toBe(dirname(dirname(path)));
    expect(await contentOf(stage, next)).toBe('bytes');
    const there = new Set((await itemsOf(stage)).map(({ fileId }) => fileId));
    expect(there).toEqual(new Set([file.fileId, next.fileId]));
  });

  test('are removed with their record, and with their session', async () => {
    await stage.removeItem(file);
    await expect(stat(path)).rejects.toThrow('ENOENT');
    const again = await stored(await stageOf(from), { sessionId: file.sessionId });
    await stage.removeSession(file.sessionId, 's1');
    await expect(stage.open(again)).rejects.toMatchObject({ reason: 'missing' });
  });

  test('are no dangling records, and no orphans while they have one', async () => {
    const store = new MemoryStore();
    await store.open(sessionRecord({ serverId: 's1', sessionId: file.sessionId }));
    await store.files.adopt([file]);
    const parts = { records: store.files, stage, telemetry: noTelemetry, usable: () => true };
    const bytes = { discard: async () => undefined };
    const dangling = new DanglingRecords({ ...parts, bytes, blobStore: undefined }, 0);
    const later = { graceMs: 1000, now: Date.now() + 600_000, signal };
    expect(await dangling.check(later.now, signal)).toEqual({ uploads: 0, artifacts: 0 });
    expect(await sweepOrphans(parts, later)).toMatchObject({ removed: 0, failed: 0 });
    expect(await contentOf(stage, file)).toBe('bytes');

    await store.files.remove(file);
    expect(await sweepOrphans(parts, later)).toMatchObject({ removed: 1, failed: 0 });
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  test('temporary files among them are swept where they lie', async () => {
    const temporary = join(dirname(path), '.file.txt.0123456789abcdef.tmp');
    await writeFile(temporary, '');
    await utimes(temporary, 1, 1);
    const [item] = await itemsOf(stage);
    expect(await stage.removeEntries(item!, item!.temporary, Date.now())).toBe(1);
  });

  test('are gone only where both folders say so', async () => {
    const store = new MemoryStore();
    await store.open(sessionRecord({ serverId: 's1', sessionId: file.sessionId }));
    await store.files.adopt([file]);
    await rm(dirname(path), { recursive: true });
    const bytes = { discard: async () => undefined };
    const parts = { records: store.files, stage, bytes, blobStore: undefined, usable: () => true };
    const dangling = new DanglingRecords(parts, 0);
    expect(await dangling.check(Date.now() + 1000, signal)).toEqual({ uploads: 1, artifacts: 0 });
    await store.files.adopt([file]);
    await rm(join(root, 'uploads'), { recursive: true });
    await expect(dangling.check(Date.now() + 1000, signal)).rejects.toThrow('is not there');
  });
});

describe('T7: files without a record', () => {
  const options = {
    mode: 'always',
    refreshed: false,
    uploadTtlMs: null,
    artifactTtlMs: null,
    serverIds: ['s1', 's2'],
    legacyServerId: null,
    principal: '',
    version: '0',
    exposed: true,
  } as const;

  test('belong to the server whose folder they lie in, also where there are several', async () => {
    const stage = await stageOf('per_server');
    const [one, two] = [await stored(stage), await stored(stage, { serverId: 's2' })];
    const store = new MemoryStore();
    const result = await reconcileStorage({ store, stage, usable: () => true }, options, signal);
    expect(result).toMatchObject({ uploads_backfilled: 2, unresolved_sessions_count: 0 });
    for (const file of [one, two]) {
      expect(await store.files.find(file, { now: Date.now(), ttlMs: null })).toMatchObject({ serverId: file.serverId });
    }
  });

  test('are given to nobody when another server’s session is meant, or the server is not configured', async () => {
    const stage = await stageOf('per_server');
    const planted = await stored(stage, { serverId: 's2' });
    await stored(stage, { serverId: 'gone' });
    const store = new MemoryStore();
    await store.open(sessionRecord({ serverId: 's1', sessionId: planted.sessionId }));
    const result = await reconcileStorage({ store, stage, usable: () => true }, options, signal);
    expect(result).toMatchObject({ uploads_discovered: 2, uploads_backfilled: 0, unresolved_sessions_count: 2 });
  });

  test('a link in the place of a server’s folder leads nobody away, and stops nobody', async () => {
    const stage = await stageOf('per_server');
    const file = await stored(stage);
    const artifact = await stored(await stageOf('shared'), { serverId: 's2', kind: 'artifact' });
    const outside = join(root, 'outside/sessions', artifact.sessionId, newId());
    await mkdir(outside, { recursive: true });
    await writeFile(join(root, 'uploads/a-file'), '');
    await symlink(join(root, 'outside'), join(root, 'uploads/s2'));

    expect((await itemsOf(stage)).map(({ fileId }) => fileId)).toEqual([file.fileId]);
    await expect(stage.removeSession(artifact.sessionId, 's2')).rejects.toMatchObject({ name: 'FileRefused' });
    await expect(stage.open(artifact)).rejects.toMatchObject({ reason: 'missing' });
    expect((await stat(outside)).isDirectory()).toBe(true);
  });

  test('what is called like no server is left alone', async () => {
    const stage = await stageOf('per_server');
    await mkdir(join(root, 'uploads/not a server/sessions/x'), { recursive: true });
    expect(await itemsOf(stage)).toEqual([]);
  });
});
