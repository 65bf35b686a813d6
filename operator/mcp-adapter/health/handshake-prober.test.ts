import { expect, it, vi } from 'vitest';
import { ProbePool } from '../../controllers/probe-pool.ts';
import { HandshakeProber } from './handshake-prober.ts';
import type { Handshake } from './handshake.ts';

const key = { namespace: 'team', name: 'demo' };
const target = { origin: 'http://10.0.0.1:80', mountPath: '/mcp' };
const failure: Handshake = { ok: false, message: 'x' };

function proberWith(results: Handshake[]) {
  const state = { now: 0, attempts: 0, news: 0, release: Promise.resolve() };
  const probeHandshake = async (): Promise<Handshake> => {
    state.attempts++;
    await state.release;
    return results.shift() ?? { ok: true };
  };
  const probePool = new ProbePool({ onError: (error) => expect.fail(String(error)) });
  const handshakes = new HandshakeProber({
    probeHandshake,
    probePool,
    onNews: () => state.news++,
    now: () => state.now,
  });
  const probe = async (subject: string) => {
    const result = handshakes.probe(key, subject, target);
    await vi.waitFor(() => expect(probePool.size).toBe(0));
    return result;
  };
  return { state, handshakes, probe, probePool };
}

it('probes once what runs, and again for what runs next', async () => {
  const { state, handshakes, probe } = proberWith([]);
  expect(await probe('a')).toBe('underway');
  expect(await probe('a')).toEqual({ ok: true });
  expect(await probe('b')).toBe('underway');
  await probe('b');
  expect(state).toMatchObject({ attempts: 2, news: 2 });
  expect(handshakes.known(key, 'b')).toEqual({ ok: true });
  expect(handshakes.known(key, 'a')).toBeUndefined();
});

it('T23: waits for no answer, and tells when it has come', async () => {
  const { state, handshakes } = proberWith([]);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.release = promise;
  expect(handshakes.probe(key, 'a', target)).toBe('underway');
  expect(handshakes.probe(key, 'a', target)).toBe('underway');
  await Promise.resolve();
  expect(state).toMatchObject({ attempts: 1, news: 0 });
  resolve();
  await vi.waitFor(() => expect(state.news).toBe(1));
  expect(handshakes.probe(key, 'a', target)).toEqual({ ok: true });
});

it('T23: probes apart who did not answer well the last time', async () => {
  const { state, probe, probePool } = proberWith([failure]);
  const starts = vi.spyOn(probePool, 'start');
  for (const subject of ['a', 'a', 'b']) {
    await probe(subject);
    state.now += 2_000;
  }
  expect(starts.mock.calls.map(([, lane]) => lane)).toEqual(['prompt', 'slow', 'prompt']);
});

it('tells when what runs is another before the answer comes, and takes the answer for neither', async () => {
  const { state, handshakes, probe } = proberWith([failure]);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.release = promise;
  handshakes.probe(key, 'a', target);
  handshakes.probe(key, 'b', target);
  resolve();
  await vi.waitFor(() => expect(state.news).toBe(1));
  expect(handshakes.known(key, 'a')).toBeUndefined();
  expect(await probe('b')).toBe('underway');
  expect(handshakes.known(key, 'b')).toEqual({ ok: true });
});

it('tries again after a failure, not at once, and tells of what is new', async () => {
  const { state, probe } = proberWith([failure, failure]);
  await probe('a');
  expect(await probe('a')).toEqual({ ok: false, message: 'x', failingForMs: 0 });
  state.now = 1_000;
  expect(await probe('a')).toEqual({ ok: false, message: 'x', failingForMs: 1_000 });
  expect(state).toMatchObject({ attempts: 1, news: 1 });
  state.now = 2_000;
  await probe('a');
  expect(state).toMatchObject({ attempts: 2, news: 1 });
  state.now = 4_000;
  await probe('a');
  expect(state).toMatchObject({ attempts: 3, news: 2 });
  expect(await probe('a')).toEqual({ ok: true });
});

it('believes what was true before, but not against what it saw itself', async () => {
  const { state, handshakes, probe } = proberWith([failure]);
  handshakes.assume(key, 'a');
  await probe('a');
  expect(state.attempts).toBe(0);
  await probe('b');
  handshakes.assume(key, 'b');
  expect(handshakes.known(key, 'b')).toMatchObject({ ok: false, message: 'x' });
  handshakes.forget(key);
  expect(handshakes.known(key, 'b')).toBeUndefined();
});

it('keeps nothing of an adapter that has gone while it was probed', async () => {
  const { state, handshakes } = proberWith([]);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.release = promise;
  handshakes.probe(key, 'a', target);
  handshakes.forget(key);
  resolve();
  await new Promise((later) => setImmediate(later));
  expect(handshakes.known(key, 'a')).toBeUndefined();
  expect(state.news).toBe(0);
});

it('counts for how long it has failed with what runs now', async () => {
  const { state, handshakes, probe } = proberWith([failure, failure, failure]);
  const failingFor = async (subject: string, now: number): Promise<unknown> => {
    state.now = now;
    await probe(subject);
    const known = handshakes.known(key, subject);
    return known === undefined || known.ok ? undefined : known.failingForMs;
  };
  expect([await failingFor('a', 0), await failingFor('a', 40_000), await failingFor('b', 50_000)]).toEqual([
    0, 40_000, 0,
  ]);
});
