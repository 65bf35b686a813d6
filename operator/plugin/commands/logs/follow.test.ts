import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';

import { expect, test } from 'vitest';

import { ApiError } from '../../../kubernetes/kubernetes.ts';
import { follow } from './follow.ts';

const line = (request: string, msg: string, time: string): Buffer =>
  Buffer.from(`${JSON.stringify({ time: `2026-01-01T00:00:0${time}Z`, request_id: request, msg })}\n`);

/** A log that cannot be read. */
const failing = (error: Error): Readable =>
  new Readable({
    read() {
      this.destroy(error);
    },
  });

function following(logs: Record<string, Readable>, pods: () => string[]) {
  const stopping = new AbortController();
  const printed: string[] = [];
  const asked: [string, boolean][] = [];
  const told = new EventTarget();
  const done = follow({
    pods: async () => pods(),
    log: (pod, isLate) => {
      asked.push([pod, isLate]);
      return logs[pod] ?? Readable.from([]);
    },
    print: ({ pod, said }) => {
      printed.push(`${pod} ${String(said?.['request_id'])} ${String(said?.['msg'])}`);
      told.dispatchEvent(new Event('line'));
    },
    signal: stopping.signal,
    lookMs: 50,
  });
  const until = async (count: number): Promise<void> => {
    while (printed.length < count) await once(told, 'line');
  };
  return { printed, asked, done, until, stop: () => stopping.abort() };
}

test('what pods write of one request stands together, and all of it is printed at the end', async () => {
  const [a, b] = [new PassThrough(), new PassThrough()];
  const at = following({ a, b }, () => ['a', 'b']);
  a.write(Buffer.concat([line('1', 'first', '1'), line('2', 'other', '2')]));
  b.write(line('1', 'second', '3'));
  await at.until(3);
  expect(at.printed).toEqual(['a 1 first', 'b 1 second', 'a 2 other']);
  expect(at.asked).toEqual([
    ['a', false],
    ['b', false],
  ]);
  const written = once(b, 'data');
  b.write(line('3', 'last', '4'));
  await written;
  at.stop();
  await at.done;
  expect(at.printed.at(-1)).toBe('b 3 last');
});

test('a pod that comes later is followed from its first line, and one without a log is asked again', async () => {
  const names = ['a'];
  const logs: Record<string, Readable> = {};
  logs['a'] = failing(new ApiError(400, 'BadRequest', 'ContainerCreating'));
  const at = following(logs, () => names);
  await expect.poll(() => at.asked).toHaveLength(1);
  names.push('b');
  logs['b'] = Readable.from([line('1', 'here', '1')]);
  logs['a'] = Readable.from([line('2', 'too', '2')]);
  await at.until(2);
  at.stop();
  await at.done;
  expect(at.asked).toEqual([
    ['a', false],
    ['a', true],
    ['b', true],
  ]);
});

test('a log that may not be read is an error', async () => {
  const refused = failing(new ApiError(403, 'Forbidden', 'cannot get pods/log'));
  const at = following({ a: refused }, () => ['a']);
  await expect(at.done).rejects.toThrow('cannot get pods/log');
});
