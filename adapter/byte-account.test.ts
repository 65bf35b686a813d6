import { afterEach, describe, expect, test, vi } from 'vitest';

import { accountLimits } from './byte-account.ts';
import { sampleAccount as accountOf } from './testing/sample-account.ts';

const KIB = 1024;
const A = { server: 'a' };

afterEach(() => {
  vi.useRealTimers();
});

describe('M1 T17: the account of what waits', () => {
  test('has room for so many bytes of all together, and none is lost or given back twice', () => {
    const account = accountOf({ total: 10 });
    const [one, other] = [account.share('bodies', A), account.share('answers', { server: 'b' })];
    expect([one.take(6), other.take(5), other.take(4), one.take(1), account.held]).toEqual([
      true,
      false,
      true,
      false,
      10,
    ]);
    one.giveBack();
    one.giveBack();
    expect([account.held, one.take(1), account.held]).toEqual([4, false, 4]);
    expect([other.set(11), other.set(10), other.set(2), account.held]).toEqual([false, true, true, 2]);
    other.giveBack();
    expect([account.held, account.share('logs', A).take(10)]).toEqual([0, true]);
  });

  test('says what it holds by kind', () => {
    const account = accountOf();
    account.share('bodies', A).take(3);
    account.share('unread', A).take(70 * KIB);
    account.share('unread', A).take(5);
    expect(Object.fromEntries(account.byKind())).toEqual({
      requests: 0,
      bodies: 3,
      answers: 0,
      unread: 70 * KIB + 5,
      logs: 0,
    });
  });

  test.each([
    ['one kind', { kinds: { bodies: 10 } }, A, A, true],
    ['one server', { perServer: 10 }, A, { server: 'b' }, true],
    ['one server, whatever the session', { perServer: 10 }, { ...A, session: 's' }, { ...A, session: 't' }, false],
  ])('has a limit for %s', (_what, limits, full, other, isFree) => {
    const account = accountOf(limits);
    expect([account.share('bodies', full).take(10), account.share('bodies', full).take(1)]).toEqual([true, false]);
    const kind = 'kinds' in limits ? 'answers' : 'bodies';
    expect(account.share(kind, other).take(1)).toBe(isFree);
  });

  const [socket, another] = [{}, {}];
  test.each([
    [
      'session',
      { ...A, session: 's', connection: socket },
      { ...A, session: 's', connection: another },
      { ...A, session: 't' },
    ],
    [
      'connection',
      { ...A, connection: socket },
      { ...A, session: 's', connection: socket },
      { ...A, connection: another },
    ],
  ])('has a limit for one %s, for what is more than small', (_what, owner, same, other) => {
    const account = accountOf({ perClient: 200 * KIB });
    const one = account.share('bodies', owner);
    expect([one.take(60 * KIB), one.take(60 * KIB)]).toEqual([true, true]);
    const second = account.share('answers', same);
    expect([second.take(64 * KIB), second.take(17 * KIB), second.take(16 * KIB)]).toEqual([true, false, true]);
    expect(account.share('bodies', other).take(200 * KIB)).toBe(true);
    one.giveBack();
    second.giveBack();
    expect(account.share('bodies', owner).take(200 * KIB)).toBe(true);
  });
});

describe('M2 T17: where there is no room', () => {
  test('what a client does not read is ended first, the oldest of it, then logs, and nothing else', () => {
    vi.useFakeTimers();
    const account = accountOf({ total: 100 });
    const ended: string[] = [];
    const unread = (name: string): boolean =>
      account.share('unread', A, { progress: () => 0, end: () => ended.push(name) }).take(20);
    account.share('logs', A, { end: () => ended.push('log') }).take(20);
    account.share('bodies', A).take(20);
    expect([unread('first'), unread('second'), unread('third')]).toEqual([true, true, true]);
    // All of them have only just begun; the log goes.
    expect([account.share('answers', A).take(20), ended]).toEqual([true, ['log']]);
    expect([account.share('answers', A).take(1), ended]).toEqual([false, ['log']]);
    vi.advanceTimersByTime(2000);
    expect([account.share('answers', A).take(21), ended]).toEqual([true, ['log', 'first', 'second']]);
    expect(account.held).toBe(81);
  });

  test('who takes what waits, however slowly, goes on', () => {
    vi.useFakeTimers();
    const account = accountOf({ total: 100 });
    let taken = 0;
    let isEnded = false;
    account.share('unread', A, { progress: () => taken, end: () => (isEnded = true) }).take(100);
    const others = account.share('answers', A);
    for (let i = 0; i < 5; i++) {
      vi.advanceTimersByTime(1500);
      taken += 1;
      expect([others.take(1), isEnded]).toEqual([false, false]);
    }
    vi.advanceTimersByTime(2000);
    expect([others.take(1), isEnded, account.held]).toEqual([true, true, 1]);
  });

  test('for one server, only what is its own makes room', () => {
    const account = accountOf({ perServer: 10 });
    const ended: string[] = [];
    for (const server of ['a', 'b']) account.share('logs', { server }, { end: () => ended.push(server) }).take(10);
    expect([account.share('bodies', { server: 'b' }).take(5), ended]).toEqual([true, ['b']]);
  });
});

test.each([
  // Node takes 256 MiB of 512.
  [{ memory: 512, heap: 256, largest: 16, bodies: null }, 2, [128, 64, 32, 64]],
  [{ memory: 512, heap: 256, largest: 16, bodies: null }, 1, [128, 128, 32, 64]],
  [{ memory: 512, heap: 256, largest: 16, bodies: 20 }, 2, [128, 64, 32, 20]],
  [{ memory: 512, heap: 256, largest: 16, bodies: 200 }, 2, [200, 100, 50, 200]],
  [{ memory: 64_000, heap: 4_000, largest: 16, bodies: null }, 2, [2_000, 1_000, 500, 1_000]],
  [{ memory: 64, heap: 32, largest: 16, bodies: null }, 2, [16, 16, 16, 16]],
])('M1 T17: a quarter of the memory may wait, and one body always fits: %j', (memory, servers, expected) => {
  const { total, perServer, perClient, kinds } = accountLimits(memory, servers);
  expect([total, perServer, perClient, kinds?.bodies]).toEqual(expected);
  expect(kinds?.answers).toBe(Math.max(memory.largest, memory.heap / 4));
});
