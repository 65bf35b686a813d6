import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { Artifacts } from '../../crds/config/adapter-file/artifacts.ts';
import { FileTools } from '../../crds/config/adapter-file/entry.ts';
import { taskCall } from '../artifacts/task-calls.ts';
import { AdapterError, knownError } from '../errors.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import { textOf } from '../exchange/testing/whole-answer.ts';
import { ProcessLocks } from '../files/locks/process-lock.ts';
import { Quotas } from '../files/store/quotas.ts';
import { type StoredFiles, storedFiles } from '../files/testing/stored-files.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { testCall } from '../gateway/testing/test-client.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { ToolSchemas } from '../tools/visible/tool-schemas.ts';
import { Handles } from './handles.ts';
import type { RoleDeps } from './role-deps.ts';
import { ReadCopies } from './read-copies.ts';
import { RoleStep } from './role-step.ts';
import { toolRoles } from './tool-roles.ts';

type Steps = Pick<FileRecords, 'commit' | 'revise'> & Pick<StateStore, 'tryLock'>;

let files: StoredFiles;
let session: SessionRecord;
let telemetry: RecordingTelemetry;
let buried: () => Promise<unknown>;

beforeEach(async () => {
  buried = () => Promise.resolve();
  files = await storedFiles();
  session = await files.session();
  telemetry = new RecordingTelemetry();
});
afterEach(async () => {
  // What a dead replica holds is given back.
  await buried();
  await files[Symbol.asyncDispose]();
});

/** The step of one replica, whose store does some things in its own way. */
function replica(own: (store: Steps) => Partial<Steps> = () => ({})): RoleStep {
  const { store, bytes } = files;
  const known = store.files;
  const changes = own({
    commit: (...args) => known.commit(...args),
    revise: (...args) => known.revise(...args),
    tryLock: (...args) => store.tryLock(...args),
  });
  const with_ = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (of, name) => {
        const changed: unknown = Reflect.get(changes, name);
        const value: unknown = changed ?? Reflect.get(of, name);
        return typeof value === 'function' && changed === undefined ? value.bind(of) : value;
      },
    });
  const records = with_(known);
  const artifacts = Artifacts.parse({});
  const quotas = new Quotas({
    records,
    files: bytes,
    limits: { maxTotal: null, maxSession: null, evictFirst: 'upload' },
    times: { uploadTtlMs: null, artifactTtlMs: null },
    clock: Date.now,
  });
  const warn = (message: string): void => expect.unreachable(message);
  const deps: RoleDeps = {
    serverId: 's1',
    artifacts,
    keptVersions: 5,
    urlTtlSeconds: 60,
    handles: new Handles({
      serverId: 's1',
      uploadScheme: 'upload://',
      artifactScheme: artifacts.uri_scheme,
      uploadTtlMs: null,
      artifactTtlMs: null,
      records,
      sessions: { touch: () => Promise.reject(new AdapterError('session_not_found')) },
      scope: 'session',
      shares: () => false,
    }),
    records,
    files: bytes,
    quotas,
    readCopies: new ReadCopies({ records, files: bytes, warn }),
    locks: new ProcessLocks(),
    edits: with_(store),
    schemas: new ToolSchemas(),
    telemetry,
    downloadUrl: undefined,
    onListChanged: () => undefined,
    warn,
    known: (error) => knownError(error, (one) => expect.unreachable(String(one))),
  };
  const roles = toolRoles([
    FileTools.parse({
      type: 'files',
      tools: ['work'],
      arguments: { file: 'edit', out: 'out', folder: 'out_dir' },
      found: [{ pattern: String.raw`\(([^)]+)\)`, relative_to: join(files.root, 'own'), take: 'move' }],
    }),
  ])?.('work');
  if (roles === undefined) throw new Error('no roles');
  return new RoleStep(deps, roles, () => undefined);
}

/** A call that has become a task, and what its tool got. */
async function begun(file: FileRecord, ttl = 600_000): Promise<Record<'file' | 'out' | 'folder', string>> {
  const handle = `artifact://sessions/${file.sessionId}/${file.fileId}/${file.filename}`;
  const args = { file: handle, out: 'out.txt', folder: 'report' };
  const text = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'work', arguments: args },
  });
  const call = testCall(text, { mount: sampleMount(), store: files.store, record: session });
  const prepared = await replica().prepare(call);
  if (prepared.kind !== 'forward') throw new Error(JSON.stringify(prepared));
  const made = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: { taskId: 't1', status: 'working', ttl } } });
  expect(await prepared.onResponse?.(made)).toBe(made);
  await prepared.onEnd?.('ok');
  return prepared.body.messages[0]?.params['arguments'] as Record<'file' | 'out' | 'folder', string>;
}

async function work(paths: Record<'file' | 'out' | 'folder', string>): Promise<void> {
  await appendFile(paths.file, 'changed');
  await writeFile(paths.out, 'out');
  await mkdir(join(paths.folder, 'deep'));
  await writeFile(join(paths.folder, 'deep/a.txt'), 'a');
  await writeFile(join(paths.folder, 'b.txt'), 'b');
  await mkdir(join(files.root, 'own'));
  await writeFile(join(files.root, 'own/shot.txt'), 'shot');
}

