import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { startupWait } from './startup-wait.ts';

describe('the wait for upstreams at start', () => {
  const never = (): AbortSignal => new AbortController().signal;
  let calls: string[];

  beforeEach(() => {
    calls = [];
    vi.useFakeTimers({ fakeNodeBuiltins: true, toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  });
  afterEach(() => vi.useRealTimers());

  /** A server that answers from this attempt on. */
  const server = (id: string, readyAt: number) => {
    let attempt = 0;
    return {
      id,
      ping: async () => {
        calls.push(`${id}@${Math.round(performance.now() - began)}`);
        return ++attempt >= readyAt;
      },
    };
  };
  let began: number;
  const wait = async (servers: ReturnType<typeof server>[], seconds: number, signal = never()) => {
    began = performance.now();
    const result = startupWait(servers, seconds, signal);
    await vi.advanceTimersByTimeAsync(seconds * 1000 + 10_000);
    return result;
  };

  test('ends at once when all answer', async () => {
    expect(await wait([server('a', 1), server('b', 1)], 60)).toEqual({
      ready_within_wait_budget: true,
      max_start_wait_seconds: 60,
      waited_seconds: 0,
      not_ready_servers: [],
    });
    expect(calls).toEqual(['a@0', 'b@0']);
  });

  test('asks those that do not answer again, after 1, 2, 4 and then every 5 seconds', async () => {
    expect(await wait([server('a', 1), server('b', 7)], 60)).toMatchObject({
      ready_within_wait_budget: true,
      waited_seconds: 22,
      not_ready_servers: [],
    });
    expect(calls).toEqual(['a@0', 'b@0', 'b@1000', 'b@3000', 'b@7000', 'b@12000', 'b@17000', 'b@22000']);
  });

  test('gives up when the time is over, with a last attempt', async () => {
    expect(await wait([server('a', 1), server('b', 99), server('c', 99)], 5)).toEqual({
      ready_within_wait_budget: false,
      max_start_wait_seconds: 5,
      waited_seconds: 5,
      not_ready_servers: ['b', 'c'],
    });
    expect(calls.filter((call) => call.startsWith('b'))).toEqual(['b@0', 'b@1000', 'b@3000', 'b@5000']);
  });

  test('is skipped with 0', async () => {
    expect(await wait([server('a', 99)], 0)).toEqual({
      ready_within_wait_budget: true,
      max_start_wait_seconds: 0,
      waited_seconds: 0,
      not_ready_servers: [],
    });
    expect(calls).toEqual([]);
  });

  test('is over when nobody is waited for', async () => {
    expect(await wait([], 60)).toMatchObject({ ready_within_wait_budget: true, not_ready_servers: [] });
  });

  test('ends when it is told to', async () => {
    const stop = new AbortController();
    const result = startupWait([server('a', 99)], 60, stop.signal);
    await vi.advanceTimersByTimeAsync(2500);
    stop.abort();
    expect(await result).toMatchObject({ waited_seconds: 2.5, not_ready_servers: ['a'] });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls).toHaveLength(2);
  });
});
