import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { MemoryStore } from './memory-store.ts';
import type { SessionRecord } from '../state-store.ts';
import { sampleSession } from '../testing/sample-session.ts';

const newRecord = (changes: Partial<SessionRecord> = {}): SessionRecord => sampleSession('session', changes);

const caller = { principal: '', now: 2_000 };

describe('export and import', () => {
  test('a store filled from the export of another has its sessions and tombstones', async () => {
    const before = new MemoryStore();
    const idle = newRecord({ sessionId: 'idle' });
    const drifted = newRecord({ sessionId: 'drifted' });
    await before.open(idle);
    await before.expireIdle({ now: 2_000, idleBefore: 2_000, tombstoneUntil: 9_000, limit: 1 });
    await before.open(drifted);
    await before.invalidate(drifted, 'drift', 8_000);
    const active = newRecord({ sessionId: 'active' });
    await before.open(active);
    await before.enter(active, caller, { id: 'call', until: 9_000, maxInFlight: null });

    const after = new MemoryStore();
    after.import(before.export());
    expect(await after.find(active, caller)).toEqual(await before.find(active, caller));
    expect(await after.find(idle, caller)).toMatchObject({ state: 'tombstoned', expiresAt: 9_000 });
    expect(await after.find(drifted, caller)).toMatchObject({ state: 'invalidated', reason: 'drift' });
    expect(await after.counts(2_000)).toEqual({ sessions: 1, tombstones: 2, inFlight: 0 });
  });

  test('what a caller holds does not change under it', async () => {
    const store = new MemoryStore();
    await store.open(newRecord());
    const found = await store.find(newRecord(), caller);
    const exported = store.export();
    await store.dropLists(newRecord());
    await store.enter(newRecord(), caller, { id: 'call', until: 9_000, maxInFlight: null });
    expect(found).toEqual({ state: 'active', record: newRecord() });
    expect(exported).toEqual([{ record: newRecord(), ending: null }]);
  });
});

test('sessions that saw the same tools keep them once, until the last has gone', async () => {
  const store = new MemoryStore();
  const sessions = ['one', 'two', 'three'].map((sessionId) => newRecord({ sessionId }));
  for (const session of sessions) {
    await store.open(session);
    await store.pin(session, { fingerprint: ['f', 'f', 'g'][sessions.indexOf(session)] ?? '', text: 'tools' });
  }
  expect(store.exportBaselines()).toEqual(
    new Map([
      ['f', 'tools'],
      ['g', 'tools'],
    ]),
  );
  await store.remove(newRecord({ sessionId: 'one' }));
  await store.open(newRecord({ sessionId: 'three' }));
  expect(store.exportBaselines()).toEqual(new Map([['f', 'tools']]));
  await store.expireIdle({ now: 2_000, idleBefore: 2_000, tombstoneUntil: 9_000, limit: 9 });
  expect(store.exportBaselines()).toEqual(new Map([['f', 'tools']]));
  await store.expireTombstones({ now: 9_000, limit: 9 });
  expect(store.exportBaselines()).toEqual(new Map());
});

test('an idle session takes less than 1 KiB, though each carries its own initialize parameters and a pin', async () => {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  const collect = (): void => void (typeof gc === 'function' && Reflect.apply(gc, undefined, []));
  const parameters = { capabilities: { roots: {} }, clientInfo: { name: 'client', version: 'x'.repeat(2_000) } };
  const store = new MemoryStore();
  const sessions = 5_000;
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < sessions; index += 1) {
    const sessionId = index.toString(16).padStart(32, '0');
    await store.open(
      newRecord({
        sessionId,
        principal: Buffer.from('a'.repeat(64)).toString(),
        upstreamSessionId: Buffer.from(`00000000-0000-4000-8000-${index}`).toString(),
        initializeParams: JSON.stringify(parameters),
        createdAt: 1_700_000_000_000 + index,
        lastActiveAt: 1_700_000_000_000 + index,
      }),
    );
    const key = { serverId: 'files', sessionId };
    await store.pin(key, { fingerprint: Buffer.from('f'.repeat(43)).toString(), text: 'x'.repeat(16_000) });
    const principal = 'a'.repeat(64);
    await store.enter(key, { principal, now: 1_800_000_000_000 }, { id: 'call', until: 9e12, maxInFlight: 1 });
    await store.leave(key, 'call', 0);
  }
  collect();
  const perSession = (process.memoryUsage().heapUsed - before) / sessions;
  expect((await store.counts(0)).sessions).toBe(sessions);
  expect(perSession).toBeLessThan(1_024);
});
