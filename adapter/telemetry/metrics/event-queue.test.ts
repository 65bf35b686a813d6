import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { EventQueue, type EventQueueOptions } from './event-queue.ts';

function setUp(options: Partial<EventQueueOptions<number>> = {}) {
  const worked: number[] = [];
  const counts = { queue_full: 0, failed: 0, shutdown: 0 };
  const queue = new EventQueue<number>({
    maxSize: 4,
    batchSize: 2,
    dropsWhenFull: true,
    work: (event) => worked.push(event),
    onDropped: (reason, events) => (counts[reason] += events),
    ...options,
  });
  return { queue, worked, counts };
}

const never = new AbortController().signal;
const fill = (queue: EventQueue<number>, last: number): void => {
  for (let n = 1; n <= last; n++) queue.push(n);
};

describe('the queue of events', () => {
  it('works off a batch at a time, after the turn that brought them', async () => {
    const { queue, worked } = setUp();
    fill(queue, 3);
    expect(worked).toEqual([]);
    expect(queue.depth).toBe(3);
    await nextTurn();
    expect(worked).toEqual([1, 2]);
    await nextTurn();
    expect(worked).toEqual([1, 2, 3]);
    expect(queue.depth).toBe(0);
  });

  it('lets a few rest, and works them off soon', async () => {
    const { queue, worked } = setUp({ maxSize: 1000, batchSize: 100 });
    fill(queue, 99);
    await nextTurn();
    expect(worked).toEqual([]);
    await vi.waitFor(() => expect(worked).toHaveLength(99));
    fill(queue, 100);
    await nextTurn();
    expect(worked).toHaveLength(199);
  });

  it('works everything off at once for whoever asks', () => {
    const { queue, worked } = setUp({ maxSize: 1000, batchSize: 10 });
    fill(queue, 35);
    queue.flush();
    expect([worked.length, queue.depth]).toEqual([35, 0]);
  });

  it('drops and counts what comes while it is full', async () => {
    const { queue, worked, counts } = setUp();
    fill(queue, 6);
    expect(queue.depth).toBe(4);
    expect(counts.queue_full).toBe(2);
    await queue.drain(never);
    expect(worked).toEqual([1, 2, 3, 4]);
  });

  it('has who comes while it is full work first, where nothing may be dropped', async () => {
    const { queue, worked, counts } = setUp({ dropsWhenFull: false });
    fill(queue, 6);
    expect(worked).toEqual([1, 2]);
    expect(queue.depth).toBe(4);
    await queue.drain(never);
    expect(worked).toEqual([1, 2, 3, 4, 5, 6]);
    expect(counts).toEqual({ queue_full: 0, failed: 0, shutdown: 0 });
  });

  it('never holds more than its size, however long it is never empty', async () => {
    const { queue, worked } = setUp({ dropsWhenFull: false });
    fill(queue, 10_000);
    expect(queue.depth).toBeLessThanOrEqual(4);
    await queue.drain(never);
    expect(worked).toHaveLength(10_000);
    expect(worked.at(-1)).toBe(10_000);
  });

  it('loses only the event that fails', async () => {
    const worked: number[] = [];
    const { queue, counts } = setUp({
      work: (event) => {
        if (event === 2) throw new Error('unusable');
        worked.push(event);
      },
    });
    fill(queue, 3);
    await queue.drain(never);
    expect(worked).toEqual([1, 3]);
    expect(counts.failed).toBe(1);
  });

  it('stops working off when the time is over, and counts what is left as dropped', async () => {
    const stop = new AbortController();
    const worked: number[] = [];
    const { queue, counts } = setUp({
      work: (event) => {
        worked.push(event);
        if (event === 2) stop.abort();
      },
    });
    fill(queue, 4);
    await queue.drain(stop.signal);
    expect(worked).toEqual([1, 2]);
    expect(counts.shutdown).toBe(2);
    expect(queue.depth).toBe(0);
  });
});
