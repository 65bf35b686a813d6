import { setImmediate as settled } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { telemetrySources } from './telemetry-sources.ts';
import { sampleAccount } from '../testing/sample-account.ts';

type Observed = Parameters<typeof telemetrySources>[0];
const counts = { sessions: 3, tombstones: 1, inFlight: 2 };
const totals = { uploads: { count: 1, bytes: 10 }, artifacts: { count: 2, bytes: 20 } };

function setUp(read: () => Promise<typeof counts> = () => Promise.resolve(counts)) {
  const store = { now: () => 0, counts: vi.fn(read), files: { totals: () => Promise.resolve(totals) } };
  const sources = telemetrySources({
    mounts: [],
    store,
    running: { posts: 4 },
    account: sampleAccount(),
  } as unknown as Observed);
  return { sources, store };
}

it('does not wait for the state store, but says what it has said last', async () => {
  const { sources, store } = setUp();
  expect(sources.activeSessions()).toBeUndefined();
  expect(sources.storedBytes()).toEqual([]);
  await settled();
  expect(sources.activeSessions()).toBe(3);
  expect(sources.storedBytes()).toEqual([
    ['uploads', 10],
    ['artifacts', 20],
  ]);
  expect(store.counts).toHaveBeenCalledOnce();
});

it('asks the state store every few seconds at most, and never twice at a time', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const { promise, resolve } = Promise.withResolvers<typeof counts>();
  const { sources, store } = setUp(() => promise);
  sources.activeSessions();
  now.mockReturnValue(10_000);
  sources.activeSessions();
  expect(store.counts).toHaveBeenCalledOnce();
  resolve(counts);
  await settled();
  sources.activeSessions();
  sources.activeSessions();
  expect(store.counts).toHaveBeenCalledTimes(2);
  now.mockRestore();
});

it('knows no number of a state store that is down', async () => {
  const { sources } = setUp(() => Promise.reject(new Error('down')));
  sources.activeSessions();
  await settled();
  expect(sources.activeSessions()).toBeUndefined();
  expect(sources.requestsInFlight()).toBe(4);
});
