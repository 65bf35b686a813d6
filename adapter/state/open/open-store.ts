import { join } from 'node:path';
import type { AdapterConfig } from '../../../crds/config/adapter-file/adapter.ts';
import { timerMs } from '../../../lib/timer-ms.ts';
import { NotPrivate } from '../../../lib/files/private-files.ts';
import type { ByteAccount } from '../../byte-account.ts';
import { availableStore } from '../availability/availability.ts';
import type { AvailableStore } from '../availability/availability.ts';
import { availableBus } from '../availability/available-bus.ts';
import { MemoryBus } from '../memory/memory-bus.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import type { MessageBus } from '../message-bus.ts';
import { clockHealth, memoryHealth, persistenceHealth } from './persistence-health.ts';
import type { RedisServer } from '../../../lib/redis/redis-options.ts';
import type { AdapterIdentity } from '../redis/redis-key-space.ts';
import { Snapshot } from '../sqlite/snapshot.ts';
import { secureDatabase, type SqliteFile } from '../sqlite/sqlite-database.ts';
import { SqliteStore } from '../sqlite/sqlite-store.ts';
import type { StateStore } from '../state-store.ts';
import { StoreClock } from '../redis/store-clock.ts';
import type { AvailabilityOptions, StoreTransition } from '../availability/store-health.ts';

export interface OpenedState {
  readonly store: StateStore;
  readonly bus: MessageBus;
  status(): StateStatus;
  /** From now on nothing waits for a store that is down. */
  endWaits(): void;
  /** Flushes what is pending and frees everything. */
  close(): Promise<void>;
}

export interface StateStatus {
  /** Stateful operations are refused; `fallback_memory` does not make it so. */
  readonly unavailable: boolean;
  /** This replica goes on with what it remembers (`fallback_memory`): others may know of more files and sessions. */
  readonly fallback: boolean;
  /** The health object's `degraded_reason`, null when all is well. */
  readonly degradedReason: string | null;
  /** This replica's own clock and that of the store differ too much: it must remove nothing. */
  readonly clockDiffers: boolean;
  /** The health object's `persistence`; names hosts and paths. */
  readonly object: Record<string, unknown>;
}

export interface StateHooks {
  /** What the replicas of this adapter are called, for others to tell them apart (`MCP_ADAPTER_NAME`). */
  readonly name?: string | undefined;
  /** Ends the process: `unavailable_policy` is `exit` and the store failed. Called once. */
  readonly exit: (reason: string) => void;
  /** The store has failed, or is back: what `unavailable_policy` makes of it. */
  readonly onTransition?: (transition: StoreTransition) => void;
  /** For what is kept of messages in memory. */
  readonly account: ByteAccount;
  /** One sentence about the store's health for the log. */
  readonly log: (message: string) => void;
}

/** The part of the configuration that decides about state. */
export type StateConfig = Pick<AdapterConfig, 'state_persistence' | 'sessions'> & {
  readonly storage: Pick<AdapterConfig['storage'], 'root'>;
  readonly servers: readonly { readonly id: string; readonly upstream: { readonly url: string } }[];
};

/** SQLite has no setting for it: the file is looked after as often as Redis is by default. */
const DISK_PING_MS = 5_000;
const HOUR_SECONDS = 3_600;

/**
 * Opens the state store and the message bus that `state_persistence` asks for. A store that cannot be reached is
 * treated as `unavailable_policy` says; it does not make this fail.
 */
export async function openStore(config: StateConfig, hooks: StateHooks): Promise<OpenedState> {
  const { type } = config.state_persistence;
  if (type === 'memory') return openMemory(config, hooks);
  return type === 'disk' ? openDisk(config, hooks) : openRedis(config, hooks);
}

function openMemory(config: StateConfig, hooks: StateHooks): OpenedState {
  const { disk, refresh_on_startup, snapshot_interval_seconds } = config.state_persistence;
  const store = new MemoryStore();
  const bus = memoryBus(hooks);
  const file = databaseFile(config);
  let snapshot: Snapshot | undefined;
  if (disk.local_path !== null) {
    secured(file);
    snapshot = new Snapshot(store, { file, intervalMs: timerMs(snapshot_interval_seconds), log: hooks.log });
    snapshot.load(refresh_on_startup ? 'secrets' : 'all');
    snapshot.start();
  }
  return {
    store,
    bus,
    endWaits: () => undefined,
    status: () => ({
      unavailable: false,
      fallback: false,
      degradedReason: null,
      clockDiffers: false,
      object: memoryHealth(config.state_persistence, file.path, snapshot?.status),
    }),
    close: async () => {
      await bus.close();
      await snapshot?.stop();
      await store.close();
    },
  };
}

async function openDisk(config: StateConfig, hooks: StateHooks): Promise<OpenedState> {
  const file = databaseFile(config);
  // Not left to the store's first use: what others can read or replace is no failure that passes.
  secured(file);
  const primary = new SqliteStore(file);
  const store = available(primary, DISK_PING_MS, { config, hooks });
  await store.start();
  return opened({ config, path: file.path, store, bus: memoryBus(hooks) });
}

