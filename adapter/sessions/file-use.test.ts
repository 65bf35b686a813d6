import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { AdapterError } from '../errors.ts';
import { noWorkspace, workspaceRecord } from './workspace-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { newSessionId, SessionRegistry } from './session-registry.ts';
import { sessionRecord } from './testing/session-record.ts';
import { mayUse } from './file-use.ts';

const nobody = noWorkspace('s1', 'me', Date.now());

describe('the files of a session', () => {
  let store: MemoryStore;
  let sessions: SessionRegistry;
  beforeEach(() => {
    store = new MemoryStore();
    sessions = new SessionRegistry(store, { maxActive: 2, maxInFlight: null, idleTtlMs: null });
  });
  afterEach(() => sessions.stop());

  const opened = async (record: SessionRecord): Promise<SessionRecord> => {
    await store.open(record);
    return record;
  };

  test('are for callers of that session, and those of a workspace for its caller who can name it', async () => {
    const own = await opened(workspaceRecord('s1', newSessionId(), 'me', Date.now()));
    const now = { createdAt: Date.now(), lastActiveAt: Date.now() };
    const session = await opened(sessionRecord({ sessionId: newSessionId(), principal: 'me', ...now }));
    const may = (caller: SessionRecord, sessionId: string): Promise<boolean> => mayUse(sessions, caller, sessionId);
    expect(await may(nobody, own.sessionId)).toBe(true);
    expect(await may(nobody, session.sessionId)).toBe(false);
    expect(await may(session, session.sessionId)).toBe(true);
    expect(await may(session, own.sessionId)).toBe(false);
    expect(await may({ ...nobody, principal: 'you' }, own.sessionId)).toBe(false);
    expect(await may({ ...nobody, serverId: 's2' }, own.sessionId)).toBe(false);
    expect(await may(nobody, 'f'.repeat(32))).toBe(false);
    expect(await may(nobody, '../x')).toBe(false);
  });

  test('are for all sessions of the same caller where that is the scope', async () => {
    const now = { createdAt: Date.now(), lastActiveAt: Date.now() };
    const own = await opened(workspaceRecord('s1', newSessionId(), 'me', Date.now()));
    const session = await opened(sessionRecord({ sessionId: newSessionId(), principal: 'me', ...now }));
    const other = sessionRecord({ sessionId: newSessionId(), principal: 'me', ...now });
    const may = (caller: SessionRecord, { sessionId }: SessionRecord): Promise<boolean> =>
      mayUse(sessions, caller, sessionId, 'principal');
    for (const caller of [nobody, session, other]) {
      expect([await may(caller, own), await may(caller, session)]).toEqual([true, true]);
      expect([await may({ ...caller, principal: 'you' }, own), await may(other, nobody)]).toEqual([false, false]);
    }
  });

  test('are not for callers whose right cannot be asked for', async () => {
    const down = { touch: () => Promise.reject(new AdapterError('state_unavailable')) };
    await expect(mayUse(down, nobody, 'f'.repeat(32))).rejects.toMatchObject({ code: 'state_unavailable' });
  });
});
