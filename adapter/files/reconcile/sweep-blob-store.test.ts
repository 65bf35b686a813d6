import { describe, expect, test, vi } from 'vitest';

import type { FileRecord } from '../../state/file-records.ts';
import type { SessionKey } from '../../state/session-key.ts';
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
  const contents = removed.map(({ contentId }) => contentId);
  return { count, removed: removed.map(({ fileId }) => fileId), contents };
}

async function committed(store: MemoryStore, { serverId, sessionId }: SessionKey): Promise<FileRecord> {
  const file = fileRecord({ serverId, sessionId, kind: 'artifact', leaseUntil: NOW * 2 });
  await store.files.begin([file], { now: NOW, maxArtifacts: null });
  await store.files.commit([file], { now: NOW });
  return file;
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
    expect(swept).toMatchObject({ count: 250, removed: orphans.map(({ fileId }) => fileId) });
  });

  test('go where they are versions of an edited file that its record does not name', async () => {
    const store = new MemoryStore();
    const session = sessionRecord({ sessionId: newId() });
    await store.open(session);
    const { serverId, sessionId } = session;
    const first = fileRecord({ serverId, sessionId, kind: 'artifact', leaseUntil: NOW * 2 });
    await store.files.begin([first], { now: NOW, maxArtifacts: null });
    await store.files.commit([first], { now: NOW });
    const second = { ...first, contentId: newId(), version: 2, older: [] };
    expect(await store.files.revise(second, { now: NOW, from: 1 })).toBe(true);
    const [left, young] = [newId(), newId()];
    const old = [first, second, { ...first, contentId: left }].map((file) => ({ ...file, modifiedAt: NOW - 400_000 }));
    const other = { ...(await committed(store, session)), modifiedAt: NOW - 400_000 };
    const swept = await sweep([...old, { ...first, contentId: young, modifiedAt: NOW - GRACE_MS }, other], store);
    expect(swept).toEqual({ count: 2, removed: [first.fileId, first.fileId], contents: [undefined, left] });
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
    expect(await sweep(items, new MemoryStore(), () => false)).toMatchObject({ count: 0, removed: [] });
    // The outage begins while it is asked.
    const store = new MemoryStore();
    let asked = false;
    vi.spyOn(store.files, 'known').mockImplementation(async () => {
      asked = true;
      return new Set();
    });
    expect(await sweep(items, store, () => !asked)).toMatchObject({ count: 0, removed: [] });
    expect(asked).toBe(true);
  });
});
