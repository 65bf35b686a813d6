import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { WorkQueue, type WorkQueueOptions } from './work-queue.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A queue whose work takes until the test ends it. */
function held(options: Partial<WorkQueueOptions> = {}) {
  const started: string[] = [];
  const waiting: { key: string; end: PromiseWithResolvers<number | undefined> }[] = [];
  const queue = new WorkQueue({
    work: (key) => {
      started.push(key);
      const end = Promise.withResolvers<number | undefined>();
      waiting.push({ key, end });
      return end.promise;
    },
    ...options,
  });
  const settle = async (key: string, how: (end: PromiseWithResolvers<number | undefined>) => void): Promise<void> => {
    const at = waiting.findIndex((one) => one.key === key);
    how(waiting.splice(at, 1)[0]!.end);
    await vi.advanceTimersByTimeAsync(0);
  };
  return {
    queue,
    started,
    finish: (key: string, again?: number) => settle(key, (end) => end.resolve(again)),
    fail: (key: string) => settle(key, (end) => end.reject(new Error('no'))),
  };
}

/** A queue whose work fails, and the times at which it ran. */
function failing(random: number) {
  const times: number[] = [];
  const queue = new WorkQueue({
    work: async () => {
      times.push(Math.round(performance.now()));
      throw new Error('no');
    },
    random: () => random,
  });
  return { queue, times };
}

describe('a key', () => {
  test('that is added several times while it waits runs once', async () => {
    const { queue, started, finish } = held({ concurrency: 1 });
    queue.add('first');
    await vi.advanceTimersByTimeAsync(0);
    for (let i = 0; i < 5; i++) queue.add('a');
    await finish('first');
    expect(started).toEqual(['first', 'a']);
    await finish('a');
    await vi.advanceTimersByTimeAsync(600_000);
    expect(started).toEqual(['first', 'a']);
  });

  test('that is due already is not put off, nor run once more, by a delay', async () => {
    const { queue, started, finish } = held({ concurrency: 1 });
    queue.add('first');
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    queue.addAfter('a', 5_000);
    await finish('first');
    expect(started).toEqual(['first', 'a']);
    await finish('a');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(started).toEqual(['first', 'a']);
  });

  test('that is added several times in one go runs once, with nothing before it', async () => {
    const { queue, started, finish } = held();
    for (let i = 0; i < 5; i++) queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    await finish('a');
    expect(started).toEqual(['a']);
  });

  test('that is added while it runs runs once more afterwards, never twice at a time', async () => {
    const { queue, started, finish } = held();
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    queue.add('a');
    queue.add('a');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(started).toEqual(['a']);
    await finish('a');
    expect(started).toEqual(['a', 'a']);
    await finish('a');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(started).toEqual(['a', 'a']);
  });

  test('that asks to be run again is run after that time', async () => {
    const { queue, started, finish } = held();
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    await finish('a', 3_000);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(started).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(started).toHaveLength(2);
  });

  test('that is delayed twice runs at the earlier time only', async () => {
    const { queue, started, finish } = held();
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 9_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(started).toHaveLength(1);
    await finish('a');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(started).toHaveLength(1);
  });

  test('that is delayed runs at once when it is added', async () => {
    const { queue, started } = held();
    queue.addAfter('a', 5_000);
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toEqual(['a']);
  });

  test('with a delay that is asked for while it runs is run then, not sooner', async () => {
    const { queue, started, finish } = held();
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    queue.addAfter('a', 4_000);
    await finish('a');
    await vi.advanceTimersByTimeAsync(3_999);
    expect(started).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(started).toHaveLength(2);
  });

  test('may wait longer than a timer can', async () => {
    const { queue, started } = held();
    queue.addAfter('a', 2 ** 31 + 5_000);
    await vi.advanceTimersByTimeAsync(2 ** 31 - 1);
    expect(started).toEqual([]);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(started).toEqual(['a']);
  });
});

