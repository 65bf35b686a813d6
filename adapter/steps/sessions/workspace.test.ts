import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { AdapterError } from '../../errors.ts';
import { type StoredFiles, storedFiles } from '../../files/testing/stored-files.ts';
import { sampleMount } from '../../gateway/testing/sample-mount.ts';
import type { PreparedCall, ToolStep } from '../../tools/visible/tool-step.ts';
import { noWorkspace } from '../../sessions/workspace-record.ts';
import type { Reply } from '../../path/reply.ts';
import { SessionFiles } from '../../sessions/session-files.ts';
import { SessionRegistry } from '../../sessions/session-registry.ts';
import { isWorkspace } from '../../sessions/workspace.ts';
import { Workspaces } from '../../sessions/workspaces.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { pass, RecordingReply, refusal, sampleClient, sampleOperation, through } from '../testing/step-scene.ts';
import { ToolSteps } from '../tool-steps.ts';
import { Workspace } from './workspace.ts';

const CALL = { id: 1, method: 'tools/call', params: { name: 't' } };

let files: StoredFiles;
let sessions: SessionRegistry;
let isDraining: boolean;

beforeEach(async () => {
  files = await storedFiles();
  isDraining = false;
  sessions = new SessionRegistry(files.store, { maxActive: 2, maxInFlight: null, idleTtlMs: null });
});
afterEach(async () => {
  sessions.stop();
  await files[Symbol.asyncDispose]();
});

function workspaceOf(steps: ReadonlyMap<string, Pick<ToolStep, 'needsHome'>>): Workspace {
  const sessionFiles = new SessionFiles(files.store, files.bytes, (error) => {
    throw error;
  });
  const refusesSessions = () => (isDraining ? ('draining' as const) : undefined);
  return new Workspace(steps, new Workspaces({ sessions, sessionFiles, store: files.store, refusesSessions }));
}
/** What comes to the step, of a caller without a session. */
const incoming = (message: object = CALL) => {
  const operation = sampleOperation(message, { isSessionless: true, caller: { principal: 'me' } });
  operation.record = noWorkspace('s1', 'me', Date.now());
  return operation;
};
const NEEDED = new Map([['t', { needsHome: true }]]);
const openWorkspace = async (): Promise<SessionRecord> =>
  (await through(workspaceOf(NEEDED), incoming())).operation.session;
const exists = async (record: SessionRecord): Promise<boolean> => {
  const found = await files.store.find(record, { principal: record.principal, now: Date.now() });
  return found.state === 'active';
};

describe('a workspace', () => {
  test('is a session of its caller that is told from others by its revision', async () => {
    const record = await openWorkspace();
    expect(record).toMatchObject({ serverId: 's1', principal: 'me', upstreamSessionId: null });
    expect([isWorkspace(record), isWorkspace(await files.session())]).toEqual([true, false]);
    expect(await exists(record)).toBe(true);
    expect(await exists(noWorkspace('s1', 'me', Date.now()))).toBe(false);
  });

  test('takes a place, and none while the replica ends', async () => {
    await openWorkspace();
    await openWorkspace();
    expect(await refusal(workspaceOf(NEEDED), incoming())).toMatchObject({ code: 'sessions_limit' });
    isDraining = true;
    expect(await refusal(workspaceOf(NEEDED), incoming())).toMatchObject({ code: 'draining' });
  });

  test('is opened for calls only that make something which must belong to one', async () => {
    for (const step of [workspaceOf(new Map()), workspaceOf(new Map([['t', { needsHome: false }]]))]) {
      const reply = new RecordingReply();
      const passed = await through(step, incoming(), reply);
      expect(passed.reply).toBe(reply);
      expect(await exists(passed.operation.session)).toBe(false);
    }
  });

  test('is in use while the call runs', async () => {
    sessions.stop();
    sessions = new SessionRegistry(files.store, { maxActive: 2, maxInFlight: null, idleTtlMs: 1_000 });
    const { reply } = await through(workspaceOf(NEEDED), incoming());
    expect(sessions.inFlight).toBe(1);
    await reply.end({ outcome: 'ok' });
    expect(sessions.inFlight).toBe(0);
  });
});

describe('a call in a workspace', () => {
  async function run(prepared: PreparedCall | Error) {
    const step: ToolStep = {
      needsHome: true,
      prepare: async () => {
        if (prepared instanceof Error) throw prepared;
        return prepared;
      },
    };
    const steps = new Map([['t', step]]);
    const additions = { steps, transforms: new Map(), own: [], resources: undefined };
    const mount = sampleMount({}, { additions });
    const toolSteps = new ToolSteps(mount, sampleClient(mount, files.store), { of: async () => [] });
    const reply = new RecordingReply();
    const operation = incoming();
    const passed = await pass([workspaceOf(steps), toolSteps], operation, reply);
    return { record: operation.session, passed, reply };
  }

  test('leaves it where something came of it', async () => {
    const { record, reply } = await run({ kind: 'result', result: '{"content":[]}' });
    expect(await exists(record)).toBe(true);
    expect(isWorkspace(record)).toBe(true);
    expect((await reply.ended).outcome).toBe('answered');
  });

  test.each<[string, PreparedCall | Error]>([
    ['an error result', { kind: 'result', result: '{"isError":true}' }],
    ['an error', { kind: 'error', error: new AdapterError('artifact_limit') }],
    ['a failure', new AdapterError('storage_busy')],
  ])('takes it away after %s', async (_what, prepared) => {
    const ended = await run(prepared);
    expect(await exists(ended.record)).toBe(false);
    if (prepared instanceof Error) expect((await ended.reply.ended).error).toBe(prepared);
  });

  test('takes it away at its end unless there is a file', async () => {
    const told: string[] = [];
    const { body } = sampleOperation(CALL);
    const forward = { kind: 'forward', body, onEnd: async (outcome: string) => void told.push(outcome) } as const;
    for (const hasFile of [false, true]) {
      const { record, passed } = await run(forward);
      const behind: Reply | undefined = passed?.reply;
      if (behind === undefined) throw new Error('not passed on');
      if (hasFile) await files.file(record, 'artifact');
      behind.start({ pause: () => {}, resume: () => {}, abort: () => {} });
      await behind.end({ outcome: 'ok' });
      expect(await exists(record)).toBe(hasFile);
    }
    expect(told).toEqual(['ok', 'ok']);
  });
});
