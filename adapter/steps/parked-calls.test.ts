import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';

import { isOwned, OwnerLease, type OwnerLeaseDeps, succeed } from '../bridge/parked/owner-lease.ts';
import { ownerLock } from '../bridge/parked/parked-entry.ts';
import { ReplicaLease } from '../bridge/parked/replica-lease.ts';
import { knownError } from '../errors.ts';
import { failed, OK } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import { ReplyMessage } from '../path/reply-message.ts';
import { compose, type Send } from '../path/step.ts';
import { MemoryBus } from '../state/memory/memory-bus.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { sampleAccount } from '../testing/sample-account.ts';
import { ParkedCalls } from './parked-calls.ts';
import { RecordingReply, sampleOperation } from './testing/step-scene.ts';

const META = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} } } };
const question = (id: unknown): ReplyMessage => {
  const params = { message: 'Name?', requestedSchema: { type: 'object' } };
  return new ReplyMessage('other', JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params }));
};
const done = (id: unknown): ReplyMessage =>
  new ReplyMessage('response', JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }));

/** One replica: what it asks the upstream, and what it is told. */
class Replica {
  readonly answers: unknown[] = [];
  readonly abandoned: string[] = [];
  readonly asked: { readonly operation: Operation; readonly reply: Reply }[] = [];
  /** How often the upstream is held more than it was let go. */
  holds = 0;
  readonly #send: Send;

  constructor(store: MemoryStore, bus: MemoryBus) {
    const step = new ParkedCalls({
      serverId: 's1',
      store,
      bus,
      known: (error) => knownError(error, () => undefined),
      bridge: {
        limits: { maxRounds: 8, ttlMs: 600_000 },
        answer: async (_exchange, text) => void this.answers.push(JSON.parse(text)),
        abandon: (exchange) => void this.abandoned.push(exchange),
        position: () => undefined,
      },
    });
    this.#send = compose([step], (operation, reply) => {
      this.asked.push({ operation, reply });
      reply.start({
        pause: () => void this.holds++,
        resume: () => void this.holds--,
        abort: (ending) => void reply.end(ending),
      });
    });
  }

  /** A call of a client; `more` stands in its parameters. */
  call(id: number, more: object = {}, principal = 'ada'): RecordingReply {
    const params = { name: 'tool', arguments: {}, _meta: META, ...more };
    const operation = sampleOperation(
      { id, method: 'tools/call', params },
      { isSessionless: true, caller: { principal } },
    );
    operation.isBridged = true;
    const reply = new RecordingReply();
    this.#send(operation, reply);
    return reply;
  }

  get inner(): Reply {
    const [last] = this.asked.slice(-1);
    if (last === undefined) throw new Error('nothing was asked');
    return last.reply;
  }

  get exchange(): string {
    return this.asked[0]?.operation.exchange ?? '';
  }
}

interface Said {
  readonly id: number;
  readonly result: { readonly resultType?: string; readonly inputRequests: object; readonly requestState: string };
  readonly error: unknown;
}

async function said(reply: RecordingReply): Promise<Said> {
  await reply.ended;
  const text = reply.told.find((one) => one.startsWith('{'));
  if (text === undefined) throw new Error(`no response: ${reply.told.join('; ')}`);
  return JSON.parse(text) as Said;
}

const answered = ({ result }: Said, value: unknown = 'Ada'): object => ({
  requestState: result.requestState,
  inputResponses: Object.fromEntries(
    Object.keys(result.inputRequests).map((key) => [key, { action: 'accept', content: { name: value } }]),
  ),
});

/** Locks that nobody gets before the gate opens. */
function gatedLocks(store: MemoryStore) {
  const gate = Promise.withResolvers<void>();
  const tryLock = store.tryLock.bind(store);
  const locking = vi.spyOn(store, 'tryLock').mockImplementation(async (...args) => {
    await gate.promise;
    return tryLock(...args);
  });
  const holders = () => Promise.all(locking.mock.calls.map(([name]) => store.lockHolder(name)));
  return { gate, locking, holders };
}

