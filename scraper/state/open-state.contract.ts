import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { StateUnavailable } from './ledger.ts';
import { openState } from './open-state.ts';
import type { State } from './open-state.ts';
import { startRedis } from './testing/redis-server.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-state-'));
});
afterEach(() => rm(folder, { recursive: true }));

const options = { pod: 'pod', clock: () => performance.now(), onError: () => undefined };

async function worksAsState(state: State): Promise<void> {
  let gained = 0;
  const assignment = state.assignment({
    sources: () => ['s'],
    gained: () => void (gained += 1),
    lost: async () => undefined,
  });
  await assignment.start();
  expect(gained).toBe(1);
  const fence = assignment.fence('s');
  if (fence === undefined) throw new Error('not mine');
  expect(await state.ledger.plan('s', undefined, [], new Date(), fence)).toBe(true);
  expect(await state.requestCounter.reserve('api', { requests: 1, perMs: 1000, burst: 1 })).toBe(0);
  await assignment.stop();
}

test('SQLite: a second scraper is kept off the file until the first has ended', async () => {
  const store = FingerprintStore.parse({ sqlite: { path: join(folder, 'new', 'state.db') } });
  const state = await openState(store, options);
  await worksAsState(state);
  await expect(openState(store, options)).rejects.toThrow(/another scraper uses the state file/);
  await state.close();
  const again = await openState(store, options);
  expect(await again.ledger.source('s')).toBeDefined();
  await again.close();
});

test('Redis: what cannot be reached is said to be unavailable, also in the middle', async () => {
  const redis = await startRedis();
  const { host, port } = redis.server;
  const store = FingerprintStore.parse({ backend: 'redis', valkey: { host, port, keyPrefix: 'x:' } });
  const state = await openState(store, options);
  try {
    await worksAsState(state);
    await redis.stop();
    await expect(state.ledger.source('s')).rejects.toThrow(StateUnavailable);
    await expect(openState(store, options)).rejects.toThrow(StateUnavailable);
    await redis.start();
    await expect.poll(() => state.ledger.source('s').catch(() => 'down'), { timeout: 10_000 }).toBeUndefined();
  } finally {
    await state.close();
    await redis.stop();
  }
});
