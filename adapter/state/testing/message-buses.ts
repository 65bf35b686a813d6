import { availableBus } from '../availability/available-bus.ts';
import { MemoryBus } from '../memory/memory-bus.ts';
import type { MessageBus } from '../message-bus.ts';
import { RedisBus } from '../redis/redis-bus.ts';
import { RedisConnection } from '../redis/redis-connection.ts';
import type { RedisServer } from '../../../lib/redis/redis-options.ts';
import { startRedis, startRestrictedRedis } from './redis-server.ts';
import type { TestRedis } from './redis-server.ts';
import { sampleAccount } from '../../testing/sample-account.ts';

/** Two clients of one empty bus, as two replicas have them, and the errors that their listeners raised. */
export interface BusClients {
  readonly a: MessageBus;
  readonly b: MessageBus;
  readonly listenerErrors: unknown[];
  close(): Promise<void>;
}

export interface BusTechnology {
  readonly name: string;
  start?(): Promise<void>;
  stop?(): Promise<void>;
  connect(): Promise<BusClients>;
}

const memory: BusTechnology = {
  name: 'MemoryBus',
  connect: async () => {
    const listenerErrors: unknown[] = [];
    const bus = new MemoryBus({
      onListenerError: (error) => listenerErrors.push(error),
      account: sampleAccount(),
    });
    return { a: bus, b: bus, listenerErrors, close: () => bus.close() };
  },
};

const available = (fallbackActive: boolean): BusTechnology => ({
  name: `AvailableBus, fallback ${fallbackActive ? 'active' : 'inactive'}`,
  connect: async () => {
    const listenerErrors: unknown[] = [];
    const options = { onListenerError: (error: unknown) => listenerErrors.push(error), account: sampleAccount() };
    const bus = availableBus(new MemoryBus(options), new MemoryBus(options), () => fallbackActive);
    return { a: bus, b: bus, listenerErrors, close: () => bus.close() };
  },
});

/** A connected bus with connections of its own, and how to end it. */
export async function connectRedisBus(
  server: RedisServer,
  keyBase: string,
  onListenerError: (error: unknown) => void,
  now: () => number = () => Date.now(),
): Promise<{ bus: RedisBus; subscriber: RedisConnection; close: () => Promise<void> }> {
  const [commands, subscriber] = [new RedisConnection(server), new RedisConnection(server)];
  const bus = new RedisBus(commands, subscriber, { keyBase, pingMs: 1_000, onListenerError, now });
  const close = async (): Promise<void> => {
    await bus.close();
    commands.close();
  };
  await Promise.all([commands.connect(), bus.connect()]);
  return { bus, subscriber, close };
}

function redis(name: string, start: () => Promise<{ server: TestRedis; client: RedisServer }>): BusTechnology {
  let running: { server: TestRedis; client: RedisServer } | undefined;
  let tests = 0;
  return {
    name,
    start: async () => {
      running = await start();
    },
    stop: async () => running?.server.stop(),
    connect: async () => {
      if (running === undefined) throw new Error('redis-server does not run');
      const { client } = running;
      tests += 1;
      const listenerErrors: unknown[] = [];
      const connect = () => connectRedisBus(client, `adapter:${tests}`, (error) => listenerErrors.push(error));
      const [a, b] = await Promise.all([connect(), connect()]);
      const close = async (): Promise<void> => {
        await Promise.all([a.close(), b.close()]);
      };
      return { a: a.bus, b: b.bus, listenerErrors, close };
    },
  };
}

const plainRedis = redis('RedisBus', async () => {
  const server = await startRedis();
  return { server, client: server.server };
});

const restrictedRedis = redis('RedisBus with a restricted user', () => startRestrictedRedis('adapter'));

/** Everything that must pass the message bus's contract. */
export const messageBuses: readonly BusTechnology[] = [
  memory,
  available(false),
  available(true),
  plainRedis,
  restrictedRedis,
];
