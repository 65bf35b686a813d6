import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sessions } from '../../../crds/config/adapter-file/sessions.ts';
import { StatePersistence } from '../../../crds/config/adapter-file/state-persistence.ts';
import type { BusKey, ControlMessage } from '../message-bus.ts';
import { openStore } from './open-store.ts';
import type { OpenedState } from './open-store.ts';
import { sampleSession } from '../testing/sample-session.ts';
import type { SessionRecord } from '../state-store.ts';
import { StoreUnavailable } from '../state-store.ts';
import { startRedis } from '../testing/redis-server.ts';
import type { TestRedis } from '../testing/redis-server.ts';
import { sampleAccount } from '../../testing/sample-account.ts';

const SERVERS = [{ id: 'files', upstream: { url: 'http://files:8000/mcp' } }];
const slowly = { timeout: 15_000 };
const caller = () => ({ principal: '', now: Date.now() });

const newRecord = (changes: Partial<SessionRecord> = {}): SessionRecord =>
  sampleSession(randomUUID(), { createdAt: Date.now(), lastActiveAt: Date.now(), ...changes });

const busKey = (): BusKey => ({ serverId: 'files', sessionId: randomUUID(), generation: 0 });
const ended = (sessionId: string): ControlMessage => ({ type: 'session-ended', serverId: 'files', sessionId });

const stateAt = async ({ store }: OpenedState, record: SessionRecord): Promise<string> =>
  (await store.find(record, caller())).state;

