import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { markUnreconciled } from '../../../adapter/files/reconcile/reconcile-marker.ts';
import { sessionRecord } from '../../../adapter/sessions/testing/session-record.ts';
import { SqliteStore } from '../../../adapter/state/sqlite/sqlite-store.ts';
import { contentOf, type FileTools, startFileTools } from '../../support/file-tools.ts';
import { startRedis } from '../../support/redis.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { mounted } from '../kit/deployment.ts';
import { eventually } from '../kit/eventually.ts';
import { type InProcessAdapter, startInProcess } from '../kit/in-process.ts';
import { drain, knownSession, openSession, type Place, type Session } from '../kit/session.ts';
import { within } from '../kit/within.ts';
import { artifactOf, readResource, resourceUris } from './kit/artifacts.ts';
import { leaveOrphan, lying, type SharedFolder, sharedFolder } from './kit/folder.ts';
import { fileConfig } from './kit/settings.ts';
import { contentSeen, type Uploaded, uploadedOne } from './kit/uploads.ts';

const OFTEN = { cleanup_interval_seconds: 0.05 };
const KEPT = { uploads: { ttl_seconds: null }, artifacts: { ttl_seconds: null } };
const hexId = (digit: string): string => digit.repeat(32);

let tools: FileTools;
let folder: SharedFolder;
let started: AsyncDisposableStack;

beforeAll(async () => {
  tools = await startFileTools();
});
afterAll(() => tools?.stop());
beforeEach(async () => {
  folder = await sharedFolder();
  started = new AsyncDisposableStack();
});
afterEach(async () => {
  await started.disposeAsync();
  await folder[Symbol.asyncDispose]();
});

/** An adapter over the folder of this test, once it is ready. */
async function start(changes: JsonObject = {}): Promise<InProcessAdapter> {
  const adapter = await startInProcess(fileConfig(folder.path, tools.url, changes));
  started.use(adapter);
  await eventually(async () => (await fetch(`${adapter.url}/readyz`)).status).toBe(200);
  return adapter;
}
async function health(place: Place): Promise<JsonObject> {
  return asObject(await (await fetch(`${place.url}/healthz`)).json());
}
const inventory = async (place: Place): Promise<JsonObject> =>
  asObject(asObject((await health(place)).persistence).state_inventory);
/** Resolves when the cleanup has run so often again. */
async function passes(place: Place, count: number): Promise<void> {
  const finished = async (): Promise<unknown> => asObject((await inventory(place)).last_cleanup).finished_at;
  for (let pass = 0; pass < count; pass += 1) await eventually(finished).not.toBe(await finished());
}
const names = async (): Promise<string[]> => (await lying(folder.path)).map(({ path }) => path.split('/').at(-1) ?? '');

/** A file as an earlier installation left it. Returns its path. */
async function lay(kind: string, session: string, id: string, name: string): Promise<string> {
  const path = join(folder.path, kind, 'sessions', session, id, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, contentOf(name, 1_000));
  return path;
}

/** What a tool finds under the handle of an upload; undefined when the adapter does not know it any more. */
async function seenBy(session: Session, place: Place, handle: string): Promise<unknown> {
  const { result, error } = await session.at(place).tool('read_file', { path: handle });
  if (error !== undefined || asObject(result).isError === true) return undefined;
  const [file] = asObject(asObject(result).structuredContent).files as unknown[];
  return file;
}
const isSeen = (upload: Uploaded): unknown => expect.objectContaining(contentSeen(upload.filename, upload.size));
const write = async (session: Session, place: Place, name: string) =>
  artifactOf(await session.at(place).tool('write_file', { output_path: name, seed: name }));