interface Shown {
  readonly artifacts: readonly { readonly artifact_uri: string; readonly version?: number }[];
  readonly artifact_errors?: readonly { readonly code: string }[];
}

async function finished(step: RoleStep): Promise<Shown> {
  const left = await taskCall(files.store, session, 't1');
  if (left === undefined) throw new Error('nothing is kept of the call');
  const text = '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"See (shot.txt)"}]}}';
  const at = locate(text, ['result']) ?? { start: 0, end: 0 };
  const { caller, signal } = testCall('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work"}}', {
    mount: sampleMount(),
    store: files.store,
    record: session,
  });
  const { answer } = await step.finish({ caller, record: session, signal }, left, text, at);
  return (JSON.parse(textOf(answer)) as { result: { _meta: Shown } }).result._meta;
}

const artifacts = (): Promise<FileRecord[]> =>
  files.store.files.list(session, 'artifact', { now: Date.now(), ttlMs: null });

/** A replica that is asked for the result dies there: it goes no further, and its locks end. */
function dies(where: 'commit' | 'revise' | 'settle', turn: number, when: 'before' | 'after') {
  const dead = Promise.withResolvers<void>();
  const end = Promise.withResolvers<never>();
  let count = 0;
  const die = async <T>(step: () => Promise<T>): Promise<T> => {
    count += 1;
    if (count !== turn) return step();
    if (when === 'after') await step();
    dead.resolve();
    return end.promise;
  };
  const step = replica((store) => ({
    ...(where === 'commit' && { commit: (...args) => die(() => store.commit(...args)) }),
    ...(where === 'revise' && { revise: (...args) => die(() => store.revise(...args)) }),
    tryLock: (name, owner, ttlMs) => {
      const isOfTask = /^task-files:[\da-f-]{36}$/.test(name);
      const isOutcome = owner.includes('"by"');
      if (where === 'settle' && isOutcome) return die(() => store.tryLock(name, owner, ttlMs));
      return store.tryLock(name, owner, isOfTask || name.startsWith('edit:') ? 1 : ttlMs);
    },
  }));
  const running = finished(step).catch(() => undefined);
  buried = () => {
    end.reject(new AdapterError('storage_unavailable'));
    return running;
  };
  return dead.promise;
}

describe('a task whose files are kept by a replica that dies', () => {
  test.each([
    ['revise', 1, 'before'],
    ['revise', 1, 'after'],
    ['commit', 1, 'before'],
    ['commit', 1, 'after'],
    ['commit', 2, 'before'],
    ['commit', 2, 'after'],
    ['commit', 3, 'after'],
    ['commit', 4, 'before'],
    ['commit', 4, 'after'],
    ['settle', 1, 'before'],
    ['settle', 1, 'after'],
  ] as const)('%s %d, %s: each is kept once, and what is lost is told', async (where, turn, when) => {
    const file = await files.file(session, 'artifact', { sha256: null, toolName: 'work' });
    await work(await begun(file));
    await dies(where, turn, when);
    const [shown, again] = [await finished(replica()), await finished(replica())];
    expect(again).toEqual(shown);
    const told = shown.artifacts.map(({ artifact_uri: uri }) => uri.split('/').at(-2) ?? '');
    const kept = (await artifacts()).filter(({ fileId }) => fileId !== file.fileId || told.includes(fileId));
    expect(kept.map(({ fileId }) => fileId).toSorted()).toEqual(told.toSorted());
    // What had no record yet was moved to a place that nobody looks at.
    const lost = (where === 'revise' && when === 'before') || (where === 'commit' && turn === 2 && when === 'before');
    expect(told).toHaveLength(lost ? 4 : 5);
    expect(shown.artifact_errors === undefined).toBe(!lost);
    const changed = (await artifacts()).find(({ fileId }) => fileId === file.fileId);
    expect(changed?.version ?? 1).toBe(where === 'revise' && when === 'before' ? 1 : 2);
  });
});

test.each([
  [600_000, 600_000],
  [10, 60_000],
  [1e12, 86_400_000],
])('files of a task that is kept for %d ms are leased for %d, and go when nobody asks', async (ttl, leasedMs) => {
  const file = await files.file(session, 'artifact', { toolName: 'work' });
  await work(await begun(file, ttl));
  const expired = (now: number) =>
    files.store.files.expire({ now, uploadTtlMs: 1, artifactTtlMs: 1, limit: 10 }).then((gone) => gone.length);
  const now = Date.now();
  expect(await expired(now + leasedMs)).toBe(0);
  expect(await expired(now + leasedMs + 62_000)).toBe(4);
});

test('a file that a task has used is free when it has ended, and what is kept is told once', async () => {
  const file = await files.file(session, 'artifact', { toolName: 'work' });
  await work(await begun(file));
  await Promise.all([0, 1, 2].map(() => finished(replica())));
  expect(telemetry.of('artifact')).toHaveLength(5);
  const now = Date.now();
  const gone = await files.store.files.expire({ now: now + 2, uploadTtlMs: 1, artifactTtlMs: 1, limit: 10 });
  expect(gone).toHaveLength(5);
});
