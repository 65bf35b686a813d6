import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Semaphore } from './semaphore.ts';

const never = new AbortController().signal;

describe('slots', () => {
  test('let so many in at a time, the others in their order', async () => {
    const slots = new Semaphore(2);
    const entered: number[] = [];
    const releases = new Map<number, () => void>();
    const all = [0, 1, 2, 3, 4].map(async (guest) => {
      releases.set(guest, await slots.take(never));
      entered.push(guest);
    });
    await delay(0);
    expect(entered).toEqual([0, 1]);
    releases.get(1)?.();
    releases.get(1)?.();
    await delay(0);
    expect(entered).toEqual([0, 1, 2]);
    releases.get(0)?.();
    releases.get(2)?.();
    await Promise.all(all);
    expect(entered).toEqual([0, 1, 2, 3, 4]);
  });

  test('who gives up waiting takes no slot', async () => {
    const slots = new Semaphore(1);
    const release = await slots.take(never);
    const impatient = new AbortController();
    const waiting = slots.take(impatient.signal);
    const patient = slots.take(never);
    impatient.abort(new Error('too long'));
    await expect(waiting).rejects.toThrow('too long');
    release();
    (await patient)();
    await expect(slots.take(AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
    (await slots.take(never))();
  });
});