describe('files that nobody uses', () => {
  test('are removed, each kind after its own time, and the health object tells', async () => {
    const a = await start({ core: OFTEN, uploads: { ttl_seconds: 1.5 }, artifacts: { ttl_seconds: 600 } });
    const session = await openSession(a);
    const upload = await uploadedOne(a, session.sessionId, 'in.bin');
    await write(session, a, 'out.bin');
    expect(await inventory(a)).toMatchObject({ uploads_count: 1, uploads_bytes: 1_000, artifacts_count: 1 });
    await eventually(names).toEqual(['out.bin']);
    expect(await seenBy(session, a, upload.handle)).toBeUndefined();
    expect(await inventory(a)).toMatchObject({ uploads_count: 0, artifacts_count: 1, last_cleanup: { status: 'ok' } });
    await eventually(() => a.logs).toContainEqual(expect.objectContaining({ msg: 'cleaned up', removed_uploads: 1 }));
  });

  test('cannot be read either when there is no cleanup', async () => {
    const a = await start({ uploads: { ttl_seconds: 1.5 }, artifacts: { ttl_seconds: 1.5 } });
    const session = await openSession(a);
    const upload = await uploadedOne(a, session.sessionId, 'in.bin');
    const artifact = await write(session, a, 'out.bin');
    await eventually(() => resourceUris(session.at(a))).not.toContain(artifact.uri);
    expect(await readResource(session.at(a), artifact.uri)).toBeUndefined();
    await eventually(() => seenBy(session, a, upload.handle), 2_500).toBeUndefined();
    expect(await names()).toHaveLength(2);
    expect(await inventory(a)).not.toHaveProperty('last_cleanup');
  });
});

describe('a session that was idle for too long', () => {
  test('keeps its files as a tombstone, under the sweeper too, and has them when its client is back', async () => {
    const a = await start({
      ...KEPT,
      core: OFTEN,
      sessions: { idle_ttl_seconds: 1.5 },
      storage: { orphan_sweeper_grace_seconds: 0 },
    });
    const session = await openSession(a);
    const upload = await uploadedOne(a, session.sessionId, 'in.bin');
    const artifact = await write(session, a, 'out.bin');
    await eventually(() => inventory(a)).toMatchObject({ sessions_count: 0, tombstones_count: 1 });
    const orphan = await leaveOrphan(folder.path, 'upload', hexId('a'), hexId('b'));
    await eventually(() => existsSync(orphan)).toBe(false);
    expect(await inventory(a)).toMatchObject({ uploads_count: 1, artifacts_count: 1 });
    expect(await seenBy(session, a, upload.handle)).toEqual(isSeen(upload));
    expect(await readResource(session.at(a), artifact.uri)).toEqual(contentOf('out.bin', 1_000));
  });

  test('loses its files with the end of the tombstone', async () => {
    const a = await start({ ...KEPT, core: OFTEN, sessions: { idle_ttl_seconds: 1.5, tombstone_ttl_seconds: 1.5 } });
    const session = await openSession(a);
    await uploadedOne(a, session.sessionId, 'in.bin');
    await eventually(async () => (await inventory(a)).tombstones_count).toBe(1);
    expect(await names()).toEqual(['in.bin']);
    await eventually(names).toEqual([]);
    expect(await drain(session.at(a).request('ping'))).toBe(404);
  });

  test('loses its files at once where it cannot come back', async () => {
    const a = await start({ ...KEPT, core: OFTEN, sessions: { idle_ttl_seconds: 1.5, allow_revival: false } });
    const session = await openSession(a);
    await uploadedOne(a, session.sessionId, 'in.bin');
    await write(session, a, 'out.bin');
    await eventually(names).toEqual([]);
    expect(await inventory(a)).toMatchObject({ sessions_count: 0, tombstones_count: 0, uploads_count: 0 });
  });
});

test('a session that its client ends has no files any more', async () => {
  const a = await start(KEPT);
  const [session, other] = [await openSession(a), await openSession(a)];
  await uploadedOne(a, session.sessionId, 'in.bin');
  await write(session, a, 'out.bin');
  await uploadedOne(a, other.sessionId, 'other.bin');
  expect(await drain(session.at(a).end())).toBe(200);
  expect(await names()).toEqual(['other.bin']);
  for (const kind of ['uploads', 'artifacts']) {
    expect(existsSync(join(folder.path, kind, 'sessions', session.sessionId))).toBe(false);
  }
  expect(await inventory(a)).toMatchObject({ sessions_count: 1, uploads_count: 1, artifacts_count: 0 });
});

