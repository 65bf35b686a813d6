import { describe, expect, test, vi } from 'vitest';

import { MemoryStore } from '../../state/memory-store.ts';
import { noTelemetry } from '../../telemetry/telemetry.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import type { FilePlace } from '../keys/file-key.ts';
import { sweepSecondHome } from './sweep-blob-store.ts';
import { fileRecord, newId } from '../testing/stored-files.ts';

const NOW = 1_700_000_000_000;
const GRACE_MS = 300_000;

async function sweep(items: readonly (FilePlace & { modifiedAt: number })[], store: MemoryStore, usable = () => true) {
  const removed: FilePlace[] = [];
  const count = await sweepSecondHome(
    {
      records: store.files,
      telemetry: noTelemetry,
      usable,
      home: {
        remove: async (files) => void removed.push(...files),
        async *items() {
          yield* items;
        },
      },
    },
    { graceMs: GRACE_MS, now: NOW, signal: new AbortController().signal },
  );
  return { count, removed: removed.map(({ fileId }) => fileId) };
}

describe('copies in the second home', () => {
  test('go when they have no record and are older than the grace', async () => {
    const store = new MemoryStore();
    const session = sessionRecord({ sessionId: newId() });
    await store.open(session);
    const known = fileRecord({ serverId: session.serverId, sessionId: session.sessionId, leaseUntil: NOW * 2 });
    await store.files.begin([known], { now: NOW, maxArtifacts: null });
    const orphans = Array.from({ length: 250 }, () => fileRecord({ kind: 'artifact' }));
    const young = fileRecord();
    const at = (file: FilePlace, modifiedAt: number) => ({ ...file, modifiedAt });
    const items = [known, ...orphans].map((file) => at(file, NOW - GRACE_MS));
    const swept = await sweep([...items, at(young, NOW - GRACE_MS + 1)], store);
    expect(swept).toEqual({ count: 250, removed: orphans.map(({ fileId }) => fileId) });
  });

  test('end the waiting for a second home that does not answer when the cleanup ends', async () => {
    const stop = new AbortController();
    const home = {
      remove: (_files: unknown, signal?: AbortSignal) =>
        new Promise<void>((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
          stop.abort(new Error('stopped'));
        }),
      async *items() {
        yield { ...fileRecord(), modifiedAt: 0 };
      },
    };
    const parts = { records: new MemoryStore().files, telemetry: noTelemetry, usable: () => true, home };
    const sweeping = sweepSecondHome(parts, { graceMs: GRACE_MS, now: NOW, signal: stop.signal });
    await expect(sweeping).rejects.toThrow('stopped');
  });

  test('stay while the store is not itself', async () => {
    const items = [{ ...fileRecord(), modifiedAt: 0 }];
    expect(await sweep(items, new MemoryStore(), () => false)).toEqual({ count: 0, removed: [] });
    // The outage begins while it is asked.
    const store = new MemoryStore();
    let asked = false;
    vi.spyOn(store.files, 'known').mockImplementation(async () => {
      asked = true;
      return new Set();
    });
    expect(await sweep(items, store, () => !asked)).toEqual({ count: 0, removed: [] });
    expect(asked).toBe(true);
  });
});
