import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FileRecord, MAX_SESSION_FILES } from './file-records.ts';
import type { SessionRecord, StateStore } from './state-store.ts';
import { addFile, beginFile, DAY, MINUTE, newFile, newId, newSession, request, T, tombstone } from './testing/files.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';

const always = { now: T, ttlMs: null };
const begin = { now: T, maxArtifacts: null };

const ids = (files: Iterable<{ fileId: string }>): string[] => Array.from(files, ({ fileId }) => fileId).sort();

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

    const sizes = async (store: StateStore): Promise<[number, number, number, number]> => {
      const { uploads, artifacts } = await store.files.totals();
      return [uploads.count, uploads.bytes, artifacts.count, artifacts.bytes];
    };

    describe('revise', () => {
      const second = (file: FileRecord): FileRecord => ({
        ...file,
        version: 2,
        contentId: newId(),
        older: [{ version: 1, sizeBytes: file.sizeBytes, sha256: file.sha256 }],
        sizeBytes: 7,
        sha256: 'cd',
      });

      test('the next version is found by both clients, and the quotas count what is kept of the others', async () => {
        const file = await addFile(a, session, { kind: 'artifact', sizeBytes: 5, sha256: 'ab' });
        const next = second(file);
        expect(await b.files.revise(next, { now: T + 1, from: 1 })).toBe(true);
        const seen = { ...next, lastUsedAt: T + 1 };
        expect(await a.files.find(file, always)).toEqual(seen);
        expect(await b.files.list(session, 'artifact', always)).toEqual([seen]);
        expect(await sizes(a)).toEqual([0, 0, 1, 12]);
        const { contentId: _, ...third } = { ...seen, version: 3, older: [], sizeBytes: 1 };
        expect(await a.files.revise(third, { now: T, from: 2 })).toBe(true);
        expect(await b.files.find(file, always)).toEqual({ ...third, lastUsedAt: T + 1 });
        expect(await sizes(a)).toEqual([0, 0, 1, 1]);
        expect(await b.files.remove(file)).toMatchObject({ version: 3 });
        expect(await sizes(a)).toEqual([0, 0, 0, 0]);
      });

      test('of two that revise the same version one does', async () => {
        const file = await addFile(a, session, { kind: 'artifact', sizeBytes: 5 });
        const results = [await a.files.revise(second(file), { now: T, from: 1 })];
        results.push(await b.files.revise(second(file), { now: T, from: 1 }));
        expect(results).toEqual([true, false]);
      });

      test('a file in use stays so; one that is pending or gone, or whose session has ended, is not revised', async () => {
        const file = await addFile(a, session, { kind: 'artifact', leaseUntil: T + MINUTE });
        expect(await b.files.revise({ ...second(file), leaseUntil: 0 }, { now: T, from: 1 })).toBe(true);
        expect(await a.files.find(file, always)).toMatchObject({ leaseUntil: T + MINUTE });
        const pending = await beginFile(a, session);
        expect(await b.files.revise(second(pending), { now: T, from: 1 })).toBe(false);
        expect(await b.files.revise(second(newFile(session)), { now: T, from: 1 })).toBe(false);
        await a.remove(session);
        expect(await b.files.revise(second(file), { now: T, from: 2 })).toBe(false);
      });

      test('all versions of an evicted file make room', async () => {
        const file = await addFile(a, session, { kind: 'artifact', sizeBytes: 5 });
        expect(await a.files.revise(second(file), { now: T, from: 1 })).toBe(true);
        const other = await beginFile(b, session);
        const reserved = await b.files.reserve(other, request(10, { maxSession: 12 }));
        expect(reserved).toMatchObject({ state: 'reserved', evicted: [{ fileId: file.fileId, version: 2 }] });
        expect(await sizes(a)).toEqual([0, 10, 0, 0]);
      });
    });

    describe('begin and commit', () => {
      test('a committed file is found by both clients as it was committed', async () => {
        const file = newFile(session, { kind: 'artifact', toolName: 'shot', exposed: true });
        expect(await a.files.begin([file], begin)).toBe('begun');
        expect(await b.files.find(file, always)).toBeUndefined();
        const committed: FileRecord = { ...file, state: 'committed', sizeBytes: 5, sha256: 'ab', leaseUntil: 0 };
        expect(await b.files.commit([committed], { now: T })).toBe(true);
        expect(await a.files.find(file, always)).toEqual(committed);
        expect(await b.files.find(file, always)).toEqual(committed);
        expect(await b.files.find({ ...file, kind: 'upload' }, always)).toBeUndefined();
        expect(await b.files.find({ ...file, serverId: 'other' }, always)).toBeUndefined();
        expect(await b.files.find({ ...file, fileId: newId() }, always)).toBeUndefined();
      });

      test('a session that is unknown, ended or tombstoned takes no files', async () => {
        expect(await a.files.begin([newFile(newSession())], begin)).toBe('no_session');
        await tombstone(a);
        expect(await b.files.begin([newFile(session)], begin)).toBe('no_session');
        expect(await sizes(a)).toEqual([0, 0, 0, 0]);
      });

      test.each(['removed', 'invalidated', 'tombstoned'])(
        'nothing is committed once its session is %s',
        async (how) => {
          const file = await beginFile(a, session);
          if (how === 'removed') await b.remove(session);
          else if (how === 'invalidated') await b.invalidate(session, 'drift', T + DAY);
          else await tombstone(b);
          expect(await a.files.reserve(file, request(1))).toEqual({ state: 'gone' });
          expect(await a.files.commit([file], { now: T })).toBe(false);
          expect(ids(await b.files.purge(session))).toEqual([file.fileId]);
        },
      );

      test('several files are committed all or none', async () => {
        const [one, two] = [await beginFile(a, session), await beginFile(a, session)];
        await b.files.remove(two);
        expect(await a.files.commit([one, two], { now: T })).toBe(false);
        expect(await a.files.find(one, always)).toBeUndefined();
        expect(await a.files.commit([one], { now: T })).toBe(true);
        expect(await a.files.commit([one], { now: T })).toBe(false);
      });

      test('what is committed is not begun again; what is pending is, whoever began it', async () => {
        const file = await addFile(a, session, { kind: 'artifact', sizeBytes: 5, sha256: 'ab' });
        expect(await b.files.begin([newFile(session), { ...file, sizeBytes: 0 }], begin)).toBe('taken');
        expect(await a.files.find(file, always)).toEqual(file);
        expect(await sizes(a)).toEqual([0, 0, 1, 5]);
        // Of another kind it is another file.
        const upload = { ...file, kind: 'upload' as const, sizeBytes: 0 };
        expect(await b.files.begin([upload], begin)).toBe('begun');
        expect(await a.files.begin([{ ...upload, filename: 'second' }], begin)).toBe('begun');
        expect(await b.files.commit([{ ...upload, filename: 'second', sizeBytes: 2 }], { now: T })).toBe(true);
        expect(await a.files.begin([upload], begin)).toBe('taken');
        expect(await sizes(a)).toEqual([1, 2, 1, 5]);
      });

      test('files of several sessions in one step are a mistake', async () => {
        const files = [newFile(session), newFile(newSession())];
        await expect(a.files.begin(files, begin)).rejects.toThrow(TypeError);
        await expect(a.files.commit(files, { now: T })).rejects.toThrow(TypeError);
        expect(await a.files.begin([], begin)).toBe('begun');
        expect(await a.files.commit([], { now: T })).toBe(true);
      });

      test('a session has so many artifacts at most, pending ones too, but not those of the dead', async () => {
        const artifact = (changes: Partial<FileRecord> = {}) => newFile(session, { kind: 'artifact', ...changes });
        const limit = { now: T, maxArtifacts: 3 };
        expect(await a.files.begin([artifact({ leaseUntil: T }), artifact()], limit)).toBe('begun');
        expect(await b.files.begin([artifact(), artifact(), artifact()], limit)).toBe('limit');
        expect(await b.files.begin([artifact(), artifact()], limit)).toBe('begun');
        expect(await a.files.begin([artifact()], limit)).toBe('limit');
        expect(await a.files.begin([newFile(session)], limit)).toBe('begun');
        expect(await a.files.begin([artifact()], { now: T, maxArtifacts: null })).toBe('begun');
      });

      test('a session has so many files at most, of both kinds together and without any quota', async () => {
        const artifact = newFile(session, { kind: 'artifact' });
        const many = Array.from({ length: MAX_SESSION_FILES - 1 }, () => newFile(session));
        expect(await a.files.begin(many, begin)).toBe('begun');
        expect(await b.files.begin([newFile(session), artifact], begin)).toBe('full');
        expect(await b.files.begin([artifact], begin)).toBe('begun');
        expect(await a.files.begin([newFile(session)], begin)).toBe('full');
        expect(await a.files.begin([newFile(session, { kind: 'artifact' })], begin)).toBe('full');
        expect(await a.files.begin([newFile(session, { kind: 'artifact' })], { now: T, maxArtifacts: 1 })).toBe(
          'limit',
        );
        const other = newSession();
        await a.open(other);
        expect(await a.files.begin([newFile(other)], begin)).toBe('begun');
        await b.files.remove(artifact);
        expect(await a.files.begin([newFile(session)], begin)).toBe('begun');
        expect(new Set(ids(await b.files.purge(session))).size).toBe(MAX_SESSION_FILES);
      });

      test('of 40 artifacts begun at once through both clients as many as allowed begin', async () => {
        const results = await Promise.all(
          Array.from({ length: 40 }, (_, index) =>
            (index % 2 === 0 ? a : b).files.begin([newFile(session, { kind: 'artifact' })], {
              now: T,
              maxArtifacts: 7,
            }),
          ),
        );
        expect(results.filter((result) => result === 'begun')).toHaveLength(7);
      });

      test('nothing is committed by somebody who has lost the lock', async () => {
        const file = await beginFile(a, session);
        const guard = { name: 'upload', owner: 'one' };
        expect(await a.files.commit([file], { now: T, guard })).toBe(false);
        await b.tryLock('upload', 'two', MINUTE);
        expect(await a.files.commit([file], { now: T, guard })).toBe(false);
        await b.unlock('upload', 'two');
        await a.tryLock('upload', 'one', MINUTE);
        expect(await b.files.commit([file], { now: T, guard })).toBe(true);
      });
    });

    describe('the end of a session', () => {
      test('a tombstone keeps its files until its end, a session that is gone has none', async () => {
        const file = await addFile(a, session);
        await tombstone(b, T + MINUTE);
        expect(await a.files.find(file, always)).toEqual(file);
        expect(await a.files.use(file, always)).toEqual(file);
        expect(await a.files.list(session, 'upload', always)).toEqual([file]);
        const late = { now: T + MINUTE, ttlMs: null };
        expect(await b.files.find(file, late)).toBeUndefined();
        expect(await b.files.use(file, late)).toBeUndefined();
        expect(await b.files.list(session, 'upload', late)).toEqual([]);
        await a.revive(session, { principal: 'alice', now: T }, { maxActive: null });
        await a.remove(session);
        expect(await b.files.find(file, always)).toBeUndefined();
        expect(ids(await b.files.purge(session))).toEqual([file.fileId]);
      });

      test('of two that purge a session one gets each file', async () => {
        const files = [await addFile(a, session), await beginFile(b, session), await addFile(b, session)];
        const other = newSession();
        await a.open(other);
        const kept = await addFile(a, other, { sizeBytes: 7 });
        const purged = await Promise.all([a.files.purge(session), b.files.purge(session)]);
        expect(ids(purged.flat())).toEqual(ids(files));
        expect(await a.files.find(kept, always)).toEqual(kept);
        expect(await sizes(b)).toEqual([1, 7, 0, 0]);
      });

      test('racing with its end, a session takes files that the purge finds, or none', async () => {
        const begins = Array.from({ length: 30 }, (_, index) =>
          (index % 2 === 0 ? a : b).files.begin([newFile(session)], begin),
        );
        const ending = a.remove(session).then(() => a.files.purge(session));
        const more = Array.from({ length: 30 }, (_, index) =>
          (index % 2 === 0 ? b : a).files.begin([newFile(session)], begin),
        );
        const purged = await ending;
        const results = await Promise.all([...begins, ...more]);
        expect(purged).toHaveLength(results.filter((result) => result === 'begun').length);
        expect(await sizes(b)).toEqual([0, 0, 0, 0]);
      });

      test('files of sessions that are gone are found and removed, those of tombstones not', async () => {
        const [removed, drifted, ended] = [newSession(), newSession(), newSession({ lastActiveAt: T - 2 * DAY })];
        for (const each of [removed, drifted, ended]) await a.open(each);
        const files = [await addFile(a, removed), await beginFile(a, removed), await addFile(a, drifted)];
        const kept = [await addFile(a, session), await addFile(a, ended)];
        await a.expireIdle({ now: T, idleBefore: T - DAY, tombstoneUntil: T + DAY, limit: 1 });
        await a.remove(removed);
        await b.invalidate(drifted, 'drift', T + DAY);
        const first = await b.files.purgeAbandoned({ now: T, limit: 1 });
        expect([1, 2]).toContain(first.length);
        const rest = await Promise.all([a, b].map((store) => store.files.purgeAbandoned({ now: T, limit: 99 })));
        expect(ids([...first, ...rest.flat()])).toEqual(ids(files));
        expect(await a.files.purgeAbandoned({ now: T, limit: 99 })).toEqual([]);
        for (const file of kept) expect(await b.files.find(file, always)).toEqual(file);
        await b.expireTombstones({ now: T + DAY, limit: 9 });
        expect(ids(await b.files.purgeAbandoned({ now: T, limit: 99 }))).toEqual(ids(kept.slice(1)));
      });
    });

    describe('list, page, known and totals', () => {
      test('the files of one kind are listed, oldest first', async () => {
        const files = [];
        for (const createdAt of [T - 2, T - 3, T - 1]) files.push(await addFile(a, session, { createdAt }));
        await addFile(a, session, { kind: 'artifact' });
        await beginFile(a, session);
        const [second, first, third] = files;
        expect(await b.files.list(session, 'upload', always)).toEqual([first, second, third]);
        expect(await b.files.list(newSession(), 'upload', always)).toEqual([]);
      });

      test('of two that remove a file one gets it', async () => {
        const [committed, pending] = [await addFile(a, session), await beginFile(a, session)];
        for (const file of [committed, pending]) {
          const removed = await Promise.all([a.files.remove(file), b.files.remove(file)]);
          expect(removed.filter((each) => each !== undefined)).toEqual([file]);
        }
        expect(await sizes(a)).toEqual([0, 0, 0, 0]);
      });

      test('committed files of all sessions are paged through, whatever happens meanwhile', async () => {
        const files: FileRecord[] = [];
        for (let index = 0; index < 5; index += 1) {
          const owner = newSession();
          await a.open(owner);
          for (const kind of ['upload', 'artifact', 'upload'] as const) files.push(await addFile(a, owner, { kind }));
          await beginFile(a, owner);
        }
        const seen = new Map<string, FileRecord>();
        let cursor: string | undefined;
        do {
          const page = await b.files.page(cursor, 4);
          for (const file of page.files) seen.set(file.fileId, file);
          cursor = page.next;
          await a.files.remove(await addFile(a, session));
        } while (cursor !== undefined);
        for (const file of files) expect(seen.get(file.fileId)).toEqual(file);
        expect([...seen.values()].every(({ state }) => state === 'committed')).toBe(true);
        expect(await b.files.page('nonsense', 1)).toMatchObject({ files: expect.any(Array) });
      });

      test('files of any kind and state are known by the id of their session alone', async () => {
        const [upload, artifact] = [await beginFile(a, session), await addFile(a, session, { kind: 'artifact' })];
        const asked = [upload.fileId, newId(), artifact.fileId];
        expect(await b.files.known(session.sessionId, asked)).toEqual(new Set([upload.fileId, artifact.fileId]));
        expect(await b.files.known(newId(), asked)).toEqual(new Set());
        expect(await b.files.known(session.sessionId, [])).toEqual(new Set());
      });

      test('the server of a session is known while it can come back', async () => {
        expect(await b.files.ownerOf(session.sessionId)).toBe('files');
        expect(await b.files.ownerOf(newId())).toBeUndefined();
        const twin = newSession({ serverId: 'größe: 50 %', sessionId: session.sessionId });
        await a.open(twin);
        expect(await b.files.ownerOf(session.sessionId)).toBeUndefined();
        await a.remove(session);
        expect(await b.files.ownerOf(session.sessionId)).toBe('größe: 50 %');
        await tombstone(a);
        expect(await b.files.ownerOf(session.sessionId)).toBe('größe: 50 %');
        await a.invalidate(twin, 'drift', T + DAY);
        expect(await b.files.ownerOf(session.sessionId)).toBeUndefined();
      });

      test('files that were found on the disk are added to sessions that exist, once', async () => {
        const ended = newSession({ lastActiveAt: T - 2 * DAY });
        const drifted = newSession();
        for (const each of [ended, drifted]) await a.open(each);
        await a.expireIdle({ now: T, idleBefore: T - DAY, tombstoneUntil: T + DAY, limit: 1 });
        await a.invalidate(drifted, 'drift', T + DAY);
        const known = await addFile(a, session, { sizeBytes: 3 });
        const found = [session, ended, drifted, newSession()].map((owner) =>
          newFile(owner, { state: 'committed', sizeBytes: 10, kind: 'artifact', leaseUntil: 0 }),
        );
        const adopted = await Promise.all(
          [a, b].map((store) => store.files.adopt([...found, { ...known, sizeBytes: 9 }])),
        );
        expect(adopted.reduce((sum, count) => sum + count)).toBe(2);
        for (const file of found.slice(0, 2)) expect(await a.files.find(file, always)).toEqual(file);
        expect(await b.files.find(known, always)).toEqual(known);
        expect(await sizes(b)).toEqual([1, 3, 2, 20]);
      });

      test('totals follow every change, for both clients', async () => {
        const upload = await beginFile(a, session, { sizeBytes: 5 });
        expect(await sizes(b)).toEqual([0, 5, 0, 0]);
        await b.files.reserve(upload, request(11));
        await b.files.reserve(upload, request(7));
        expect(await sizes(a)).toEqual([0, 7, 0, 0]);
        await a.files.commit([{ ...upload, sizeBytes: 6 }], { now: T });
        await addFile(b, session, { kind: 'artifact', sizeBytes: 20 });
        expect(await sizes(b)).toEqual([1, 6, 1, 20]);
        await b.files.use(upload, { ...always, leaseUntil: T + MINUTE });
        await b.files.release([upload], T + 1);
        expect(await sizes(a)).toEqual([1, 6, 1, 20]);
        await a.files.remove(upload);
        expect(await sizes(b)).toEqual([0, 0, 1, 20]);
      });

      test('clear discards all files', async () => {
        const file = await addFile(a, session, { sizeBytes: 5 });
        await beginFile(a, session);
        await b.clear();
        await a.open(session);
        expect(await a.files.find(file, always)).toBeUndefined();
        expect(await a.files.purge(session)).toEqual([]);
        expect(await sizes(b)).toEqual([0, 0, 0, 0]);
      });
    });
  });
}
