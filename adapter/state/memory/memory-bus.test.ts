import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemoryBus } from './memory-bus.ts';
import { MESSAGE_LOG_TTL_MS } from '../message-bus.ts';
import type { BusKey } from '../message-bus.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import type { ByteAccount } from '../../byte-account.ts';
import { LOG_BYTES, ENTRY_BYTES } from '../../limits.ts';

const key: BusKey = { serverId: 'files', sessionId: 'session', generation: 0 };
const other: BusKey = { ...key, sessionId: 'other' };

describe('MemoryBus', () => {
  let bus: MemoryBus;
  let account: ByteAccount;
  beforeEach(() => {
    vi.useFakeTimers();
    account = sampleAccount({ total: 64 << 20 });
    bus = new MemoryBus({ onListenerError: () => undefined, account });
    for (const one of [key, other]) void bus.expect(one, 'GET');
  });
  afterEach(async () => {
    await bus.close();
    vi.useRealTimers();
  });

  const append = async (to: BusKey, message: string): Promise<string> =>
    (await bus.append(to, { carrier: 'GET', message })) ?? expect.unreachable('nobody waits for it');
  const keptAfter = async (of: BusKey, id: string): Promise<string[]> => {
    const messages: string[] = [];
    await (
      await bus.follow(of, 'GET', id, ({ message }) => messages.push(message))
    )();
    return messages;
  };

  test('a log is kept for its time after the last message, whatever happens to others', async () => {
    const first = await append(key, 'one');
    const otherFirst = await append(other, 'one');
    await bus.append(other, { carrier: 'GET', message: 'two' });
    vi.advanceTimersByTime(MESSAGE_LOG_TTL_MS - 1);
    await bus.append(key, { carrier: 'GET', message: 'two' });
    expect(await keptAfter(other, otherFirst)).toEqual(['two']);
    vi.advanceTimersByTime(1);
    expect(await keptAfter(other, otherFirst)).toEqual([]);
    expect(await keptAfter(key, first)).toEqual(['two']);
    vi.advanceTimersByTime(MESSAGE_LOG_TTL_MS);
    expect(await keptAfter(key, first)).toEqual([]);
  });

  test('ids grow also when the clock is set back', async () => {
    const first = await append(key, 'one');
    vi.setSystemTime(Date.now() - 60_000);
    await bus.append(key, { carrier: 'GET', message: 'two' });
    expect(await keptAfter(key, first)).toEqual(['two']);
  });

  test('a listener that publishes: everybody hears the messages in one order', async () => {
    const heard: string[] = [];
    bus.onControl(({ sessionId }) => {
      if (sessionId === 'first') void bus.publish({ type: 'session-ended', serverId: 'files', sessionId: 'second' });
    });
    bus.onControl(({ sessionId }) => heard.push(sessionId));
    await bus.publish({ type: 'session-ended', serverId: 'files', sessionId: 'first' });
    expect(heard).toEqual(['first', 'second']);
  });

  test('H5 T17: the logs of one server push none of another out', async () => {
    const first = await append(key, 'one');
    await append(key, 'two');
    const message = 'x'.repeat(LOG_BYTES - ENTRY_BYTES);
    for (let i = 0; i < 40; i++) {
      const greedy = { ...key, serverId: 'greedy', sessionId: `s${i}` };
      await bus.expect(greedy, 'GET');
      await append(greedy, message);
    }
    expect(await keptAfter(key, first)).toEqual(['two']);
  });

  test('H5 T17: what is kept counts in the account of the process, and goes where others need the room', async () => {
    const first = await append(key, 'one');
    const message = 'x'.repeat(LOG_BYTES - 2 * ENTRY_BYTES - 3);
    await append(key, message);
    expect(account.byKind()).toContainEqual(['logs', LOG_BYTES]);
    const others = account.share('answers', { server: 'another' });
    expect(others.take(account.limits.total - 10)).toBe(true);
    expect(account.held).toBe(account.limits.total - 10);
    const heard: string[] = [];
    await bus.follow(key, 'GET', first, (entry) => heard.push(entry.message));
    await append(key, 'no room');
    expect([heard, account.held]).toEqual([['no room'], account.limits.total - 10]);
    others.giveBack();
    await append(key, 'kept');
    expect(await keptAfter(key, first)).toEqual(['kept']);
    await bus.drop(key);
    expect(account.held).toBe(0);
  });

  test('H5 T17: a session whose stream nobody follows is waited for no longer than a log is kept', async () => {
    vi.advanceTimersByTime(MESSAGE_LOG_TTL_MS - 1);
    expect(await bus.append(key, { carrier: 'GET', message: 'in time' })).toBeDefined();
    vi.advanceTimersByTime(1);
    expect(await bus.append(key, { carrier: 'GET', message: 'late' })).toBeUndefined();
  });

  test('a stream that was followed for long is waited for when its connection breaks', async () => {
    const stop = await bus.follow(key, 'GET', null, () => undefined);
    vi.advanceTimersByTime(2 * MESSAGE_LOG_TTL_MS);
    const first = await append(key, 'seen');
    await stop();
    await append(key, 'missed');
    expect(await keptAfter(key, first)).toEqual(['missed']);
  });
});
