import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { sessionRecord } from './testing/session-record.ts';
import { MemoryBus } from '../state/memory/memory-bus.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { StreamOrder } from './stream-order.ts';
import { sampleAccount } from '../testing/sample-account.ts';

/** Milliseconds after which nothing is held any more. */
const HELD_MS = 300;

describe('I1: what a client sends behind the request for its event stream', () => {
  let here: StreamOrder;
  let elsewhere: StreamOrder;

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    const bus = new MemoryBus({
      onListenerError: (error) => expect.unreachable(String(error)),
      account: sampleAccount(),
    });
    here = new StreamOrder(bus, Date.now);
    elsewhere = new StreamOrder(bus, Date.now);
  });
  afterEach(() => void vi.useRealTimers());

  const session = (name: string, { age = 0, client = 'a' } = {}): SessionRecord =>
    sessionRecord({
      sessionId: name,
      createdAt: Date.now() - age,
      initializeParams: JSON.stringify({ protocolVersion: '2025-11-25', clientInfo: { name: client } }),
    });

  /** Milliseconds that a message is held here; undefined: it goes at once. */
  async function held(record: SessionRecord, asks = true): Promise<number | undefined> {
    const wait = here.before(record, asks);
    if (wait === undefined) return undefined;
    const since = Date.now();
    const over = wait.then(() => Date.now() - since);
    await vi.advanceTimersByTimeAsync(1_000);
    return over;
  }

  const inAWhile = (ms: number, action: () => void): void => void setTimeout(action, ms);

  test('waits until the upstream has answered the stream, which another replica asks for', async () => {
    const record = session('s', { age: 60_000 });
    const stream = elsewhere.opening(record);
    inAWhile(40, () => stream.settled(true));
    expect(await held(record)).toBe(40);
    expect(await held(record)).toBeUndefined();
  });

  test('waits for answers and notifications too, and no session for the stream of another', async () => {
    const record = session('s', { age: 60_000 });
    elsewhere.opening(record);
    expect(here.before(session('other', { age: 60_000 }), true)).toBeUndefined();
    expect(await held(record, false)).toBe(HELD_MS);
  });

  test('waits no longer than a few hundred milliseconds for an upstream that is silent', async () => {
    const record = session('s', { age: 60_000 });
    elsewhere.opening(record);
    expect(await held(record)).toBe(HELD_MS);
    expect(await held(record)).toBeUndefined();
  });

  test('waits in the first moments of a session also when it is here before the word of the stream', async () => {
    const record = session('s');
    inAWhile(20, () => {
      const stream = elsewhere.opening(record);
      inAWhile(250, () => stream.settled(true));
    });
    expect(await held(record)).toBe(270);
  });

  test('does not expect a stream later, or for a message that asks nothing', () => {
    expect(here.before(session('old', { age: 10_000 }), true)).toBeUndefined();
    expect(here.before(session('early', { age: -10_000 }), true)).toBeUndefined();
    expect(here.before(session('quiet'), false)).toBeUndefined();
  });

  test('waits once for clients that open no stream, and again when one of them has opened one', async () => {
    expect(await held(session('1'))).toBe(HELD_MS);
    expect(await held(session('1'))).toBeUndefined();
    expect(await held(session('2'))).toBeUndefined();
    expect(await held(session('3', { client: 'b' }))).toBe(HELD_MS);
    elsewhere.opening(session('4')).settled(true);
    expect(await held(session('5'))).toBe(HELD_MS);
  });

  test('does not wait for what an upstream without streams would refuse', async () => {
    elsewhere.opening(session('1')).settled(false);
    expect(await held(session('1'))).toBeUndefined();
    expect(await held(session('2'))).toBeUndefined();
  });

  test('is not let go by the end of a stream that another one has replaced', async () => {
    const record = session('s', { age: 60_000 });
    const first = elsewhere.opening(record);
    const second = here.opening(record);
    inAWhile(20, () => first.settled(true));
    inAWhile(60, () => second.settled(true));
    expect(await held(record)).toBe(60);
  });
});