describe('a call that is asked something in its middle', () => {
  let store: MemoryStore;
  let bus: MemoryBus;
  let a: Replica;
  let b: Replica;

  beforeEach(() => {
    store = new MemoryStore();
    bus = new MemoryBus({
      onListenerError: (error) => expect.unreachable(String(error)),
      account: sampleAccount(),
    });
    a = new Replica(store, bus);
    b = new Replica(store, bus);
  });

  test('gives its client the questions, and whoever brings the answers the rest', async () => {
    const first = a.call(1);
    void a.inner.message(question(7));
    void a.inner.message(question('seven'));
    const asks = await said(first);
    expect(asks).toMatchObject({ id: 1, result: { resultType: 'input_required' } });
    expect(Object.keys(asks.result.inputRequests)).toEqual(['7', 'seven']);

    const second = b.call(2, answered(asks));
    await expect.poll(() => a.answers).toHaveLength(2);
    expect(a.answers).toMatchObject([{ id: 7, result: { content: { name: 'Ada' } } }, { id: 'seven' }]);
    await a.inner.message(done(1));
    await a.inner.end(OK);
    expect(await said(second)).toMatchObject({ id: 2, result: { content: [] } });
    expect(await store.lockHolder(ownerLock('s1', a.exchange))).toBeUndefined();
    expect(b.asked).toEqual([]);
  });

  test('tells the end of a call that has ended before its answers came', async () => {
    const first = a.call(1);
    void a.inner.message(question(7));
    const asks = await said(first);
    await a.inner.end(failed(new Error('gone')));
    expect(await said(b.call(2, answered(asks)))).toMatchObject({ id: 2, error: { data: { code: 'internal' } } });
  });

  test('T18: takes no answers of others, of another call, of yesterday, or twice', async () => {
    const first = a.call(1);
    void a.inner.message(question(7));
    const asks = await said(first);
    const again = answered(asks);
    const refused = async (reply: RecordingReply): Promise<unknown> => (await reply.ended).outcome;
    expect(await refused(b.call(2, again, 'bob'))).toBe('request_state_invalid');
    expect(await refused(b.call(3, { ...again, arguments: { other: 1 } }))).toBe('request_state_invalid');
    const now = vi.spyOn(store, 'now').mockReturnValue(Date.now() + 601_000);
    expect(await refused(b.call(4, again))).toBe('request_state_invalid');
    now.mockRestore();
    expect(a.answers).toEqual([]);
    const once = b.call(5, again);
    await expect.poll(() => a.answers).toHaveLength(1);
    expect(await refused(a.call(6, again))).toBe('request_state_invalid');
    await a.inner.message(done(1));
    await a.inner.end(OK);
    expect(await said(once)).toMatchObject({ id: 5 });
  });

  test('answers no question with nothing that comes while another waits', async () => {
    const first = a.call(1);
    void a.inner.message(question(7));
    const asks = await said(first);
    void a.inner.message(question(8));
    const second = await said(b.call(2, answered(asks)));
    expect(second.result.resultType).toBe('input_required');
    expect(a.answers.filter((one) => (one as { id: number }).id === 8)).toEqual([]);
    const third = b.call(3, answered(second, 'Eve'));
    await expect
      .poll(() => a.answers)
      .toContainEqual(expect.objectContaining({ id: 8, result: { action: 'accept', content: { name: 'Eve' } } }));
    await a.inner.message(done(1));
    await a.inner.end(OK);
    expect(await said(third)).toMatchObject({ id: 3 });
  });

  test('goes on where its client did not read when it was asked', async () => {
    const first = a.call(1);
    first.control?.pause();
    void a.inner.message(question(7));
    await said(first);
    expect(a.holds).toBe(0);
    first.control?.resume();
    expect(a.holds).toBe(0);
  });

  test('has no time left over from a round that was never answered', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const first = a.call(1);
    void a.inner.message(question(7));
    await vi.advanceTimersByTimeAsync(25);
    const asks = await said(first);
    await vi.advanceTimersByTimeAsync(300_000);
    void a.inner.message(question(8));
    await vi.advanceTimersByTimeAsync(25);
    const second = b.call(2, answered(asks));
    await vi.advanceTimersByTimeAsync(10);
    const third = b.call(3, answered(await said(second)));
    await vi.advanceTimersByTimeAsync(400_000);
    await a.inner.message(done(1));
    await a.inner.end(OK);
    expect(await said(third)).toMatchObject({ id: 3, result: { content: [] } });
  });

  test('hears no answers of a round while it asks the next', async () => {
    const first = a.call(1);
    void a.inner.message(question(7));
    const asks = await said(first);
    const gate = Promise.withResolvers<void>();
    const append = bus.append.bind(bus);
    const appending = vi.spyOn(bus, 'append').mockImplementation(async (key, entry) => {
      if (entry.carrier !== 'in') await gate.promise;
      return append(key, entry);
    });
    void a.inner.message(question(8));
    await expect.poll(() => appending.mock.calls.length).toBe(1);
    const second = b.call(2, answered(asks));
    await expect.poll(() => appending.mock.calls.length).toBe(2);
    gate.resolve();
    const third = b.call(3, answered(await said(second)));
    await expect.poll(() => a.answers.map((one) => (one as { id: number }).id)).toEqual([7, 8]);
    await a.inner.message(done(1));
    await a.inner.end(OK);
    expect(await said(third)).toMatchObject({ id: 3 });
  });

  test('asks nothing once its answer is on the way', async () => {
    const { gate, locking, holders } = gatedLocks(store);
    const first = a.call(1);
    void a.inner.message(question(7));
    await expect.poll(() => locking.mock.calls.length).toBe(1);
    void a.inner.message(done(1));
    gate.resolve();
    await expect.poll(() => locking.mock.calls.length).toBe(2);
    await a.inner.end(OK);
    await first.ended;
    await expect.poll(holders).toEqual([undefined, undefined]);
    expect(first.told.filter((one) => one.startsWith('{'))).toHaveLength(1);
  });

  test('leaves nothing behind when its client leaves before it has the questions', async () => {
    const { gate, locking, holders } = gatedLocks(store);
    const first = a.call(1);
    void a.inner.message(question(7));
    await expect.poll(() => locking.mock.calls.length).toBe(1);
    first.leave();
    gate.resolve();
    await expect.poll(() => locking.mock.calls.map(([name]) => name)).toContain(ownerLock('s1', a.exchange));
    await expect.poll(holders).toEqual([undefined, undefined]);
  });

  test('ends when it is asked too much', async () => {
    const first = a.call(1);
    for (let id = 0; id < 100; id++) void a.inner.message(question(id));
    expect(await first.ended).toMatchObject({ outcome: 'upstream_failed' });
    const long = b.call(2);
    const params = { message: 'x'.repeat(5 << 20) };
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params });
    void b.inner.message(new ReplyMessage('other', text));
    expect(await long.ended).toMatchObject({ outcome: 'upstream_failed' });
  });

  test('T17: leaves places for others where one caller has many that wait', async () => {
    const waiting = Array.from({ length: 512 }, (_, id) => {
      const reply = a.call(id);
      void a.inner.message(question(7));
      return reply;
    });
    const [asks] = await Promise.all(waiting.map(said));
    if (asks === undefined) throw new Error('nothing was asked');
    const more = async (principal: string): Promise<string> => {
      const reply = a.call(1_000, {}, principal);
      void a.inner.message(question(7));
      return (await reply.ended).outcome;
    };
    expect([await more('ada'), await more('bob')]).toEqual(['overloaded', 'ok']);
    const again = b.call(2_000, answered(asks));
    const [first] = a.asked;
    await first?.reply.message(done(0));
    await first?.reply.end(OK);
    expect(await said(again)).toMatchObject({ id: 2_000 });
    expect(await more('ada')).toBe('ok');
  });

  test('opens pages first where its server demands that, and is made anew then', async () => {
    const elicitations = [{ mode: 'url', url: 'https://x.example/', elicitationId: 'e', message: 'Sign in' }];
    const wanted = { code: -32042, message: 'Sign in', data: { elicitations } };
    const first = a.call(1);
    await a.inner.message(new ReplyMessage('response', JSON.stringify({ jsonrpc: '2.0', id: 1, error: wanted })));
    await a.inner.end(OK);
    const asks = await said(first);
    expect(asks.result).toMatchObject({
      inputRequests: { 0: { method: 'elicitation/create', params: elicitations[0] } },
    });
    const declined = { requestState: asks.result.requestState, inputResponses: { 0: { action: 'decline' } } };
    const second = a.call(2);
    await a.inner.message(new ReplyMessage('response', JSON.stringify({ jsonrpc: '2.0', id: 2, error: wanted })));
    await a.inner.end(OK);
    const other = await said(second);
    b.call(3, answered(asks));
    await expect.poll(() => b.asked).toHaveLength(1);
    expect(await said(b.call(4, { ...declined, requestState: other.result.requestState }))).toMatchObject({
      id: 4,
      result: { isError: true },
    });
    expect(b.asked).toHaveLength(1);
  });

  test('is left to the replica that has taken it over', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const first = a.call(1);
    void a.inner.message(question(7));
    await vi.advanceTimersByTimeAsync(25);
    await said(first);
    const lock = ownerLock('s1', a.exchange);
    const tryLock = vi.spyOn(store, 'tryLock').mockRejectedValue(new Error('away'));
    // It could not say that it lives for longer than others wait.
    await vi.advanceTimersByTimeAsync(1_800);
    expect(a.abandoned).toEqual([]);
    tryLock.mockImplementation(async (name) => name !== lock);
    await vi.advanceTimersByTimeAsync(300);
    expect(a.abandoned).toEqual([a.exchange]);
  });

  test('T18: calls of a replica that is gone are taken by one other', async () => {
    const deps = (replica: ReplicaLease): OwnerLeaseDeps => ({ store, serverId: 's1', replica });
    const [gone, one, other] = [new ReplicaLease(store), new ReplicaLease(store), new ReplicaLease(store)];
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    await new OwnerLease(deps(gone), 'x', () => undefined).take();
    expect(await isOwned(deps(one), 'x')).toBe(true);
    expect(await succeed(deps(one), 'x')).toBe(false);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(1_600);
    expect(await isOwned(deps(one), 'x')).toBe(false);
    const taken = await Promise.all([succeed(deps(one), 'x'), succeed(deps(other), 'x')]);
    expect(taken.filter((is) => is)).toHaveLength(1);
  });
});
