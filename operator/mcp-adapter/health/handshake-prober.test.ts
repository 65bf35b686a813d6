import { expect, it, vi } from 'vitest';
import { Inquiries } from '../../controllers/probe-pool.ts';
import { Greeter } from './handshake-prober.ts';
import type { Handshake } from './handshake.ts';

const key = { namespace: 'team', name: 'demo' };
const target = { origin: 'http://10.0.0.1:80', mountPath: '/mcp' };
const failure: Handshake = { ok: false, message: 'x' };

function greeterWith(results: Handshake[]) {
  const state = { now: 0, asked: 0, told: 0, release: Promise.resolve() };
  const shakeHands = async (): Promise<Handshake> => {
    state.asked++;
    await state.release;
    return results.shift() ?? { ok: true };
  };
  const inquiries = new Inquiries({ onError: (error) => expect.fail(String(error)) });
  const greeter = new Greeter({ shakeHands, inquiries, onNews: () => state.told++, now: () => state.now });
  const greet = async (subject: string) => {
    const said = greeter.greet(key, subject, target);
    await vi.waitFor(() => expect(inquiries.size).toBe(0));
    return said;
  };
  return { state, greeter, greet, inquiries };
}

it('greets once for what runs, and again for what runs next', async () => {
  const { state, greeter, greet } = greeterWith([]);
  expect(await greet('a')).toBe('underway');
  expect(await greet('a')).toEqual({ ok: true });
  expect(await greet('b')).toBe('underway');
  await greet('b');
  expect(state).toMatchObject({ asked: 2, told: 2 });
  expect(greeter.known(key, 'b')).toEqual({ ok: true });
  expect(greeter.known(key, 'a')).toBeUndefined();
});

it('T23: waits for no answer, and tells when it has come', async () => {
  const { state, greeter } = greeterWith([]);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.release = promise;
  expect(greeter.greet(key, 'a', target)).toBe('underway');
  expect(greeter.greet(key, 'a', target)).toBe('underway');
  await Promise.resolve();
  expect(state).toMatchObject({ asked: 1, told: 0 });
  resolve();
  await vi.waitFor(() => expect(state.told).toBe(1));
  expect(greeter.greet(key, 'a', target)).toEqual({ ok: true });
});

it('T23: greets apart who did not answer well the last time', async () => {
  const { state, greet, inquiries } = greeterWith([failure]);
  const asks = vi.spyOn(inquiries, 'ask');
  for (const subject of ['a', 'a', 'b']) {
    await greet(subject);
    state.now += 2_000;
  }
  expect(asks.mock.calls.map(([, lane]) => lane)).toEqual(['prompt', 'slow', 'prompt']);
});

it('tells when what runs is another before the answer comes, and takes the answer for neither', async () => {
  const { state, greeter, greet } = greeterWith([failure]);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.release = promise;
  greeter.greet(key, 'a', target);
  greeter.greet(key, 'b', target);
  resolve();
  await vi.waitFor(() => expect(state.told).toBe(1));
  expect(greeter.known(key, 'a')).toBeUndefined();
  expect(await greet('b')).toBe('underway');
  expect(greeter.known(key, 'b')).toEqual({ ok: true });
});

it('tries again after a failure, not at once, and tells of what is new', async () => {
  const { state, greet } = greeterWith([failure, failure]);
  await greet('a');
  expect(await greet('a')).toEqual({ ok: false, message: 'x', failingForMs: 0 });
  state.now = 1_000;
  expect(await greet('a')).toEqual({ ok: false, message: 'x', failingForMs: 1_000 });
  expect(state).toMatchObject({ asked: 1, told: 1 });
  state.now = 2_000;
  await greet('a');
  expect(state).toMatchObject({ asked: 2, told: 1 });
  state.now = 4_000;
  await greet('a');
  expect(state).toMatchObject({ asked: 3, told: 2 });
  expect(await greet('a')).toEqual({ ok: true });
});

it('believes what was true before, but not against what it saw itself', async () => {
  const { state, greeter, greet } = greeterWith([failure]);
  greeter.assume(key, 'a');
  await greet('a');
  expect(state.asked).toBe(0);
  await greet('b');
  greeter.assume(key, 'b');
  expect(greeter.known(key, 'b')).toMatchObject({ ok: false, message: 'x' });
  greeter.forget(key);
  expect(greeter.known(key, 'b')).toBeUndefined();
});

it('keeps nothing of an adapter that has gone while it was greeted', async () => {
  const { state, greeter } = greeterWith([]);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.release = promise;
  greeter.greet(key, 'a', target);
  greeter.forget(key);
  resolve();
  await new Promise((later) => setImmediate(later));
  expect(greeter.known(key, 'a')).toBeUndefined();
  expect(state.told).toBe(0);
});

it('counts for how long it has failed with what runs now', async () => {
  const { state, greeter, greet } = greeterWith([failure, failure, failure]);
  const failingFor = async (subject: string, now: number): Promise<unknown> => {
    state.now = now;
    await greet(subject);
    const known = greeter.known(key, subject);
    return known === undefined || known.ok ? undefined : known.failingForMs;
  };
  expect([await failingFor('a', 0), await failingFor('a', 40_000), await failingFor('b', 50_000)]).toEqual([
    0, 40_000, 0,
  ]);
});
