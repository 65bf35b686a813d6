import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { Scheduler } from './scheduler.ts';

test('everything runs at its time, in order, whatever the order in which it was asked for', async () => {
  const scheduler = new Scheduler();
  const start = Date.now();
  const ran: number[] = [];
  const early: number[] = [];
  const times = Array.from({ length: 200 }, (_, index) => (index * 37) % 200);
  for (const time of times) {
    scheduler.set(`${time}`, start + time, () => {
      ran.push(time);
      if (Date.now() < start + time) early.push(time);
    });
  }
  for (const time of times) if (time % 3 === 0) scheduler.delete(`${time}`);
  expect(scheduler.at('199')).toBe(start + 199);
  await vi.waitFor(() => expect(ran).toHaveLength(133), { timeout: 2000 });
  expect(ran).toEqual(times.filter((time) => time % 3 !== 0).sort((a, b) => a - b));
  expect(early).toEqual([]);
  expect(scheduler.at('199')).toBeUndefined();
  scheduler.stop();
});

test('a key has one time: the last', async () => {
  const scheduler = new Scheduler();
  const ran: string[] = [];
  scheduler.set('a', Date.now() + 10_000, () => ran.push('late'));
  scheduler.set('a', Date.now() + 5, () => ran.push('soon'));
  scheduler.set('b', Date.now() + 5, () => ran.push('b'));
  scheduler.set('b', Date.now() + 10_000, () => ran.push('late'));
  await vi.waitFor(() => expect(ran).toEqual(['soon']));
  await delay(20);
  expect(ran).toEqual(['soon']);
  scheduler.stop();
});

test('what is due can ask for its next time', async () => {
  const scheduler = new Scheduler();
  let ran = 0;
  const again = (): void => {
    ran += 1;
    if (ran < 5) scheduler.set('a', Date.now() + 2, again);
  };
  scheduler.set('a', Date.now(), again);
  await vi.waitFor(() => expect(ran).toBe(5));
  scheduler.stop();
});

test('after its end nothing runs', async () => {
  const scheduler = new Scheduler();
  let ran = 0;
  scheduler.set('a', Date.now() + 5, () => (ran += 1));
  scheduler.stop();
  scheduler.set('b', Date.now() + 5, () => (ran += 1));
  await delay(30);
  expect(ran).toBe(0);
});

test('ten thousand keys are no work', () => {
  const scheduler = new Scheduler();
  const began = performance.now();
  const far = Date.now() + 1e6;
  for (let index = 0; index < 10_000; index += 1)
    scheduler.set(`${index}`, far + ((index * 7919) % 10_007), () => undefined);
  for (let index = 0; index < 10_000; index += 1)
    scheduler.set(`${index}`, far + ((index * 104_729) % 10_007), () => undefined);
  expect(performance.now() - began).toBeLessThan(500);
  scheduler.stop();
});

test('a clock that is set forwards is noticed', async () => {
  let shift = 0;
  const scheduler = new Scheduler(() => Date.now() + shift);
  let ran = 0;
  scheduler.set('a', Date.now() + 3_600_000, () => (ran += 1));
  shift = 3_600_000;
  scheduler.set('b', Date.now(), () => undefined);
  await vi.waitFor(() => expect(ran).toBe(1));
  scheduler.stop();
});

test('when the clock is set back, everything comes as soon as it would have, or when its owner says', async () => {
  let shift = 86_400_000;
  let told = 0;
  const now = (): number => Date.now() + shift;
  const scheduler = new Scheduler(now);
  scheduler.onSetBack(() => {
    told += 1;
    scheduler.set('its own', now() + 60_000, () => undefined);
  });
  const at = now() + 5_000;
  scheduler.set('a', at, () => undefined);
  scheduler.set('its own', at, () => undefined);
  shift = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  scheduler.set('b', now() + 1, resolve);
  await promise;
  expect(told).toBe(1);
  expect(Math.abs((scheduler.at('a') ?? 0) - (at - 86_400_000))).toBeLessThan(1000);
  expect((scheduler.at('its own') ?? 0) - Date.now()).toBeGreaterThan(50_000);
  scheduler.stop();
});