test('a file that somebody deletes by hand is not offered for long', async () => {
  const [sid, keptId, goneId] = [hexId('1'), hexId('2'), hexId('3')];
  const kept = await lay('artifacts', sid, keptId, 'kept.bin');
  const gone = await lay('artifacts', sid, goneId, 'out.bin');
  // What is younger than a minute may be hidden by a network file system.
  for (const path of [kept, gone]) await utimes(path, Date.now() / 1000, Date.now() / 1000 - 120);
  const a = await start({ ...KEPT, core: OFTEN });
  const session = knownSession(sid, '2025-06-18');
  const uri = (id: string, name: string): string => `artifact://sessions/${sid}/${id}/${name}`;
  expect(await resourceUris(session.at(a))).toContain(uri(goneId, 'out.bin'));
  await rm(dirname(gone), { recursive: true });
  await eventually(() => resourceUris(session.at(a))).not.toContain(uri(goneId, 'out.bin'));
  expect(await resourceUris(session.at(a))).toContain(uri(keptId, 'kept.bin'));
  expect(await inventory(a)).toMatchObject({ artifacts_count: 1, artifacts_bytes: 1_000 });
  await eventually(() => a.logs).toContainEqual(
    expect.objectContaining({ msg: 'cleaned up', removed_dangling_artifact_records: 1, removed_artifacts: 0 }),
  );
});

describe('after a restart', () => {
  const STATES: Record<string, JsonObject> = {
    'a memory snapshot': { type: 'memory', disk: { local_path: 'set below' } },
    SQLite: { type: 'disk' },
  };

  test.for(Object.keys(STATES))('files of a session are still there with %s', async (name) => {
    const state = { ...STATES[name] };
    if (state.type === 'memory') state.disk = { local_path: join(folder.path, 'state', 'snapshot.sqlite3') };
    const config = { ...KEPT, state_persistence: state };
    const before = await start(config);
    const session = await openSession(before);
    const upload = await uploadedOne(before, session.sessionId, 'in.bin');
    const artifact = await write(session, before, 'out.bin');
    await before.adapter.stop();

    const after = await start(config);
    expect(await health(after)).toMatchObject({
      startup_reconciliation: { status: 'skipped', mode: 'if_empty', reason: 'repository_not_empty' },
    });
    expect(await seenBy(session, after, upload.handle)).toEqual(isSeen(upload));
    expect(await resourceUris(session.at(after))).toContain(artifact.uri);
    expect(await readResource(session.at(after), artifact.uri)).toEqual(contentOf('out.bin', 1_000));
  });

  test('with refresh_on_startup the state is gone and the files stay; mode always finds them again', async () => {
    const config = { ...KEPT, state_persistence: { type: 'disk', refresh_on_startup: true } };
    const before = await start(config);
    const session = await openSession(before);
    const upload = await uploadedOne(before, session.sessionId, 'in.bin');
    await before.adapter.stop();

    const empty = await start(config);
    expect(await inventory(empty)).toMatchObject({ sessions_count: 0, uploads_count: 0 });
    expect((await health(empty)).startup_reconciliation).toMatchObject({ reason: 'refresh_on_startup_enabled' });
    expect(await drain(session.at(empty).request('ping'))).toBe(404);
    expect(await names()).toEqual(['in.bin']);
    await empty.adapter.stop();

    const state_persistence = { ...config.state_persistence, reconciliation: { mode: 'always' } };
    const found = await start({ ...config, state_persistence });
    expect((await health(found)).startup_reconciliation).toMatchObject({ status: 'applied', uploads_backfilled: 1 });
    expect(await seenBy(session, found, upload.handle)).toEqual(isSeen(upload));
  });
});

