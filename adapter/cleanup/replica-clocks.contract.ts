import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { storedFiles, type StoredFiles } from '../files/testing/stored-files.ts';
import { RedisConnection } from '../state/redis/redis-connection.ts';
import { RedisStore } from '../state/redis/redis-store.ts';
import { newSession } from '../state/testing/files.ts';
import { startRedis, type TestRedis } from '../state/testing/redis-server.ts';
import { noTelemetry } from '../telemetry/telemetry.ts';
import { Sweep } from './sweep.ts';
import { SessionFiles } from '../sessions/session-files.ts';

const MINUTE = 60_000;
const never = new AbortController().signal;

describe('two replicas whose clocks differ by ten minutes', () => {
  let server: TestRedis;
  const stores: RedisStore[] = [];
  let files: StoredFiles;

  const open = async (): Promise<RedisStore> => {
    const connection = new RedisConnection(server.server);
    await connection.connect();
    const store = new RedisStore(connection, { keyBase: 'clocks' });
    stores.push(store);
    // The first health check.
    await store.ping();
    return store;
  };

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(() => server.use((redis) => redis.flushall()));
  afterEach(async () => {
    vi.useRealTimers();
    await files[Symbol.asyncDispose]();
    await Promise.all(stores.splice(0).map((store) => store.close()));
  });

  // Another clock may also begin to differ later.
  test.for(['from the start', 'later'])('M5: none removes what the other has just stored (%s)', async (when) => {
    const a = await open();
    files = await storedFiles(a);
    const early = when === 'later' ? await open() : undefined;
    const session = await files.session();
    const upload = await files.file(session, 'upload');
    await a.enter(
      session,
      { principal: session.principal, now: a.now() },
      { id: 'call', until: a.now() + 30_000, maxInFlight: 1 },
    );
    const tombstone = newSession({ lastActiveAt: a.now() });
    await a.open(tombstone);
    await a.invalidate(tombstone, 'drift', a.now() + 5 * MINUTE);
    const permission = {
      serverId: 's1',
      sessionId: session.sessionId,
      principal: '',
      toolName: null,
      elicitationId: null,
    };
    await a.nonces.issue('nonce', { ...permission, expiresAt: a.now() + MINUTE }, a.now());
    await a.firstTexts.keep('name', 'first', { now: a.now(), expiresAt: a.now() + MINUTE });

    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * MINUTE });
    const b = early ?? (await open());
    const { bytes, stage } = files;
    const pass = new Sweep(
      {
        store: b,
        sessionFiles: new SessionFiles(b, bytes, () => expect.unreachable()),
        bytes,
        stage,
        blobStore: undefined,
        telemetry: noTelemetry,
        usable: () => true,
        // What it would do if it did not know that its clock differs.
        clockDiffers: () => false,
        mayRemoveOrphans: () => true,
        endUpstream: async () => undefined,
        log: { info: () => undefined, warn: () => expect.unreachable() },
      },
      {
        idleTtlMs: 5 * MINUTE,
        allowRevival: false,
        tombstoneTtlMs: MINUTE,
        workspaceTtlMs: MINUTE,
        uploadTtlMs: 2 * MINUTE,
        artifactTtlMs: null,
        orphanGraceMs: null,
      },
    );
    await pass.run(never);
    const counts = Object.entries(pass.last ?? {}).filter(([name, value]) => name.includes('ed_') && value !== 0);
    expect(counts.filter(([name]) => name !== 'finished_at')).toEqual([]);

    const caller = { principal: session.principal, now: b.now() };
    expect(await b.find(session, caller)).toMatchObject({ state: 'active' });
    expect(await b.find(tombstone, { ...caller, principal: tombstone.principal })).toMatchObject({
      state: 'invalidated',
    });
    expect(await b.files.find(upload, { now: b.files.now(), ttlMs: 2 * MINUTE })).toBeDefined();
    // The call of the other one counts.
    const call = { id: 'another', until: b.now() + 30_000, maxInFlight: 1 };
    expect(await b.enter(session, caller, call)).toEqual({ state: 'limit' });
    expect(await b.counts(b.now())).toMatchObject({ sessions: 1, inFlight: 1 });
    const time = { now: b.now(), expiresAt: b.now() + MINUTE };
    expect(await b.firstTexts.keep('name', 'second', time)).toBe('first');
    expect(await b.nonces.issue('nonce', { ...permission, expiresAt: b.now() + 2 * MINUTE }, b.now())).toBe(false);
    expect(await b.nonces.consume('nonce', b.now())).toBeDefined();
  });
});