describe('openStore with type redis', () => {
  let server: TestRedis;
  let logged: string[];
  let exits: string[];
  const openedStates: OpenedState[] = [];

  beforeEach(async () => {
    server = await startRedis();
    logged = [];
    exits = [];
  });
  afterEach(async () => {
    for (const state of openedStates.splice(0)) await state.close();
    await server.stop();
  });

  const open = async (
    settings: { redis?: object; unavailable_policy?: string; refresh_on_startup?: boolean } = {},
    sessions: object = {},
  ): Promise<OpenedState> => {
    const { redis, ...others } = settings;
    const { host, port } = server.server;
    const config = {
      state_persistence: StatePersistence.parse({
        type: 'redis',
        redis: { host, port, ping_seconds: 0.3, ...redis },
        ...others,
      }),
      sessions: Sessions.parse(sessions),
      storage: { root: '/nowhere' },
      servers: SERVERS,
    };
    const hooks = {
      exit: (reason: string) => exits.push(reason),
      log: (message: string) => logged.push(message),
      account: sampleAccount(),
    };
    const state = await openStore(config, hooks);
    openedStates.push(state);
    return state;
  };

  test('two replicas share sessions, control messages and logs', async () => {
    const [a, b] = [await open(), await open()];
    const record = newRecord();
    await a.store.open(record);
    expect(await stateAt(b, record)).toBe('active');

    const received: string[] = [];
    b.bus.onControl((message) => received.push(message.sessionId));
    await a.bus.publish(ended('over'));
    await expect.poll(() => received).toEqual(['over']);

    const key = busKey();
    const messages: string[] = [];
    await b.bus.follow(key, 'GET', null, ({ message }) => messages.push(message));
    await a.bus.append(key, { carrier: 'GET', message: 'hello' });
    await expect.poll(() => messages).toEqual(['hello']);

    const { host, port } = server.server;
    expect(a.status()).toMatchObject({
      unavailable: false,
      degradedReason: null,
      object: {
        type: 'redis',
        status: 'ok',
        backend_details: { mode: 'redis', host, port, db: 0, key_base: 'mcp_remote_adapter', ping_seconds: 0.3 },
        ping: { interval_seconds: 0.3, last_error: null },
        redis: { ping: { last_error: null } },
      },
    });
  });

  test('key_base and db separate what does not belong together', async () => {
    const record = newRecord();
    await (await open()).store.open(record);
    expect(await stateAt(await open({ redis: { key_base: 'other' } }), record)).toBe('unknown');
    expect(await stateAt(await open({ redis: { db: 1 } }), record)).toBe('unknown');
  });

  test('refresh_on_startup starts empty', async () => {
    const record = newRecord();
    await (await open()).store.open(record);
    expect(await stateAt(await open({ refresh_on_startup: true }), record)).toBe('unknown');
  });

  test('keys live as long as idle time and tombstones need them', async () => {
    const record = newRecord();
    const ttl = () => server.use((redis) => redis.pttl(`mcp_remote_adapter:session:files:${record.sessionId}`));
    await (await open({}, { idle_ttl_seconds: 600, tombstone_ttl_seconds: 1_200 })).store.open(record);
    // The two times, one hour, and another one because expiry is renewed at most hourly.
    expect(await ttl()).toBeLessThanOrEqual((600 + 1_200 + 7_200) * 1000);
    expect(await ttl()).toBeGreaterThan((600 + 1_200 + 7_100) * 1000);
    await (await open()).store.open(record);
    expect(await ttl()).toBeGreaterThan(29 * 86_400_000);
  });

  describe('when the server goes away', () => {
    test('fail_closed refuses at once, shows it, and recovers by itself', async () => {
      const state = await open();
      await state.store.open(newRecord());
      await server.stop();
      await expect(state.store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
      await expect.poll(() => state.status().unavailable, slowly).toBe(true);
      expect(state.status().degradedReason).toMatch(/^persistence_unavailable_via_/);
      expect(state.status().object).toMatchObject({ status: 'degraded', detail: 'redis_unhealthy' });

      await server.start();
      await expect.poll(() => state.status().unavailable, slowly).toBe(false);
      const record = newRecord();
      await state.store.open(record);
      expect(await stateAt(state, record)).toBe('active');
      expect(state.status()).toMatchObject({ degradedReason: null, object: { status: 'ok' } });
      expect(logged).toHaveLength(2);
    });

    test('fallback_memory goes on with the sessions it saw, and with its own bus, and returns', async () => {
      const state = await open({ unavailable_policy: 'fallback_memory' });
      const other = await open();
      const [seen, unseen, over] = [newRecord(), newRecord(), newRecord()];
      await state.store.open(seen);
      await state.store.open(over);
      await other.store.open(unseen);
      const received: string[] = [];
      state.bus.onControl((message) => received.push(message.sessionId));
      await other.bus.publish(ended(over.sessionId));
      await expect.poll(() => received.splice(0)).toEqual([over.sessionId]);
      const [before, during] = [busKey(), busKey()];
      const messages: string[] = [];
      await state.bus.follow(before, 'GET', null, ({ message }) => messages.push(message));
      await server.stop();

      expect(
        (await state.store.enter(seen, caller(), { id: 'c', until: Date.now() + 9_000, maxInFlight: 1 })).state,
      ).toBe('active');
      expect(await stateAt(state, unseen)).toBe('unknown');
      expect(await stateAt(state, over)).toBe('unknown');
      expect(state.status()).toMatchObject({
        unavailable: false,
        fallback: true,
        object: { fallback_active: true, effective_type: 'memory' },
      });
      expect(state.status().degradedReason).toMatch(/^fallback_memory_activated_by_/);
      await state.bus.publish(ended('in memory'));
      await state.bus.follow(during, 'GET', null, ({ message }) => messages.push(message));
      await state.bus.append(before, { carrier: 'GET', message: 'old follower' });
      await state.bus.append(during, { carrier: 'GET', message: 'new follower' });
      await state.bus.addCall(during, { carrier: 'r:1', progressToken: null, toolCall: true, startedAt: 1 });
      expect(await state.bus.calls(during)).toHaveLength(1);
      await state.bus.removeCall(during, 'r:1');
      await state.bus.drop(during);
      expect(received).toEqual(['in memory']);
      expect(messages).toEqual(['old follower', 'new follower']);
      const inMemory = newRecord();
      await state.store.open(inMemory);

      await server.start();
      await expect.poll(() => state.status().degradedReason, slowly).toBeNull();
      expect(state.status().fallback).toBe(false);
      // The server lost everything; what was opened in memory is dropped.
      expect(await stateAt(state, seen)).toBe('unknown');
      expect(await stateAt(state, inMemory)).toBe('unknown');
      const publish = async () => {
        await state.bus.publish(ended('again'));
        return received.includes('again');
      };
      await expect.poll(publish, slowly).toBe(true);
      const append = async () => {
        await state.bus.append(before, { carrier: 'GET', message: 'back' });
        return messages.includes('back');
      };
      await expect.poll(append, slowly).toBe(true);
    });

    test('exit asks for the end once', async () => {
      const state = await open({ unavailable_policy: 'exit' });
      await server.stop();
      await expect.poll(() => exits, slowly).toHaveLength(1);
      await expect(state.store.find(newRecord(), caller())).rejects.toThrow(StoreUnavailable);
      expect(exits).toHaveLength(1);
    });
  });

  describe('when the server is not there at the start', () => {
    beforeEach(() => server.stop());

    test('fail_closed starts degraded, then begins: also refresh_on_startup', async () => {
      const state = await open({ refresh_on_startup: true });
      expect(state.status()).toMatchObject({
        unavailable: true,
        degradedReason: 'persistence_unavailable_during_startup',
      });
      await server.start();
      await expect.poll(() => state.status().unavailable, slowly).toBe(false);
      const received: string[] = [];
      state.bus.onControl((message) => received.push(message.sessionId));
      const publish = async () => {
        await state.bus.publish(ended('s'));
        return received.length > 0;
      };
      await expect.poll(publish, slowly).toBe(true);
    });

    test('exit and fallback_memory do as they say', async () => {
      await open({ unavailable_policy: 'exit' });
      expect(exits).toHaveLength(1);
      const state = await open({ unavailable_policy: 'fallback_memory' });
      const record = newRecord();
      await state.store.open(record);
      expect(await stateAt(state, record)).toBe('active');
      expect(state.status().degradedReason).toBe('fallback_memory_activated_during_startup');
    });
  });
});

describe('openStore with a Redis that speaks TLS only', () => {
  let folder: string;
  let server: TestRedis;
  const openedStates: OpenedState[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'redis-tls-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const files = ['-keyout', key, '-out', certificate, '-days', '1'];
    await promisify(execFile)('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      ...files,
      ...names,
    ]);
    server = await startRedis({ tls: { key, certificate } });
  });
  afterEach(async () => {
    for (const state of openedStates.splice(0)) await state.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const open = async (redis: object): Promise<OpenedState> => {
    const { host, port } = server.server;
    const state = await openStore(
      {
        state_persistence: StatePersistence.parse({ type: 'redis', redis: { host, port, ...redis } }),
        sessions: Sessions.parse({}),
        storage: { root: '/nowhere' },
        servers: SERVERS,
      },
      { exit: () => undefined, log: () => undefined, account: sampleAccount() },
    );
    openedStates.push(state);
    return state;
  };

  test('tls verifies the certificate, tls_insecure takes any, without TLS nothing works', async () => {
    expect((await open({ tls_insecure: true })).status().unavailable).toBe(false);
    const verified = (await open({ tls: true })).status();
    expect(verified.unavailable).toBe(true);
    expect(JSON.stringify(verified.object)).toMatch(/self-signed certificate/);
    expect((await open({})).status().unavailable).toBe(true);
  });
});
