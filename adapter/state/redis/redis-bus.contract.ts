import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type BusKey, CALL_LEASE_MS, type ControlMessage } from '../message-bus.ts';
import type { RedisBus } from './redis-bus.ts';
import type { RedisConnection } from './redis-connection.ts';
import { StoreUnavailable } from '../state-store.ts';
import { connectRedisBus } from '../testing/message-buses.ts';
import { startRedis } from '../testing/redis-server.ts';
import type { TestRedis } from '../testing/redis-server.ts';
import { ENTRY_BYTES } from '../../limits.ts';

const KEY_BASE = 'adapter:tests';
const key: BusKey = { serverId: 'files', sessionId: 'session', generation: 0 };
const ended = (sessionId: string): ControlMessage => ({ type: 'session-ended', serverId: 'files', sessionId });

const slowly = { timeout: 10_000 };

describe('RedisBus and its server', () => {
  let server: TestRedis;
  let bus: RedisBus;
  let subscriber: RedisConnection;
  let close: () => Promise<void>;
  const listenerErrors: unknown[] = [];

  beforeEach(async () => {
    server = await startRedis();
    ({ bus, subscriber, close } = await connectRedisBus(server.server, KEY_BASE, (error) =>
      listenerErrors.push(error),
    ));
  });
  afterEach(async () => {
    vi.useRealTimers();
    await close();
    await server.stop();
  });

  /** Ends the connections that are subscribed to something; the others stay. */
  const cutSubscribers = () => server.use((redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));

  const channels = () => server.use((redis) => redis.pubsub('CHANNELS', '*'));

  test('what was appended while the subscription was broken is delivered, once and in order', async () => {
    const received: string[] = [];
    await bus.expect(key, 'GET');
    await bus.append(key, { carrier: 'GET', message: 'before' });
    await bus.follow(key, 'GET', null, ({ message }) => received.push(message));
    const sent = [];
    for (let round = 0; round < 5; round += 1) {
      await cutSubscribers();
      for (let index = 0; index < 20; index += 1) {
        const message = `${round}-${index}`;
        sent.push(message);
        await bus.append(key, { carrier: index % 2 === 0 ? 'GET' : 'r:1', message });
      }
    }
    await expect
      .poll(() => received, slowly)
      .toEqual(sent.filter((message) => Number(message.split('-')[1]) % 2 === 0));
    expect(listenerErrors).toEqual([]);
  });

  test('followers that join and leave while subscriptions break miss nothing', async () => {
    await bus.expect(key, 'GET');
    const first = (await bus.append(key, { carrier: 'GET', message: 'first' })) ?? null;
    const received: string[][] = [];
    const sent: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      const cutting = cutSubscribers();
      const own: string[] = [];
      await expect
        .poll(async () => {
          own.length = 0;
          await bus.follow(key, 'GET', first, ({ message }) => own.push(message));
          return true;
        }, slowly)
        .toBe(true);
      received.push(own);
      sent.push(`message-${round}`);
      await bus.append(key, { carrier: 'GET', message: `message-${round}` });
      await cutting;
    }
    for (const own of received) await expect.poll(() => own, slowly).toEqual(sent);
  });

  test('after a restart of the server everything goes on', async () => {
    const [received, control]: string[][] = [[], []];
    await bus.follow(key, 'GET', null, ({ message }) => received?.push(message));
    bus.onControl((message) => control?.push(message.sessionId));
    await server.stop();
    await expect(bus.append(key, { carrier: 'GET', message: 'lost' })).rejects.toThrow(StoreUnavailable);
    await expect(bus.publish(ended('lost'))).rejects.toThrow(StoreUnavailable);
    await expect(bus.follow(key, 'GET', null, () => undefined)).rejects.toThrow(StoreUnavailable);
    await server.start();
    const append = () =>
      bus.append(key, { carrier: 'GET', message: 'new' }).then(
        (id) => id !== undefined,
        () => false,
      );
    await expect.poll(append, slowly).toBe(true);
    await expect.poll(() => received, slowly).toEqual(['new']);
    const publish = async () => {
      await bus.publish(ended('new'));
      return control?.includes('new');
    };
    await expect.poll(publish, slowly).toBe(true);
  });

  test('a connection that is silently dead is noticed and replaced', async () => {
    const received: string[] = [];
    await bus.follow(key, 'GET', null, ({ message }) => received.push(message));
    server.freeze();
    // It is found by a ping: nothing else is sent on this connection.
    await new Promise((resolve) => subscriber.redis.once('close', resolve));
    server.thaw();
    const append = async () => {
      await bus.append(key, { carrier: 'GET', message: 'two' });
      return received.includes('two');
    };
    await expect.poll(append, slowly).toBe(true);
  });

  test('logs and calls expire', async () => {
    await bus.expect(key, 'GET');
    await bus.append(key, { carrier: 'GET', message: 'one' });
    await bus.addCall(key, { carrier: 'r:1', progressToken: null, toolCall: true, startedAt: 1 });
    const keys = await server.use((redis) => redis.keys('*'));
    expect(keys).toHaveLength(5);
    for (const name of keys) expect(await server.use((redis) => redis.pttl(name)), name).toBeGreaterThan(0);
  });

  test('H5 T17: logs that are gone are not counted', async () => {
    await bus.expect(key, 'GET');
    const counted = () => server.use((redis) => redis.hgetall(`${KEY_BASE}:log_bytes:files`));
    await bus.append(key, { carrier: 'GET', message: '12345' });
    const alone = await counted();
    expect(Object.values(alone)).toEqual([`${ENTRY_BYTES + 5}`, `${ENTRY_BYTES + 5}`]);
    await server.use((redis) => redis.del(`${KEY_BASE}:log:files:session:0`));
    await bus.append(key, { carrier: 'GET', message: 'abcde' });
    expect(await counted()).toEqual(alone);
    const expired = `${KEY_BASE}:log:files:expired:0`;
    await server.use((redis) => redis.zadd(`${KEY_BASE}:log_ages:files`, 1, expired));
    await server.use((redis) => redis.hset(`${KEY_BASE}:log_bytes:files`, expired, 7));
    await server.use((redis) => redis.hincrby(`${KEY_BASE}:log_bytes:files`, 'total', 7));
    await bus.append(key, { carrier: 'GET', message: 'xyz' });
    expect(await counted()).toMatchObject({ total: `${2 * ENTRY_BYTES + 8}` });
    await bus.drop(key);
    expect(await counted()).toEqual({ total: '0' });
  });

  test('a call counts for 30 s, and longer while it is noted again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const call = { carrier: 'r:1', progressToken: null, toolCall: true, startedAt: 1 };
    await bus.addCall(key, call);
    vi.setSystemTime(Date.now() + CALL_LEASE_MS - 1);
    expect(await bus.calls(key)).toEqual([call]);
    await bus.addCall(key, call);
    vi.setSystemTime(Date.now() + CALL_LEASE_MS - 1);
    expect(await bus.calls(key)).toEqual([call]);
    vi.setSystemTime(Date.now() + 1);
    expect(await bus.calls(key)).toEqual([]);
  });

  test('messages of a newer release are passed over', async () => {
    const received: ControlMessage[] = [];
    bus.onControl((message) => received.push(message));
    await server.use((redis) => redis.publish(`${KEY_BASE}:control`, '{"type":"from the future"}'));
    await server.use((redis) => redis.publish(`${KEY_BASE}:control`, 'no JSON'));
    await bus.publish(ended('s'));
    await expect.poll(() => received).toEqual([ended('s')]);
    expect(listenerErrors).toEqual([]);
  });

  test('M7 T17: a control message that is too large is neither sent nor heard', async () => {
    const received: ControlMessage[] = [];
    bus.onControl((message) => received.push(message));
    const large = ended('x'.repeat(256 << 10));
    await expect(bus.publish(large)).rejects.toThrow('too large for the other replicas');
    await server.use((redis) => redis.publish(`${KEY_BASE}:control`, JSON.stringify(large)));
    await bus.publish(ended('s'));
    await expect.poll(() => received).toEqual([ended('s')]);
  });

  test('nothing stays subscribed when nobody follows', async () => {
    const stops = await Promise.all([1, 2].map(() => bus.follow(key, 'GET', null, () => undefined)));
    expect(await channels()).toHaveLength(2);
    await Promise.all(stops.map((stop) => stop()));
    expect(await channels()).toEqual([`${KEY_BASE}:control`]);
  });
});
