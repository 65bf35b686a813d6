import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WaitingRoom } from './waiting-room.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('O18: who waits goes on in the order of coming', async () => {
  const room = new WaitingRoom();
  const seen: string[] = [];
  const waiting = ['a', 'b', 'c'].map(async (name) => seen.push(`${name} ${await room.wait(1_000)}`));
  room.letIn();
  await Promise.all(waiting);
  expect(seen).toEqual(['a true', 'b true', 'c true']);
  expect(vi.getTimerCount()).toBe(0);
});

test('O18: nobody waits longer than its time', async () => {
  const room = new WaitingRoom();
  const waiting = room.wait(1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await waiting).toBe(false);
  expect(await room.wait(0)).toBe(false);
});

test('O18 T17: no more than a thousand wait', async () => {
  const room = new WaitingRoom();
  const waiting = Array.from({ length: 1_000 }, () => room.wait(1_000));
  expect(await room.wait(1_000)).toBe(false);
  room.sendAway();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([false]));
});

test('O18: once it is closed, nobody waits', async () => {
  const room = new WaitingRoom();
  const waiting = room.wait(1_000);
  room.close();
  expect([await waiting, await room.wait(1_000)]).toEqual([false, false]);
});
