import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FileRecord } from '../file-records.ts';
import { RedisConnection } from './redis-connection.ts';
import { PURGED_AT_ONCE } from './lua-scripts.ts';
import { RedisStore } from './redis-store.ts';
import type { SessionRecord } from '../state-store.ts';
import { addFile, beginFile, DAY, MINUTE, newFile, newSession, request, T } from '../testing/files.ts';
import { startRedis } from '../testing/redis-server.ts';
import type { TestRedis } from '../testing/redis-server.ts';

const HOUR = 60 * MINUTE;
const KEY_BASE = 'adapter:tests';
const SESSION_TTL = 10 * DAY;
const always = { now: T, ttlMs: null };

describe('files in Redis', () => {
  let server: TestRedis;
  let connection: RedisConnection;
  let store: RedisStore;
  let session: SessionRecord;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    await server.use((redis) => redis.flushall());
    connection = new RedisConnection(server.server);
    await connection.connect();
    store = new RedisStore(connection, { keyBase: KEY_BASE, sessionTtlMs: SESSION_TTL });
    session = newSession({ lastActiveAt: T });
    await store.open(session);
  });
  afterEach(() => store.close());

  const filesKey = () => `${KEY_BASE}:files:files:${session.sessionId}`;
  const ttlOf = (key: string): Promise<number> => server.use((redis) => redis.pttl(key));
  const enter = (now: number) =>
    store.enter(session, { principal: 'alice', now }, { id: 'call', until: now + MINUTE, maxInFlight: null });

  /** How many scripts the server was sent. */
  const scriptsRun = async (work: () => Promise<unknown>): Promise<number> => {
    await server.use((redis) => redis.config('RESETSTAT'));
    await work();
    const stats = await server.use((redis) => redis.info('commandstats'));
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };

  test('a step on one session is one script', async () => {
    const file = await addFile(store, session);
    const work = async (): Promise<void> => {
      const pending = newFile(session);
      await store.files.begin([pending, newFile(session)], { now: T, maxArtifacts: 9 });
      await store.files.reserve(pending, request(9, { maxSession: 10, maxTotal: 10 }));
      await store.files.commit([pending], { now: T });
      await store.files.find(file, always);
      await store.files.use(file, { ...always, leaseUntil: T + 1 });
      await store.files.lease([file, pending], T + 2);
      await store.files.release([file, pending], T + 2);
      await store.files.list(session, 'upload', always);
      await store.files.remove(file);
      await store.files.purge(session);
    };
    await work();
    expect(await scriptsRun(work)).toBe(10);
  });

  test('every key expires, whatever was done, and nothing is left of a session whose files are gone', async () => {
    const check = async (): Promise<Set<string | undefined>> => {
      const keys = await server.use((redis) => redis.keys('*'));
      for (const key of keys) expect(await ttlOf(key), key).toBeGreaterThan(0);
      return new Set(keys.map((key) => key.replace(`${KEY_BASE}:`, '').split(':')[0]));
    };
    const pending = await beginFile(store, session);
    await check();
    await store.files.reserve(pending, request(1));
    await store.files.lease([pending], T + HOUR);
    await check();
    const artifact = await addFile(store, session, { kind: 'artifact' });
    await store.files.use(artifact, { ...always, leaseUntil: T + HOUR });
    await store.files.release([artifact], T);
    await store.files.adopt([newFile(session, { state: 'committed' })]);
    await store.nonces.issue('nonce', { ...session, toolName: null, elicitationId: null, expiresAt: T + HOUR }, T);
    await store.secret('signing');
    const kinds = ['session', 'active', 'servers', 'files', 'file_sessions', 'file_totals', 'uploads', 'artifacts'];
    expect(await check()).toEqual(new Set([...kinds, 'pending_files', 'nonce', 'nonces', 'secret']));
    expect(await ttlOf(`${KEY_BASE}:secret:signing`)).toBeGreaterThan(364 * DAY);
    expect(await ttlOf(`${KEY_BASE}:nonces`)).toBeGreaterThan(30 * MINUTE);

    await store.files.expire({ now: T + 2 * HOUR, uploadTtlMs: HOUR, artifactTtlMs: HOUR, limit: 9 });
    await store.nonces.consume('nonce', T);
    expect(await check()).toEqual(new Set(['session', 'active', 'servers', 'file_totals', 'secret']));
    await store.clear();
    expect(await check()).toEqual(new Set(['secret']));
  });

  test('a secret that is asked for does not expire', async () => {
    const secret = await store.secret('signing');
    await server.use((redis) => redis.pexpire(`${KEY_BASE}:secret:signing`, MINUTE));
    expect(await store.secret('signing')).toBe(secret);
    expect(await ttlOf(`${KEY_BASE}:secret:signing`)).toBeGreaterThan(364 * DAY);
  });

  test('files live longer than their session, whose activity renews them at most hourly', async () => {
    await addFile(store, session);
    await beginFile(store, session);
    await addFile(store, session, { kind: 'artifact' });
    const names = ['file_sessions', 'file_totals', 'uploads', 'artifacts', 'pending_files', 'servers'];
    const keys = [filesKey(), ...names.map((name) => `${KEY_BASE}:${name}`)];
    const ofSession = await ttlOf(`${KEY_BASE}:session:files:${session.sessionId}`);
    for (const key of keys) expect(await ttlOf(key)).toBeGreaterThan(ofSession + DAY);
    const shorten = () => server.use((redis) => Promise.all(keys.map((key) => redis.pexpire(key, MINUTE))));

    await shorten();
    await enter(T + HOUR);
    for (const key of keys) expect(await ttlOf(key)).toBeLessThanOrEqual(MINUTE);
    await enter(T + HOUR + 1);
    for (const key of keys) expect(await ttlOf(key), key).toBeGreaterThan(SESSION_TTL + DAY);
    // A use alone gives an index that it makes anew an expiry.
    const artifact = await addFile(store, session, { kind: 'artifact' });
    await server.use((redis) => redis.del(`${KEY_BASE}:artifacts`));
    await store.files.use(artifact, always);
    expect(await ttlOf(`${KEY_BASE}:artifacts`)).toBeGreaterThan(DAY);

    await shorten();
    await store.expireIdle({ now: T + DAY, idleBefore: T + DAY, tombstoneUntil: T + 2 * DAY, limit: 1 });
    for (const key of keys) expect(await ttlOf(key), key).toBeGreaterThan(3 * DAY);
    await store.revive(session, { principal: 'alice', now: T + DAY }, { maxActive: null });
    for (const key of keys) expect(await ttlOf(key), key).toBeGreaterThan(SESSION_TTL + DAY);
  });

  test('a session that is opened does not make those of its server forgotten earlier', async () => {
    const servers = `${KEY_BASE}:servers`;
    await addFile(store, session);
    const another = newSession({ lastActiveAt: T });
    await store.open(another);
    expect(await ttlOf(servers)).toBeGreaterThan(SESSION_TTL + DAY);
    // As left by replicas whose sessions live longer.
    await server.use((redis) => redis.pexpire(servers, 90 * DAY));
    await store.open(newSession({ lastActiveAt: T }));
    await addFile(store, another);
    await enter(T + HOUR + 1);
    expect(await ttlOf(servers)).toBeGreaterThan(89 * DAY);
  });

  test('many files of a session are purged in several steps, each file once', async () => {
    const gone = newSession({ lastActiveAt: T });
    await store.open(gone);
    const filesOf = async (owner: SessionRecord): Promise<string[]> => {
      const files = Array.from({ length: 3 * PURGED_AT_ONCE }, () => newFile(owner));
      await store.files.begin(files, { now: T, maxArtifacts: null });
      return files.map(({ fileId }) => fileId).sort();
    };
    const [ids, ofGone] = [await filesOf(session), await filesOf(gone)];
    await store.remove(gone);
    const purged: string[][] = [];
    const take = async (work: Promise<FileRecord[]>) => void purged.push((await work).map(({ fileId }) => fileId));

    expect(await scriptsRun(() => take(store.files.purge(session)))).toBeGreaterThanOrEqual(3);
    expect(purged.flat().sort()).toEqual(ids);
    purged.length = 0;
    const both = () => [store.files.purge(gone), store.files.purgeAbandoned({ now: T, limit: 9 })];
    await Promise.all(both().map(take));
    expect(purged.flat().sort()).toEqual(ofGone);
    expect(await store.files.totals()).toMatchObject({ uploads: { count: 0, bytes: 0 } });
    for (const index of ['files:*', 'file_sessions', 'pending_files']) {
      expect(await server.use((redis) => redis.keys(`${KEY_BASE}:${index}`))).toEqual([]);
    }
  });

  test('files that Redis forgot leave the totals, and files whose session it forgot are found', async () => {
    const forgotten = newSession({ lastActiveAt: T });
    await store.open(forgotten);
    await addFile(store, session, { sizeBytes: 3 });
    const orphan = await addFile(store, forgotten, { kind: 'artifact', sizeBytes: 9 });
    await server.use((redis) => redis.del(filesKey(), `${KEY_BASE}:session:files:${forgotten.sessionId}`));
    expect(await store.files.purgeAbandoned({ now: T, limit: 9 })).toEqual([orphan]);
    expect(await store.files.totals()).toEqual({ uploads: { count: 0, bytes: 0 }, artifacts: { count: 0, bytes: 0 } });
    // What the index of uploads still names goes with the next expiry.
    expect(await store.files.expire({ now: T + HOUR, uploadTtlMs: MINUTE, artifactTtlMs: null, limit: 9 })).toEqual([]);
    const kept = await addFile(store, session, { sizeBytes: 4 });
    expect(await store.files.totals()).toMatchObject({ uploads: { count: 1, bytes: 4 } });
    expect(await store.files.expire({ now: T + HOUR, uploadTtlMs: MINUTE, artifactTtlMs: null, limit: 9 })).toEqual([
      kept,
    ]);
    expect(await server.use((redis) => redis.keys(`${KEY_BASE}:files:*`))).toEqual([]);
  });

  test('more files and sessions than one page expire, are paged through, and are purged', async () => {
    const sessions = Array.from({ length: 250 }, () => newSession({ lastActiveAt: T }));
    const files = await Promise.all(
      sessions.map(async (each, index) => {
        await store.open(each);
        return addFile(store, each, { sizeBytes: 1, kind: index % 2 === 0 ? 'upload' : 'artifact' });
      }),
    );
    const busy = files.slice(0, 220);
    await Promise.all(busy.map((file) => store.files.use(file, { ...always, leaseUntil: T + DAY })));
    const options = { now: T + HOUR, uploadTtlMs: MINUTE, artifactTtlMs: MINUTE, limit: 1_000 };
    expect(await store.files.expire(options)).toHaveLength(30);

    const seen = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await store.files.page(cursor, 50);
      for (const { fileId } of page.files) seen.add(fileId);
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(new Set(busy.map(({ fileId }) => fileId)));

    await Promise.all(sessions.map((each) => store.remove(each)));
    expect(await store.files.purgeAbandoned({ now: T, limit: 210 })).toHaveLength(210);
    expect(await store.files.purgeAbandoned({ now: T, limit: 210 })).toHaveLength(10);
    expect(await store.files.totals()).toEqual({ uploads: { count: 0, bytes: 0 }, artifacts: { count: 0, bytes: 0 } });
  });

  test('more files than one page expire in one step, of one session too', async () => {
    const files = Array.from({ length: 450 }, () => newFile(session, { leaseUntil: T }));
    await store.files.begin(files, { now: T, maxArtifacts: null });
    expect(await store.files.expire({ now: T, uploadTtlMs: null, artifactTtlMs: null, limit: 1_000 })).toHaveLength(
      450,
    );
  });

  test('large numbers keep every digit', async () => {
    const file = await beginFile(store, session, { sizeBytes: 123_456_789_012_345 });
    const later = 9_007_199_254_740_991 - 1;
    await store.files.lease([file], later);
    await store.files.reserve(file, request(123_456_789_012_346));
    expect(await store.files.remove(file)).toMatchObject({ sizeBytes: 123_456_789_012_346, leaseUntil: later });
    expect(await store.files.totals()).toMatchObject({ uploads: { bytes: 0 } });
  });
});
