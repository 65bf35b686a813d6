import { describe, expect, test, vi } from 'vitest';
import { HostRateLimiter, LocalCounter, limitsOf, type RateLimit, reservation } from './rate-limit.ts';

const never = new AbortController().signal;
const source = (baseUrl: string, rateLimit: { requests: number; per: number; burst: number | null } | null) => ({
  baseUrl,
  endpoint: '/x',
  scrape: { rateLimit },
});

test('a request to a host that nobody has asked waits for nothing, whatever the clock says', () => {
  const waits = Array.from(
    { length: 1000 },
    (_, index) => reservation({ requests: 1, perMs: 1000, burst: 1 }, undefined, index / 7).wait,
  );
  expect(new Set(waits)).toEqual(new Set([0]));
});

test('the strictest limit of the sources of a host applies', () => {
  const limits = limitsOf([
    source('https://a.example.com', { requests: 10, per: 1000, burst: null }),
    source('https://a.example.com/other', { requests: 100, per: 60_000, burst: null }),
    source('https://a.example.com', { requests: 50, per: 1000, burst: 2 }),
    source('https://b.example.com:8443', { requests: 1, per: 1000, burst: null }),
    source('https://c.example.com', null),
  ]);
  expect([...limits]).toEqual([
    ['a.example.com', { requests: 100, perMs: 60_000, burst: 2 }],
    ['b.example.com:8443', { requests: 1, perMs: 1000, burst: 1 }],
  ]);
});

describe('a bucket', () => {
  /** The waits of requests at these times. */
  function waits(limit: RateLimit, times: readonly number[]): number[] {
    let fullAt: number | undefined;
    return times.map((now) => {
      const reserved = reservation(limit, fullAt, now);
      fullAt = reserved.fullAt;
      return reserved.wait;
    });
  }

  test('lets a burst pass, then one request per interval', () => {
    expect(waits({ requests: 2, perMs: 1000, burst: 3 }, [0, 0, 0, 0, 0])).toEqual([0, 0, 0, 500, 1000]);
  });

  test('fills up again, but never higher than its burst', () => {
    expect(waits({ requests: 1, perMs: 100, burst: 2 }, [0, 0, 150, 150, 100_000, 100_000, 100_000])).toEqual([
      0, 0, 0, 50, 0, 0, 100,
    ]);
  });

  test('never lets more through than the limit says, whenever requests come', () => {
    const limit = { requests: 5, perMs: 1000, burst: 5 };
    const times = Array.from({ length: 200 }, (_, i) => Math.floor((i * 7919) % 13_000)).toSorted((a, b) => a - b);
    const sent = waits(limit, times).map((wait, i) => wait + (times[i] ?? 0));
    for (const from of sent) {
      // What a bucket of 5 that fills with 5 a second may give in a second.
      expect(sent.filter((time) => time >= from && time < from + 1000).length).toBeLessThanOrEqual(10);
    }
    expect(sent).toEqual(sent.toSorted((a, b) => a - b));
  });
});

describe('requests', () => {
  const limits = new Map([['h', { requests: 1, perMs: 60_000, burst: 1 }]]);

  test('to a host without a limit wait for nothing, and are not counted', async () => {
    const limiter = new HostRateLimiter(limits, { reserve: () => Promise.reject(new Error('not to be asked')) });
    for (let i = 0; i < 5; i++) await limiter.take('https://other/x', never);
  });

  test('wait for as long as the counter says', async () => {
    const asked: unknown[] = [];
    const counter = {
      reserve: (...args: unknown[]) => {
        asked.push(args);
        return Promise.resolve(20);
      },
    };
    const before = performance.now();
    await new HostRateLimiter(limits, counter).take('https://h/x?y', never);
    expect(performance.now() - before).toBeGreaterThanOrEqual(19);
    expect(asked).toEqual([['h', { requests: 1, perMs: 60_000, burst: 1 }]]);
  });

  test('wait no longer because the clock of the machine has been set back', async () => {
    const limiter = new HostRateLimiter(
      new Map([['h', { requests: 1000, perMs: 1000, burst: 1 }]]),
      new LocalCounter(),
    );
    await limiter.take('https://h/1', never);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    try {
      const controller = new AbortController();
      const limit = setTimeout(() => controller.abort(new Error('it waits for the clock')), 5_000);
      await limiter.take('https://h/2', controller.signal);
      clearTimeout(limit);
    } finally {
      vi.useRealTimers();
    }
  });

  test('stop waiting when they are given up', async () => {
    const limiter = new HostRateLimiter(limits, new LocalCounter());
    await limiter.take('https://h/1', never);
    const controller = new AbortController();
    const reason = new Error('stopping');
    const waiting = limiter.take('https://h/2', controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(limiter.take('https://h/3', controller.signal)).rejects.toBe(reason);
  });

  test('are counted here while the shared counter is away', async () => {
    const limiter = new HostRateLimiter(limits, { reserve: () => Promise.reject(new Error('Redis is away')) });
    await limiter.take('https://h/1', never);
    const controller = new AbortController();
    const waiting = limiter.take('https://h/2', controller.signal);
    const first = await Promise.race([waiting.then(() => 'sent'), new Promise((r) => setImmediate(r, 'waiting'))]);
    expect(first).toBe('waiting');
    controller.abort(new Error('done'));
    await expect(waiting).rejects.toThrow('done');
  });
});
