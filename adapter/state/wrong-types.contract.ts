import { afterAll, beforeAll, expect, test } from 'vitest';
import { RedisBus } from './redis/redis-bus.ts';
import { RedisConnection } from './redis/redis-connection.ts';
import { RedisKeys } from './redis/redis-keys.ts';
import { RedisStore } from './redis/redis-store.ts';
import type { MessageBus } from './message-bus.ts';
import { StoreUnavailable, type StateStore } from './state-store.ts';
import { newFile, newSession, request, T } from './testing/files.ts';
import { startRedis, type TestRedis } from './testing/redis-server.ts';

const KEY_BASE = 'types';
const keys = new RedisKeys(KEY_BASE);
const session = newSession();
const file = newFile(session);
const name = keys.name(session);
const key = { serverId: session.serverId, sessionId: session.sessionId, generation: 0 };
const alice = { principal: session.principal, now: T };
const times = { now: T, ttlMs: null };
const permission = { ...key, principal: '', toolName: null, elicitationId: null, expiresAt: T + 60_000 };
const call = { carrier: 'r:1', progressToken: null, toolCall: true, startedAt: T };
const limit = { now: T, limit: 10 };
const fileTtl = { uploadTtlMs: 1, artifactTtlMs: 1 };

/** All that reads or writes one of the keys below. */
const OPERATIONS: Record<string, (store: StateStore, bus: MessageBus) => Promise<unknown>> = {
  secret: (store) => store.secret('secret'),
  reserve: (store) => store.reserve(session, { maxActive: 1, now: T, expiresAt: T + 1 }),
  release: (store) => store.release(session),
  open: (store) => store.open(session),
  find: (store) => store.find(session, alice),
  touch: (store) => store.touch(session, alice),
  enter: (store) => store.enter(session, alice, { id: 'call', until: T + 1, maxInFlight: 1 }),
  renew: (store) => store.renew([{ key: session, lease: { id: 'call', until: T + 1 } }], T),
  leave: (store) => store.leave(session, 'call', T),
  revive: (store) => store.revive(session, alice, { maxActive: 1 }),
  replaceUpstream: (store) => store.replaceUpstream(session, 0, { upstreamSessionId: 'u', protocolVersion: 'p' }),
  setLogLevel: (store) => store.setLogLevel(session, '{}'),
  setSubscription: (store) => store.setSubscription(session, 'file:///a', true),
  dropLists: (store) => store.dropLists(session),
  pin: (store) => store.pin(session, { fingerprint: 'f', text: '[]' }),
  baseline: (store) => store.baseline(session),
  remove: (store) => store.remove(session),
  invalidate: (store) => store.invalidate(session, 'drift', T + 1),
  expireIdle: (store) => store.expireIdle({ ...limit, idleBefore: T, tombstoneUntil: T + 1 }),
  expireWorkspaces: (store) => store.expireWorkspaces({ ...limit, idleBefore: T }),
  expireTombstones: (store) => store.expireTombstones(limit),
  counts: (store) => store.counts(T),
  tryLock: (store) => store.tryLock('lock', 'owner', 1_000),
  unlock: (store) => store.unlock('lock', 'owner'),
  lockHolder: (store) => store.lockHolder('lock'),
  clear: (store) => store.clear(),
  'nonces.issue': (store) => store.nonces.issue('nonce', permission, T),
  'nonces.find': (store) => store.nonces.find('nonce', T),
  'nonces.consume': (store) => store.nonces.consume('nonce', T),
  'firstTexts.find': (store) => store.firstTexts.find('first', { now: T, expiresAt: T + 1 }),
  'firstTexts.keep': (store) => store.firstTexts.keep('first', 'text', { now: T, expiresAt: T + 1 }),
  'files.begin': (store) => store.files.begin([file], { now: T, maxArtifacts: 1 }),
  'files.reserve': (store) => store.files.reserve(file, request(1)),
  'files.commit': (store) => store.files.commit([file], { now: T, guard: { name: 'lock', owner: 'owner' } }),
  'files.lease': (store) => store.files.lease([file], T + 1),
  'files.release': (store) => store.files.release([file], T),
  'files.find': (store) => store.files.find(file, times),
  'files.use': (store) => store.files.use(file, times),
  'files.list': (store) => store.files.list(session, 'upload', times),
  'files.remove': (store) => store.files.remove(file),
  'files.purge': (store) => store.files.purge(session),
  'files.expire': (store) => store.files.expire({ ...limit, ...fileTtl }),
  'files.purgeAbandoned': (store) => store.files.purgeAbandoned(limit),
  'files.known': (store) => store.files.known(session.sessionId, [file.fileId]),
  'files.page': (store) => store.files.page(undefined, 10),
  'files.ownerOf': (store) => store.files.ownerOf(session.sessionId),
  'files.adopt': (store) => store.files.adopt([file]),
  'files.totals': (store) => store.files.totals(),
  'bus.append': (_, bus) => bus.append(key, { carrier: 'GET', message: '{}' }),
  'bus.follow': (_, bus) => bus.follow(key, 'GET', null, () => undefined),
  'bus.addCall': (_, bus) => bus.addCall(key, call),
  'bus.removeCall': (_, bus) => bus.removeCall(key, 'r:1'),
  'bus.calls': (_, bus) => bus.calls(key),
};

let server: TestRedis;
let store: RedisStore;
let bus: RedisBus;

beforeAll(async () => {
  server = await startRedis();
  const [commands, subscriber] = [new RedisConnection(server.server), new RedisConnection(server.server)];
  store = new RedisStore(commands, { keyBase: KEY_BASE });
  bus = new RedisBus(commands, subscriber, {
    keyBase: KEY_BASE,
    pingMs: 60_000,
    onListenerError: () => expect.unreachable(),
    now: Date.now,
  });
  await Promise.all([commands.connect(), bus.connect()]);
});
afterAll(async () => {
  await bus.close();
  await store.close();
  await server.stop();
});

/** Puts a list where nothing of ours is one. */
const spoil = (names: readonly string[]): Promise<unknown> =>
  server.use((redis) => Promise.all(names.map((one) => redis.rpush(one, 'of somebody else'))));

test.for(Object.keys(OPERATIONS))(
  'L5 T19: %s says that the store is unavailable where keys have a wrong type',
  async (operation) => {
    await server.use((redis) => redis.flushall());
    const { active, inFlight, tombstones, reservations, workspaces, servers, fileSessions, fileTotals } = keys;
    const indexes = [active, inFlight, tombstones, reservations, workspaces, servers, fileSessions, fileTotals];
    const ofFiles = [keys.uploads, keys.artifacts, keys.pendingFiles, keys.files(name)];
    const single = [
      keys.nonces,
      keys.nonce('nonce'),
      keys.secret('secret'),
      keys.firstText('first'),
      keys.lock('lock'),
    ];
    await spoil([
      ...indexes,
      ...ofFiles,
      ...single,
      keys.log(key),
      keys.calls(key),
      keys.session(name),
      keys.leases(name),
    ]);
    await expect(OPERATIONS[operation]?.(store, bus)).rejects.toThrow(StoreUnavailable);
  },
);

test('L5 T19: in the middle of a script too', async () => {
  await server.use((redis) => redis.flushall());
  await store.open(session);
  await spoil([keys.leases(name)]);
  await expect(OPERATIONS['enter']?.(store, bus)).rejects.toThrow(StoreUnavailable);
  await server.use((redis) => redis.del(keys.leases(name)));
  await spoil([keys.fileTotals]);
  await expect(OPERATIONS['files.begin']?.(store, bus)).rejects.toThrow(StoreUnavailable);
});