test('a replica is not ready while files may still be found, and stops at once all the same', async () => {
  const path = join(folder.path, 'state', 'adapter_state.sqlite3');
  const store = new SqliteStore({ path, wal: true });
  started.defer(() => store.close());
  await store.tryLock('reconcile', 'another replica', 60_000);
  const config = fileConfig(folder.path, tools.url, { state_persistence: { type: 'disk' } });
  const readiness = async (place: Place): Promise<[number, unknown]> => {
    const response = await fetch(`${place.url}/readyz`);
    return [response.status, await response.json()];
  };
  const waiting = await startInProcess(config);
  expect(await readiness(waiting)).toEqual([503, { status: 'unavailable', reason: 'reconciling' }]);
  expect((await fetch(`${waiting.url}/livez`)).status).toBe(200);
  expect(await health(waiting)).not.toHaveProperty('startup_reconciliation');
  await within(2_000, 'the end', waiting.adapter.stop());

  const ready = started.use(await startInProcess(config));
  expect(await readiness(ready)).toMatchObject([503, { reason: 'reconciling' }]);
  // A session would make the store look as if it had not lost the others.
  await expect(openSession(ready)).rejects.toThrow();
  expect(await store.counts(Date.now())).toMatchObject({ sessions: 0 });
  await store.unlock('reconcile', 'another replica');
  await eventually(() => readiness(ready)).toEqual([200, { status: 'ok' }]);
  await openSession(ready);
});

test('what a replica that was killed has not adopted yet is adopted by the next one, and not swept', async () => {
  const store = new SqliteStore({ path: join(folder.path, 'state', 'adapter_state.sqlite3'), wal: true });
  started.defer(() => store.close());
  await markUnreconciled(store);
  await store.open(sessionRecord({ serverId: 'up', sessionId: hexId('3'), lastActiveAt: Date.now() }));
  const rest = await lay('uploads', hexId('1'), hexId('2'), 'rest.bin');
  const sweeping = { core: OFTEN, storage: { orphan_sweeper_grace_seconds: 0 } };
  const a = await start({ ...KEPT, ...sweeping, state_persistence: { type: 'disk' } });
  expect((await health(a)).startup_reconciliation).toMatchObject({ status: 'applied', repository_empty: false });
  await passes(a, 3);
  expect(existsSync(rest)).toBe(true);
  expect(await inventory(a)).toMatchObject({ uploads_count: 1 });
});

test('files of which nobody knows whose they are are not swept, by the replicas that came later neither', async () => {
  const path = await lay('uploads', hexId('1'), hexId('2'), 'in.bin');
  const servers = ['one', 'two'].map((id) => mounted(id, tools.url));
  const config = {
    ...KEPT,
    core: OFTEN,
    servers,
    storage: { orphan_sweeper_grace_seconds: 0 },
    state_persistence: { type: 'disk' },
  };
  const a = await start(config);
  expect((await health(a)).startup_reconciliation).toMatchObject({ unresolved_sessions_count: 1 });
  await openSession(a, { path: '/mcp/one' });
  const b = await start(config);
  await Promise.all([passes(a, 3), passes(b, 3)]);
  expect(existsSync(path)).toBe(true);
});