describe('a key that fails', () => {
  test('is tried again after half a second, doubling to one minute', async () => {
    const { queue, times } = failing(1);
    queue.add('a');
    await vi.advanceTimersByTimeAsync(400_000);
    const pauses = times.slice(1).map((time, i) => time - times[i]!);
    expect(pauses.slice(0, 10)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('is tried again after half of that with the least luck', async () => {
    const { queue, times } = failing(0);
    queue.add('a');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(times.slice(1).map((time, i) => time - times[i]!)).toEqual([250, 500]);
  });

  test('begins anew with its backoff after a success', async () => {
    const { queue, started, fail, finish } = held({ random: () => 1 });
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    for (const pause of [500, 1_000, 2_000]) {
      await fail('a');
      await vi.advanceTimersByTimeAsync(pause);
    }
    await finish('a', 1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    await fail('a');
    await vi.advanceTimersByTimeAsync(500);
    expect(started).toHaveLength(6);
  });

  test('is tried sooner when it changes, but not without a pause', async () => {
    const { queue, started, fail } = held({ random: () => 1 });
    queue.add('a');
    await vi.advanceTimersByTimeAsync(0);
    for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 16_000]) {
      await fail('a');
      await vi.advanceTimersByTimeAsync(pause);
    }
    await fail('a');
    expect(started).toHaveLength(7);
    queue.add('a');
    await vi.advanceTimersByTimeAsync(1_999);
    expect(started).toHaveLength(7);
    await vi.advanceTimersByTimeAsync(1);
    expect(started).toHaveLength(8);
  });

  test('and changes what it watches each time does not spin', async () => {
    let runs = 0;
    const queue: WorkQueue = new WorkQueue({
      work: async (key) => {
        runs++;
        queue.add(key);
        throw new Error('no');
      },
    });
    queue.add('a');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runs).toBeLessThan(40);
    expect(runs).toBeGreaterThan(20);
  });

  test('does not hold others up', async () => {
    const { queue, started, fail } = held({ concurrency: 1 });
    queue.add('a');
    queue.add('b');
    await vi.advanceTimersByTimeAsync(0);
    await fail('a');
    expect(started).toEqual(['a', 'b']);
  });
});

describe('all keys together', () => {
  test('run in the order in which they came, so many at a time', async () => {
    const { queue, started, finish } = held({ concurrency: 2 });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toEqual(['a', 'b']);
    expect(queue.depth).toBe(2);
    await finish('b');
    expect(started).toEqual(['a', 'b', 'c']);
    await finish('a');
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    expect(queue.depth).toBe(0);
  });

  test('keep to the rate after a burst', async () => {
    let runs = 0;
    const queue = new WorkQueue({
      work: async () => {
        runs++;
        return undefined;
      },
      ratePerSecond: 10,
      burst: 20,
    });
    for (let i = 0; i < 100; i++) queue.add(`key ${i}`);
    await vi.advanceTimersByTimeAsync(0);
    expect(runs).toBe(20);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(runs).toBeGreaterThanOrEqual(48);
    expect(runs).toBeLessThanOrEqual(51);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(runs).toBe(100);
  });

  test('are counted while they wait', async () => {
    const depths: number[] = [];
    const { queue, finish } = held({ concurrency: 1, onDepth: (waiting) => depths.push(waiting) });
    queue.add('a');
    queue.add('b');
    await vi.advanceTimersByTimeAsync(0);
    await finish('a');
    expect(depths).toEqual([1, 2, 1, 0]);
  });
});

describe('stopping', () => {
  test('waits for what runs and begins nothing more', async () => {
    const { queue, started, finish } = held({ concurrency: 1 });
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 1_000);
    await vi.advanceTimersByTimeAsync(0);
    let stopped = false;
    const stop = queue.stop().then(() => {
      stopped = true;
    });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(stopped).toBe(false);
    await finish('a', 100);
    await stop;
    expect(vi.getTimerCount()).toBe(0);
    queue.addAfter('d', 1_000);
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(started).toEqual(['a']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
