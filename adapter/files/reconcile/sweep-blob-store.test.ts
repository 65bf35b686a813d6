import { describe, expect, test, vi } from 'vitest';

import { MemoryStore } from '../../state/memory/memory-store.ts';
import { noTelemetry } from '../../telemetry/telemetry.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import type { FileKey } from '../keys/file-key.ts';
import { sweepBlobStore } from './sweep-blob-store.ts';
import { fileRecord, newId } from '../testing/stored-files.ts';

const NOW = 1_700_000_000_000;
const GRACE_MS = 300_000;

async function sweep(items: readonly (FileKey & { modifiedAt: number })[], store: MemoryStore, usable = () => true) {
  const removed: FileKey[] = [];
  const count = await sweepBlobStore(
    {
      records: store.files,
      telemetry: noTelemetry,
      usable,
      blobStore: {
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

describe('copies in object storage', () => {
  test('go when they have no record and are older than the grace', async () => {
    const store = new MemoryStore();
    const session = sessionRecord({ sessionId: newId() });
    await store.open(session);
    const known = fileRecord({ serverId: session.serverId, sessionId: session.sessionId, leaseUntil: NOW * 2 });
    await store.files.begin([known], { now: NOW, maxArtifacts: null });
    const orphans = Array.from({ length: 250 }, () => fileRecord({ kind: 'artifact' }));
    const young = fileRecord();
    const at = (file: FileKey, modifiedAt: number) => ({ ...file, modifiedAt });
    const items = [known, ...orphans].map((file) => at(file, NOW - GRACE_MS));
    const swept = await sweep([...items, at(young, NOW - GRACE_MS + 1)], store);
    expect(swept).toEqual({ count: 250, removed: orphans.map(({ fileId }) => fileId) });
  });

  test('end the waiting for object storage that does not answer when the cleanup ends', async () => {
    const stop = new AbortController();
    const blobStore = {
      remove: (_files: unknown, signal?: AbortSignal) =>
        new Promise<void>((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
          stop.abort(new Error('stopped'));
        }),
      async *items() {
        yield { ...fileRecord(), modifiedAt: 0 };
      },
    };
    const deps = { records: new MemoryStore().files, telemetry: noTelemetry, usable: () => true, blobStore };
    const sweeping = sweepBlobStore(deps, { graceMs: GRACE_MS, now: NOW, signal: stop.signal });
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