async function openRedis(config: StateConfig, hooks: StateHooks): Promise<OpenedState> {
  // Its client is loaded only where it is used: it takes a tenth of the start.
  const [{ RedisBus }, { RedisConnection }, { RedisKeySpace }, { RedisStore }] = await Promise.all([
    import('../redis/redis-bus.ts'),
    import('../redis/redis-connection.ts'),
    import('../redis/redis-key-space.ts'),
    import('../redis/redis-store.ts'),
  ]);
  const { redis, unavailable_policy } = config.state_persistence;
  const server = redisServer(config);
  const waitMs = timerMs(redis.wait_seconds);
  // What memory does in the meantime waits for nothing.
  const mayWait = (): boolean => !store.fallbackActive;
  const commands = new RedisConnection(server, { waitMs, mayWait });
  const subscriber = new RedisConnection(server, { waitMs, mayWait });
  const pingMs = timerMs(redis.ping_seconds);
  const keyBase = redis.key_base;
  const keySpace = new RedisKeySpace(commands, { keyBase, own: identityOf(config, hooks), renewMs: pingMs });
  const clock = new StoreClock(hooks.log);
  const primary = new RedisStore(commands, { keyBase, sessionTtlMs: sessionTtlMs(config), keySpace, clock });
  const redisBus = new RedisBus(commands, subscriber, {
    keyBase,
    pingMs,
    onListenerError: listenerError(hooks),
    now: () => clock.now(),
  });
  const store = available(primary, pingMs, {
    config,
    hooks,
    waitMs,
    onFallback: () => {
      commands.sendAway();
      subscriber.sendAway();
    },
  });
  commands.onUsable(() => void store.recheck());
  redisBus.onControl((message) => {
    if (message.type === 'session-ended') store.forget(message);
  });
  const bus =
    unavailable_policy === 'fallback_memory'
      ? availableBus(redisBus, memoryBus(hooks), () => store.fallbackActive)
      : redisBus;
  // What fails here goes on trying in the background, and shows in the store's first health check.
  await Promise.allSettled([commands.connect(), redisBus.connect()]);
  await store.start().catch(async (error: unknown) => {
    await Promise.allSettled([redisBus.close(), store.close()]);
    throw error;
  });
  return {
    ...opened({ config, path: databaseFile(config).path, store, bus, clock }),
    endWaits: () => {
      commands.endWaits();
      subscriber.endWaits();
      store.endWaits();
    },
  };
}

function available(
  primary: StateStore,
  pingMs: number,
  parts: { config: StateConfig; hooks: StateHooks } & Pick<AvailabilityOptions, 'waitMs' | 'onFallback'>,
): AvailableStore {
  const { config, hooks, waitMs, onFallback } = parts;
  const { type, unavailable_policy, refresh_on_startup } = config.state_persistence;
  return availableStore(primary, {
    policy: unavailable_policy,
    configuredType: type,
    pingMs,
    ...(waitMs !== undefined && { waitMs }),
    ...(onFallback && { onFallback }),
    prepare: async (store) => {
      if (refresh_on_startup) await store.clear();
    },
    exit: hooks.exit,
    onTransition: hooks.onTransition,
    log: hooks.log,
  });
}

function opened(parts: {
  config: StateConfig;
  path: string;
  store: AvailableStore;
  bus: MessageBus;
  clock?: StoreClock;
}): OpenedState {
  const { config, path, store, bus, clock } = parts;
  return {
    store,
    bus,
    endWaits: () => undefined,
    status: () => {
      const availability = store.status();
      const { unavailable, fallbackActive: fallback, degradedReason } = availability;
      const persistence = persistenceHealth(config.state_persistence, path, availability);
      const time = clock?.status();
      return {
        unavailable,
        fallback,
        degradedReason,
        clockDiffers: time?.differs === true,
        object: time === undefined ? persistence : { ...persistence, clock: clockHealth(time) },
      };
    },
    close: async () => {
      await bus.close();
      await store.close();
    },
  };
}

const memoryBus = (hooks: StateHooks): MemoryBus =>
  new MemoryBus({ onListenerError: listenerError(hooks), account: hooks.account });

const listenerError =
  (hooks: StateHooks) =>
  (error: unknown): void =>
    hooks.log(`a listener of the message bus failed: ${error instanceof Error ? error.message : String(error)}`);

function databaseFile({ state_persistence: { disk }, storage }: StateConfig): SqliteFile {
  const path = disk.local_path ?? join(storage.root, 'state', 'adapter_state.sqlite3');
  return { path, wal: disk.wal.enabled, hasOwnFolder: disk.local_path === null };
}

/** Fails when others could read or replace the state. A file that cannot be made now may be one day: see the store. */
function secured(file: SqliteFile): void {
  try {
    secureDatabase(file);
  } catch (error) {
    if (error instanceof NotPrivate) throw error;
  }
}

function redisServer(config: StateConfig): RedisServer {
  const { host, port, db, username, password, tls, tls_insecure } = config.state_persistence.redis;
  // The schema requires a host with type redis.
  if (host === null) throw new TypeError('state_persistence.redis.host is missing');
  return {
    host,
    port,
    db,
    username,
    password,
    tls: tls_insecure ? 'insecure' : tls ? 'verified' : 'off',
  };
}

function identityOf({ servers }: StateConfig, { name }: StateHooks): AdapterIdentity {
  return {
    name: name?.trim() || null,
    servers: Object.fromEntries(servers.map(({ id, upstream }) => [id, new URL(upstream.url).origin])),
  };
}

/** A session must outlive its idle time and its tombstone; without an idle time the store's default counts. */
function sessionTtlMs({ sessions }: StateConfig): number | undefined {
  const { idle_ttl_seconds, tombstone_ttl_seconds } = sessions;
  return idle_ttl_seconds === null ? undefined : (idle_ttl_seconds + tombstone_ttl_seconds + HOUR_SECONDS) * 1000;
}
