import { describe, expect, test } from 'vitest';

import { type Running, RunningExchanges } from './running.ts';

const one = (changes: Partial<Running> = {}): Running => ({
  slot: -1,
  id: '',
  serverId: 's1',
  sessionId: 'a',
  idTexts: ['1'],
  isGet: false,
  finish: () => {},
  cancel: () => {},
  endStream: () => {},
  notify: () => false,
  ...changes,
});
const never = (): AbortSignal => new AbortController().signal;

/** Whether the promise is settled once all that is due has run. */
async function settled(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

describe('running exchanges', () => {
  test('are found by server and session', () => {
    const running = new RunningExchanges();
    const [a, b, other, sessionless] = [
      one(),
      one({ isGet: true }),
      one({ serverId: 's2' }),
      one({ sessionId: undefined }),
    ];
    for (const exchange of [a, b, other, sessionless]) running.add(exchange);
    expect(running.of('s1', 'a')).toEqual([a, b]);
    expect(running.of('s2', 'a')).toEqual([other]);
    expect(running.of('s1', 'x')).toEqual([]);
    running.delete(a);
    expect(running.of('s1', 'a')).toEqual([b]);
    expect(running.all()).toHaveLength(3);
  });

  test('are idle when no POST is being answered, whatever streams are open', async () => {
    const running = new RunningExchanges();
    running.add(one({ isGet: true }));
    expect(await settled(running.idle(never()))).toBe(true);
    const [a, b] = [one(), one()];
    running.add(a);
    running.add(b);
    const [first, second] = [running.idle(never()), running.idle(never())];
    running.delete(a);
    running.delete(a);
    expect(await settled(first)).toBe(false);
    running.delete(b);
    await Promise.all([first, second]);
    expect(await settled(running.idle(never()))).toBe(true);
  });

  test('are waited for no longer than the signal allows', async () => {
    const running = new RunningExchanges();
    running.add(one());
    const patience = new AbortController();
    const idle = running.idle(patience.signal);
    expect(await settled(idle)).toBe(false);
    patience.abort();
    await idle;
    expect(await settled(running.idle(patience.signal))).toBe(true);
  });
});
