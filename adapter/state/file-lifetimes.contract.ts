import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FileRecord, Reserved } from './file-records.ts';
import type { SessionRecord, StateStore } from './state-store.ts';
import { addFile, beginFile, DAY, MINUTE, newFile, newSession, request, T, tombstone } from './testing/files.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';

const at = (now: number, ttlMs: number | null = MINUTE) => ({ now, ttlMs });
const never = { now: T, uploadTtlMs: null, artifactTtlMs: null, limit: 99 };
const ids = (files: Iterable<{ fileId: string }>): string[] => Array.from(files, ({ fileId }) => fileId).sort();
/** What a step that was granted has evicted. */
function evictedBy(reserved: Reserved): readonly FileRecord[] {
  if (reserved.state !== 'reserved') throw new Error(JSON.stringify(reserved));
  return reserved.evicted;
}

for (const technology of stateStores) {
  describe(`files of ${technology.name}`, () => {
    let clients: StoreClients;
    let a: StateStore;
    let b: StateStore;
    let session: SessionRecord;

    beforeAll(() => technology.start?.());
    afterAll(() => technology.stop?.());
    beforeEach(async () => {
      clients = await technology.connect();
      ({ a, b } = clients);
      session = newSession();
      await a.open(session);
    });
    afterEach(() => clients.close());

    const bytes = async (store: StateStore): Promise<number> => {
      const { uploads, artifacts } = await store.files.totals();
      return uploads.bytes + artifacts.bytes;
    };

    describe('time to live', () => {
      test('a file expires after its time to live and not a millisecond before', async () => {
        const file = await addFile(a, session);
        expect(await b.files.find(file, at(T + MINUTE - 1))).toEqual(file);
        expect(await b.files.find(file, at(T + MINUTE))).toBeUndefined();
        expect(await b.files.use(file, at(T + MINUTE))).toBeUndefined();
        expect(await b.files.list(session, 'upload', at(T + MINUTE - 1))).toEqual([file]);
        expect(await b.files.list(session, 'upload', at(T + MINUTE))).toEqual([]);
        expect(await b.files.find(file, at(T + DAY, null))).toEqual(file);
      });

      test('a use begins it anew, finding and listing do not, and a late clock does not take it back', async () => {
        const file = await addFile(a, session);
        expect(await b.files.use(file, at(T + 1_000))).toEqual({ ...file, lastUsedAt: T + 1_000 });
        await b.files.find(file, at(T + 2_000));
        await b.files.list(session, 'upload', at(T + 2_000));
        expect(await a.files.use(file, at(T + 500))).toEqual({ ...file, lastUsedAt: T + 1_000 });
        expect(await a.files.find(file, at(T + MINUTE + 999))).toBeDefined();
        expect(await a.files.find(file, at(T + MINUTE + 1_000))).toBeUndefined();
      });

      test('a file in use does not expire; the end of the last use begins its time anew', async () => {
        const file = await addFile(a, session);
        const [first, second] = [T + 5 * MINUTE, T + 9 * MINUTE];
        expect(await a.files.use(file, { ...at(T), leaseUntil: second })).toEqual({ ...file, leaseUntil: second });
        expect(await b.files.use(file, { ...at(T + 1), leaseUntil: first })).toMatchObject({ leaseUntil: second });
        await a.files.release([file], T + 3 * MINUTE);
        expect(await b.files.find(file, at(T + 8 * MINUTE))).toMatchObject({ leaseUntil: second });
        expect(await b.files.expire({ ...never, now: T + 8 * MINUTE, uploadTtlMs: MINUTE })).toEqual([]);
        await b.files.release([file], T + 8 * MINUTE);
        const released = { ...file, lastUsedAt: T + 8 * MINUTE, leaseUntil: 0 };
        expect(await a.files.find(file, at(T + 9 * MINUTE - 1))).toEqual(released);
        expect(await a.files.find(file, at(T + 9 * MINUTE))).toBeUndefined();
      });

      test('a use whose end nobody told ends with its lease, and does not count later', async () => {
        const file = await addFile(a, session);
        await a.files.use(file, { ...at(T, null), leaseUntil: T + MINUTE });
        await b.files.use(file, { ...at(T + 2 * MINUTE, null), leaseUntil: T + 9 * MINUTE });
        await b.files.release([file], T + 3 * MINUTE);
        expect(await a.files.find(file, at(T, null))).toMatchObject({ leaseUntil: 0 });
      });

      test('leases of pending and used files are extended, never shortened, and not those of released ones', async () => {
        const [pending, used, idle] = [
          await beginFile(a, session),
          await addFile(a, session),
          await addFile(a, session),
        ];
        await a.files.use(used, { ...at(T, null), leaseUntil: T + MINUTE });
        await b.files.lease([pending, used, idle, newFile(session)], T + DAY);
        await b.files.lease([pending, used, idle], T + MINUTE);
        expect(await a.files.find(used, at(T, null))).toMatchObject({ leaseUntil: T + DAY });
        expect(await a.files.find(idle, at(T, null))).toEqual(idle);
        expect(await a.files.remove(pending)).toMatchObject({ leaseUntil: T + DAY });
        await b.files.release([pending, newFile(session)], T);
        expect(await a.files.purge(session)).toHaveLength(2);
      });
    });

    describe('expire', () => {
      test('each kind expires by its own time to live, pending files by their lease alone', async () => {
        const upload = await addFile(a, session, { lastUsedAt: T - MINUTE });
        const artifact = await addFile(a, session, { kind: 'artifact', lastUsedAt: T - MINUTE });
        const [forsaken, alive] = [
          await beginFile(a, session, { leaseUntil: T }),
          await beginFile(a, session, { leaseUntil: T + 1, lastUsedAt: T - DAY }),
        ];
        await a.files.use(await addFile(a, session), { ...at(T, null), leaseUntil: T + MINUTE });
        expect(ids(await b.files.expire(never))).toEqual([forsaken.fileId]);
        expect(await b.files.expire({ ...never, uploadTtlMs: MINUTE + 1, artifactTtlMs: MINUTE + 1 })).toEqual([]);
        expect(await b.files.expire({ ...never, artifactTtlMs: MINUTE })).toEqual([artifact]);
        expect(await b.files.expire({ ...never, uploadTtlMs: MINUTE })).toEqual([upload]);
        expect(await a.files.known(session.sessionId, [alive.fileId])).toEqual(new Set([alive.fileId]));
        expect(await a.files.totals()).toMatchObject({ uploads: { count: 1 }, artifacts: { count: 0 } });
      });

      test('files of tombstoned and of vanished sessions expire too', async () => {
        const vanished = newSession({ lastActiveAt: T + DAY });
        await a.open(vanished);
        const files = [await addFile(a, session), await addFile(a, vanished)];
        await tombstone(a);
        await a.remove(vanished);
        expect(ids(await b.files.expire({ ...never, now: T + MINUTE, uploadTtlMs: MINUTE }))).toEqual(ids(files));
      });

      test('the limit is kept, used files before it are passed over, and each file goes to one client', async () => {
        const files = [];
        for (let index = 0; index < 12; index += 1) {
          const file = await addFile(a, session, { lastUsedAt: T - DAY + index });
          if (index < 5) await a.files.use(file, { ...at(T - DAY + index, null), leaseUntil: T + MINUTE });
          else files.push(file);
        }
        const options = { ...never, uploadTtlMs: MINUTE, limit: 3 };
        const first = await a.files.expire(options);
        expect(first.map(({ lastUsedAt }) => lastUsedAt)).toEqual([5, 6, 7].map((index) => T - DAY + index));
        const rest = await Promise.all([a, b, a, b].map((store) => store.files.expire(options)));
        expect(rest.every((each) => each.length <= 3)).toBe(true);
        expect(ids([...first, ...rest.flat()])).toEqual(ids(files));
      });

      test('racing with uses, a file is used or expires', async () => {
        const files = [];
        for (let index = 0; index < 20; index += 1) files.push(await addFile(a, session, { lastUsedAt: T - DAY }));
        const options = { ...never, uploadTtlMs: MINUTE };
        const [expired, ...used] = await Promise.all([
          b.files.expire(options),
          ...files.map((file, index) => (index % 2 ? a : b).files.use(file, { ...at(T, null), leaseUntil: T + 1 })),
        ]);
        for (const [index, file] of files.entries()) {
          expect(used[index] === undefined).toBe(expired.some(({ fileId }) => fileId === file.fileId));
        }
      });
    });

    describe('reserve', () => {
      test('it says how much a pending file takes up and extends its lease', async () => {
        const file = await beginFile(a, session);
        expect(await b.files.reserve(file, request(9, { leaseUntil: T + DAY }))).toEqual({
          state: 'reserved',
          evicted: [],
        });
        expect(await b.files.reserve(file, request(5))).toEqual({ state: 'reserved', evicted: [] });
        expect(await a.files.remove(file)).toEqual({ ...file, sizeBytes: 5, leaseUntil: T + DAY });
        expect(await a.files.reserve(file, request(5))).toEqual({ state: 'gone' });
        expect(await a.files.reserve(await addFile(a, session), request(5))).toEqual({ state: 'gone' });
      });

      test('of 50 at once through both clients no more than the storage holds are granted', async () => {
        const files = [];
        for (let index = 0; index < 50; index += 1) {
          const owner = newSession();
          await a.open(owner);
          files.push(await beginFile(a, owner));
        }
        const results = await Promise.all(
          files.map((file, index) => (index % 2 ? a : b).files.reserve(file, request(10, { maxTotal: 105 }))),
        );
        expect(results.filter(({ state }) => state === 'reserved')).toHaveLength(10);
        expect(results).toContainEqual({ state: 'over', quota: 'storage' });
        expect(await bytes(a)).toBe(100);
      });

      test('of 50 at once in one session no more than its quota are granted', async () => {
        const files = await Promise.all(Array.from({ length: 50 }, () => beginFile(a, session)));
        const results = await Promise.all(
          files.map((file, index) => (index % 2 ? a : b).files.reserve(file, request(10, { maxSession: 100 }))),
        );
        expect(results.filter(({ state }) => state === 'reserved')).toHaveLength(10);
        expect(results).toContainEqual({ state: 'over', quota: 'session' });
        expect(await bytes(b)).toBe(100);
      });

      test('the bytes that a file had count once', async () => {
        const file = await beginFile(a, session);
        const limits = { maxSession: 10, maxTotal: 10 };
        for (const size of [4, 8, 10])
          expect((await b.files.reserve(file, request(size, limits))).state).toBe('reserved');
        expect(await b.files.reserve(file, request(11, limits))).toEqual({ state: 'over', quota: 'session' });
        expect(await b.files.reserve(file, request(11, { maxTotal: 10 }))).toEqual({ state: 'over', quota: 'storage' });
        expect((await b.files.reserve(file, request(6, { maxSession: 1, maxTotal: 1 }))).state).toBe('reserved');
        expect(await bytes(a)).toBe(6);
      });
    });

    describe('eviction', () => {
      /** Files of 10 bytes each, oldest use first; `u` and `a` for their kinds. */
      const addFiles = async (kinds: string): Promise<FileRecord[]> => {
        const files = [];
        for (const [index, kind] of kinds.split('').entries()) {
          const lastUsedAt = T - DAY + index;
          files.push(
            await addFile(a, session, { kind: kind === 'u' ? 'upload' : 'artifact', lastUsedAt, sizeBytes: 10 }),
          );
        }
        return files;
      };

      test.each([
        ['upload', [0, 2, 1]],
        ['artifact', [1, 3, 0]],
      ] as const)('the kind %s goes first, least recently used first', async (evictFirst, expected) => {
        const files = await addFiles('uaua');
        const file = await beginFile(b, session);
        const reserved = await b.files.reserve(file, request(25, { maxSession: 40, evictFirst }));
        expect(evictedBy(reserved)).toEqual(expected.map((index) => files[index]));
        expect(await bytes(a)).toBe(35);
      });

      test('texts that were too long for a result go before all others', async () => {
        const [upload] = await addFiles('ua');
        const spilled = { kind: 'artifact', spilled: true, sizeBytes: 10 } as const;
        const later = await addFile(a, session, { ...spilled, lastUsedAt: T });
        const name = { filename: '"spilled":true', kind: 'upload', sizeBytes: 10, lastUsedAt: T - 2 * DAY } as const;
        await addFile(a, session, name);
        const file = await beginFile(b, session);
        const reserved = await b.files.reserve(file, request(10, { maxSession: 40, evictFirst: 'upload' }));
        expect(evictedBy(reserved)).toEqual([later]);
        expect(await b.files.find(upload as FileRecord, at(T, null))).toEqual(upload);
      });

      test('a use moves a file to the end of the line', async () => {
        const files = await addFiles('uuu');
        const [first, second] = files;
        if (first !== undefined) await b.files.use(first, at(T, null));
        const file = await beginFile(b, session);
        const reserved = await a.files.reserve(file, request(10, { maxSession: 30 }));
        expect(evictedBy(reserved)).toEqual([second]);
      });

      test('files in use, pending and empty ones and those of other sessions stay', async () => {
        const other = newSession();
        await a.open(other);
        await addFile(a, other, { lastUsedAt: 1, sizeBytes: 10 });
        await addFile(a, session, { lastUsedAt: 1, sizeBytes: 0 });
        await beginFile(a, session, { lastUsedAt: 1, sizeBytes: 10, leaseUntil: 1 });
        const [used, free] = await addFiles('uu');
        if (used !== undefined) await a.files.use(used, { ...at(1, null), leaseUntil: T + 1 });
        const file = await beginFile(b, session);
        expect(await b.files.reserve(file, request(21, { maxSession: 40 }))).toEqual({
          state: 'over',
          quota: 'session',
        });
        expect(evictedBy(await b.files.reserve(file, request(20, { maxSession: 40 })))).toEqual([free]);
      });

      test('when removing all would not do, or the storage is full all the same, none is removed', async () => {
        const files = await addFiles('uau');
        const file = await beginFile(a, session);
        expect(await b.files.reserve(file, request(41, { maxSession: 40 }))).toEqual({
          state: 'over',
          quota: 'session',
        });
        const storage = { state: 'over', quota: 'storage' };
        expect(await b.files.reserve(file, request(31, { maxSession: 40, maxTotal: 30 }))).toEqual(storage);
        expect(await bytes(a)).toBe(30);
        for (const each of files) expect(await a.files.find(each, at(T, null))).toEqual(each);
        // What is evicted makes room in the storage too.
        expect(evictedBy(await b.files.reserve(file, request(15, { maxSession: 30, maxTotal: 30 })))).toHaveLength(2);
      });

      test('two clients that evict at once evict no more than is needed', async () => {
        const files = await addFiles('u'.repeat(20));
        const pending = await Promise.all(Array.from({ length: 10 }, () => beginFile(a, session)));
        const results = await Promise.all(
          pending.map((file, index) => (index % 2 ? a : b).files.reserve(file, request(10, { maxSession: 200 }))),
        );
        const evicted = results.flatMap((reserved) => evictedBy(reserved));
        expect(evicted).toHaveLength(10);
        expect(new Set(evicted)).toEqual(new Set(files.slice(0, 10)));
        expect(await bytes(b)).toBe(200);
      });
    });
  });
}
