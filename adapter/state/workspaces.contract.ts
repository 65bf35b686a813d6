import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SessionRecord, StateStore } from './state-store.ts';
import { addFile, beginFile, MINUTE, newFile, newSession, T } from './testing/files.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';

for (const technology of stateStores) {
  describe(`T3: workspaces of ${technology.name}`, () => {
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

    const options = { now: T, idleBefore: T - MINUTE, limit: 99 };
    const opened = async (changes: Partial<SessionRecord> = {}): Promise<SessionRecord> => {
      const workspace = newSession({ protocolVersion: '2026-07-28', upstreamSessionId: null, ...changes });
      await a.open(workspace);
      return workspace;
    };
    const sessionIds = (records: readonly SessionRecord[]) => records.map(({ sessionId }) => sessionId).sort();

    test('those that are idle and hold no file go, each to one client; sessions stay', async () => {
      const idle = [await opened(), await opened(), await opened(), await opened()];
      const [holding, beginning, busy, fresh] = [await opened(), await opened(), await opened(), await opened()];
      await addFile(a, holding);
      const pending = await beginFile(a, beginning, { kind: 'artifact' });
      const caller = { principal: 'alice', now: T - 2 * MINUTE };
      await a.enter(busy, caller, { id: 'call', until: T + 1, maxInFlight: null });
      await b.touch(fresh, { principal: 'alice', now: T - MINUTE });
      const first = await b.expireWorkspaces({ ...options, limit: 1 });
      expect(first).toHaveLength(1);
      const rest = await Promise.all([a, b].map((store) => store.expireWorkspaces(options)));
      expect(sessionIds([...first, ...rest.flat()])).toEqual(sessionIds(idle));
      expect((await a.counts(T)).sessions).toBe(5);

      await b.files.remove(pending);
      expect(sessionIds(await a.expireWorkspaces(options))).toEqual([beginning.sessionId]);
      expect(sessionIds(await b.expireWorkspaces({ ...options, now: T + 1 }))).toEqual([busy.sessionId]);
      expect(sessionIds(await a.expireWorkspaces({ ...options, idleBefore: T }))).toEqual([fresh.sessionId]);
      await a.remove(holding);
      expect(await b.expireWorkspaces({ ...options, idleBefore: T })).toEqual([]);
      expect((await a.find(session, caller)).state).toBe('active');
    });

    test('racing with a file that begins, a workspace goes or takes the file', async () => {
      const workspaces = [];
      for (let index = 0; index < 20; index += 1) workspaces.push(await opened());
      const [expired, ...begun] = await Promise.all([
        a.expireWorkspaces(options),
        ...workspaces.map((workspace, index) =>
          (index % 2 ? a : b).files.begin([newFile(workspace)], { now: T, maxArtifacts: null }),
        ),
      ]);
      const gone = new Set(sessionIds(expired));
      for (const [index, workspace] of workspaces.entries()) {
        expect(begun[index]).toBe(gone.has(workspace.sessionId) ? 'no_session' : 'begun');
      }
    });
  });
}
