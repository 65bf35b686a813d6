import { expect, it } from 'vitest';
import { Greeter } from './greeter.ts';
import type { Handshake } from './handshake.ts';

const key = { namespace: 'team', name: 'demo' };
const target = { origin: 'http://10.0.0.1:80', mountPath: '/mcp' };
const forever = new AbortController().signal;

function greeterWith(results: Handshake[]) {
  const state = { now: 0, asked: 0 };
  const shakeHands = async (): Promise<Handshake> => {
    state.asked++;
    return results.shift() ?? { ok: true };
  };
  return { state, greeter: new Greeter({ shakeHands, now: () => state.now }) };
}

it('greets once for what runs, and again for what runs next', async () => {
  const { state, greeter } = greeterWith([]);
  for (const subject of ['a', 'a', 'b', 'b']) await greeter.greet(key, subject, target, forever);
  expect(state.asked).toBe(2);
  expect(greeter.known(key, 'b')).toEqual({ ok: true });
  expect(greeter.known(key, 'a')).toBeUndefined();
});

it('tries again after a failure, not at once', async () => {
  const { state, greeter } = greeterWith([{ ok: false, message: 'x' }]);
  expect(await greeter.greet(key, 'a', target, forever)).toEqual({ ok: false, message: 'x', failingForMs: 0 });
  state.now = 1_000;
  expect(await greeter.greet(key, 'a', target, forever)).toEqual({ ok: false, message: 'x', failingForMs: 1_000 });
  state.now = 2_000;
  expect(await greeter.greet(key, 'a', target, forever)).toEqual({ ok: true });
  expect(state.asked).toBe(2);
});

it('believes what was true before, but not against what it saw itself', async () => {
  const { state, greeter } = greeterWith([{ ok: false, message: 'x' }]);
  greeter.assume(key, 'a');
  await greeter.greet(key, 'a', target, forever);
  expect(state.asked).toBe(0);
  await greeter.greet(key, 'b', target, forever);
  greeter.assume(key, 'b');
  expect(greeter.known(key, 'b')).toMatchObject({ ok: false, message: 'x' });
  greeter.forget(key);
  expect(greeter.known(key, 'b')).toBeUndefined();
});

it('counts for how long it has failed with what runs now', async () => {
  const failure: Handshake = { ok: false, message: 'x' };
  const { state, greeter } = greeterWith([failure, failure, failure]);
  const failingFor = async (subject: string, now: number): Promise<unknown> => {
    state.now = now;
    const result = await greeter.greet(key, subject, target, forever);
    return result.ok ? undefined : result.failingForMs;
  };
  expect([await failingFor('a', 0), await failingFor('a', 40_000), await failingFor('b', 50_000)]).toEqual([
    0, 40_000, 0,
  ]);
});
