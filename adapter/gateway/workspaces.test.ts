import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { AdapterError } from '../errors.ts';
import { type Body, parseBody } from '../exchange/message.ts';
import { type StoredFiles, storedFiles } from '../files/testing/stored-files.ts';
import { SessionFiles } from '../sessions/session-files.ts';
import { SessionRegistry } from '../sessions/session-registry.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { toolCall } from './call-tool.ts';
import { sampleMount } from './testing/sample-mount.ts';
import type { PreparedCall, ToolStep, Turn } from './turn.ts';
import { inWorkspace, mayUse, noWorkspace, openWorkspace } from './workspaces.ts';

let files: StoredFiles;
let sessions: SessionRegistry;
let isDraining: boolean;
let turn: Turn;

beforeEach(async () => {
  files = await storedFiles();
  isDraining = false;
  sessions = new SessionRegistry(files.store, { maxActive: 2, maxInFlight: null, idleTtlMs: null });
  const sessionFiles = new SessionFiles(files.store, files.bytes, (error) => {
    throw error;
  });
  const parts = {
    store: files.store,
    sessions,
    sessionFiles,
    refusesSessions: () => (isDraining ? 'draining' : undefined),
  };
  turn = { parts, mount: sampleMount(), incoming: { principal: 'me' } } as unknown as Turn;
});
afterEach(async () => {
  sessions.stop();
  await files[Symbol.asyncDispose]();
});

const body = parseBody(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}')) as Body;
const exists = async (record: SessionRecord): Promise<boolean> => {
  const found = await files.store.find(record, { principal: record.principal, now: Date.now() });
  return found.state === 'active';
};

describe('a workspace', () => {
  test('is a session of its caller that is told from others by its revision', async () => {
    const record = await openWorkspace(turn);
    expect(record).toMatchObject({ serverId: 's1', principal: 'me', upstreamSessionId: null });
    expect([isWorkspace(record), isWorkspace(await files.session())]).toEqual([true, false]);
    expect(await exists(record)).toBe(true);
    expect(await exists(noWorkspace(turn))).toBe(false);
  });

  test('takes a place, and none while the replica ends', async () => {
    await openWorkspace(turn);
    await openWorkspace(turn);
    await expect(openWorkspace(turn)).rejects.toMatchObject({ code: 'sessions_limit' });
    isDraining = true;
    await expect(openWorkspace(turn)).rejects.toMatchObject({ code: 'draining' });
  });
});

describe('the files of a session', () => {
  test('are for callers of that session, and for those without one that can name it', async () => {
    const own = await openWorkspace(turn);
    const session = await files.session({ principal: 'me' });
    const nobody = noWorkspace(turn);
    const may = (caller: SessionRecord, sessionId: string): Promise<boolean> => mayUse(sessions, caller, sessionId);
    expect(await may(nobody, own.sessionId)).toBe(true);
    expect(await may(nobody, session.sessionId)).toBe(true);
    expect(await may(session, session.sessionId)).toBe(true);
    expect(await may(session, own.sessionId)).toBe(false);
    expect(await may({ ...nobody, principal: 'you' }, own.sessionId)).toBe(false);
    expect(await may({ ...nobody, serverId: 's2' }, own.sessionId)).toBe(false);
    expect(await may(nobody, 'f'.repeat(32))).toBe(false);
    expect(await may(nobody, '../x')).toBe(false);
  });

  test('are not for callers whose right cannot be asked for', async () => {
    const down = { touch: () => Promise.reject(new AdapterError('state_unavailable')) };
    await expect(mayUse(down, noWorkspace(turn), 'f'.repeat(32))).rejects.toMatchObject({ code: 'state_unavailable' });
  });
});

describe('a call in a workspace', () => {
  async function run(
    prepared: PreparedCall | Error,
  ): Promise<{ record: SessionRecord; prepared: PreparedCall | Error }> {
    const record = await openWorkspace(turn);
    const step: ToolStep = {
      needsHome: true,
      prepare: async () => {
        if (prepared instanceof Error) throw prepared;
        return prepared;
      },
    };
    const call = toolCall({ turn, record, body, timeoutMs: null });
    const given = await inWorkspace(turn, step)
      .prepare(call)
      .catch((error: Error) => error);
    return { record, prepared: given };
  }

  test('leaves it where something came of it', async () => {
    const { record } = await run({ kind: 'result', result: '{"content":[]}' });
    expect(await exists(record)).toBe(true);
  });

  test.each<[string, PreparedCall | Error]>([
    ['an error result', { kind: 'result', result: '{"isError":true}' }],
    ['an error', { kind: 'error', error: new AdapterError('artifact_limit') }],
    ['a failure', new AdapterError('storage_busy')],
  ])('takes it away after %s', async (_what, prepared) => {
    const ended = await run(prepared);
    expect(await exists(ended.record)).toBe(false);
    if (prepared instanceof Error) expect(ended.prepared).toBe(prepared);
  });

  test('takes it away at its end unless there is a file', async () => {
    const told: string[] = [];
    const forward = { kind: 'forward', body, onEnd: async (outcome: string) => void told.push(outcome) } as const;
    for (const hasFile of [false, true]) {
      const { record, prepared } = await run(forward);
      if (prepared instanceof Error || prepared.kind !== 'forward') throw new Error('not passed on');
      if (hasFile) await files.file(record, 'artifact');
      await prepared.onEnd?.('ok');
      expect(await exists(record)).toBe(hasFile);
    }
    expect(told).toEqual(['ok', 'ok']);
  });
});