describe('a storage folder of an earlier installation', () => {
  const [sid, uploadId, artifactId] = [hexId('1'), hexId('2'), hexId('3')];

  test('is taken over: clients go on with the handles and URIs that they have', async () => {
    await lay('uploads', sid, uploadId, 'in.bin');
    await lay('artifacts', sid, artifactId, 'picture.png');
    const odd = await lay('uploads', 'not-an-id', uploadId, 'odd.bin');
    const a = await start({ ...KEPT, core: OFTEN, state_persistence: { type: 'disk' } });
    expect((await health(a)).startup_reconciliation).toMatchObject({
      status: 'applied',
      repository_empty: true,
      uploads_backfilled: 1,
      artifacts_backfilled: 1,
      sessions_created: 1,
      unresolved_sessions_count: 0,
      skipped_entries: 1,
    });
    const session = knownSession(sid, '2025-06-18');
    const handle = `upload://sessions/${sid}/${uploadId}`;
    expect(await seenBy(session, a, handle)).toMatchObject(contentSeen('in.bin'));
    const uri = `artifact://sessions/${sid}/${artifactId}/picture.png`;
    expect(await resourceUris(session.at(a))).toContain(uri);
    expect(await readResource(session.at(a), uri)).toEqual(contentOf('picture.png', 1_000));
    expect(await readFile(odd)).toEqual(contentOf('odd.bin', 1_000));
  });

  test('belongs to who has the token', async () => {
    await lay('uploads', sid, uploadId, 'in.bin');
    const a = await start({ ...KEPT, core: { auth: { enabled: true, token: 'secret' } } });
    const headers = { 'x-mcp-adapter-auth-token': 'secret' };
    const session = knownSession(sid, '2025-06-18', { headers });
    const handle = `upload://sessions/${sid}/${uploadId}`;
    expect(await seenBy(session, a, handle)).toMatchObject(contentSeen('in.bin'));
    expect(await drain(knownSession(sid, '2025-06-18').at(a).request('ping'))).toBe(401);
    // Without the token nothing is said but that it was done.
    expect((await health(a)).startup_reconciliation).toEqual({ status: 'applied', mode: 'if_empty' });
  });

  test('is left alone, and swept after the grace, when nobody wants it', async () => {
    const path = await lay('uploads', sid, uploadId, 'in.bin');
    const state_persistence = { type: 'memory', reconciliation: { mode: 'disabled' } };
    const a = await start({ state_persistence });
    expect((await health(a)).startup_reconciliation).toMatchObject({ status: 'disabled' });
    expect(await drain(knownSession(sid, '2025-06-18').at(a).request('ping'))).toBe(404);
    expect(existsSync(path)).toBe(true);
    const orphan = await leaveOrphan(folder.path, 'artifact', hexId('a'), hexId('b'));
    const grace = { orphan_sweeper_grace_seconds: 0.5 };
    const off = { ...grace, orphan_sweeper_enabled: false };
    await passes(await start({ core: OFTEN, state_persistence, storage: off }), 5);
    expect([existsSync(path), existsSync(orphan)]).toEqual([true, true]);
    await passes(await start({ core: OFTEN, state_persistence, storage: { orphan_sweeper_grace_seconds: 1_800 } }), 5);
    expect([existsSync(path), existsSync(orphan)]).toEqual([true, false]);
    await start({ core: OFTEN, state_persistence, storage: grace });
    await eventually(() => [existsSync(path), existsSync(orphan)]).toEqual([false, false]);
    expect(existsSync(join(folder.path, 'uploads', 'sessions'))).toBe(true);
  });
});

test('nothing is swept while memory stands in for Redis, and what is left over is when Redis is back', async () => {
  await using redis = await startRedis({ appendonly: true });
  const a = await start({
    ...KEPT,
    core: OFTEN,
    storage: { orphan_sweeper_grace_seconds: 0 },
    state_persistence: {
      type: 'redis',
      unavailable_policy: 'fallback_memory',
      redis: { host: redis.host, port: redis.port, ping_seconds: 0.2, wait_seconds: 0.2 },
    },
  });
  const session = await openSession(a);
  const upload = await uploadedOne(a, session.sessionId, 'in.bin');
  await redis.stop();
  const fallback = async (): Promise<unknown> => asObject((await health(a)).persistence).fallback_active;
  await eventually(fallback).toBe(true);
  const orphan = await leaveOrphan(folder.path, 'upload', hexId('a'), hexId('b'));
  await passes(a, 5);
  expect([existsSync(orphan), (await names()).toSorted()]).toEqual([true, ['in.bin', 'orphan.bin']]);
  expect((await inventory(a)).last_cleanup).toMatchObject({ files: 'skipped' });

  await redis.start();
  await eventually(() => existsSync(orphan)).toBe(false);
  expect(await names()).toEqual(['in.bin']);
  expect(await seenBy(session, a, upload.handle)).toEqual(isSeen(upload));
});
