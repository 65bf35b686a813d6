import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';

import { SpareWorker } from './spare-worker.ts';

const started: Worker[] = [];
const start = (): Worker => {
  const worker = new Worker('require("node:worker_threads").parentPort.on("message", () => {})', { eval: true });
  started.push(worker);
  return worker;
};

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(started.splice(0).map((worker) => worker.terminate()));
});

test('a worker started ahead is given out once', () => {
  const spare = new SpareWorker(start);
  spare.prepare();
  spare.prepare();
  expect(started).toHaveLength(1);
  const first = spare.take();
  expect(first).toBe(started[0]);
  expect(spare.take()).not.toBe(first);
  expect(started).toHaveLength(2);
});

test('a worker that has ended by itself is not given out', async () => {
  const spare = new SpareWorker(start);
  spare.prepare();
  await started[0]?.terminate();
  expect(spare.take()).not.toBe(started[0]);
});

test('a worker that nobody takes ends after a while', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const spare = new SpareWorker(start);
  spare.prepare();
  const [worker] = started;
  if (worker === undefined) throw new Error('none was started');
  const exit = once(worker, 'exit');
  vi.advanceTimersByTime(29_000);
  expect(worker.threadId).toBeGreaterThan(0);
  vi.advanceTimersByTime(1_000);
  await exit;
  expect(spare.take()).not.toBe(worker);
});

test('a worker ends with what keeps it', async () => {
  const spare = new SpareWorker(start);
  spare.prepare();
  await spare.close();
  expect(started[0]?.threadId).toBe(-1);
});
