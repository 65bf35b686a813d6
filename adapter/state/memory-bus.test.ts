import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemoryBus } from './memory-bus.ts';
import { MESSAGE_LOG_TTL_MS } from './message-bus.ts';
import type { BusKey } from './message-bus.ts';

const key: BusKey = { serverId: 'files', sessionId: 'session', generation: 0 };
const other: BusKey = { ...key, sessionId: 'other' };

describe('MemoryBus', () => {
  let bus: MemoryBus;
  beforeEach(() => {
    vi.useFakeTimers();
    bus = new MemoryBus({ onListenerError: () => undefined });
  });
  afterEach(async () => {
    await bus.close();
    vi.useRealTimers();
  });

  const keptAfter = async (of: BusKey, id: string): Promise<string[]> => {
    const messages: string[] = [];
    await (
      await bus.follow(of, 'GET', id, ({ message }) => messages.push(message))
    )();
    return messages;
  };

  test('a log is kept for its time after the last message, whatever happens to others', async () => {
    const first = await bus.append(key, { carrier: 'GET', message: 'one' });
    const otherFirst = await bus.append(other, { carrier: 'GET', message: 'one' });
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
    const first = await bus.append(key, { carrier: 'GET', message: 'one' });
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
});
