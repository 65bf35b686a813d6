import { link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { ArtifactProducer } from '../../crds/config/adapter-file/entry.ts';
import { Artifacts } from '../../crds/config/adapter-file/artifacts.ts';
import { knownError } from '../errors.ts';
import { textOf, wholeAnswer } from '../exchange/testing/whole-answer.ts';
import { FileStore } from '../files/store/file-store.ts';
import { StorageFault } from '../files/keys/file-key.ts';
import { ProcessLocks } from '../files/locks/process-lock.ts';
import { Quotas, type QuotaLimits } from '../files/store/quotas.ts';
import type { BlobStore } from '../files/s3/blob-store.ts';
import { fileRecord, newId, type StoredFiles, storedFiles } from '../files/testing/stored-files.ts';
import { AFTER_LIMIT_MS } from '../limits.ts';
import { type FileRecord, MAX_SESSION_FILES } from '../state/file-records.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import { artifactProducer } from './artifact-producer.ts';
import { taskCall } from './task-calls.ts';
import type { Mount } from '../mount/mount.ts';
import type { ProducerOptions } from './producer-settings.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { testCall } from '../gateway/testing/test-client.ts';
import type { PreparedCall, ToolCall, ToolStep } from '../tools/visible/tool-step.ts';

const PNG = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  Buffer.from(Array.from({ length: 300 }, (_, i) => i)),
]);

type Forwarded = Extract<PreparedCall, { kind: 'forward' }>;

let files: StoredFiles;
let session: SessionRecord;
let mount: Mount;
let changedLists: string[];
let warnings: string[];
let unexpected: unknown[];
let telemetry: RecordingTelemetry;

beforeEach(async () => {
  files = await storedFiles();
  session = await files.session();
  mount = sampleMount();
  changedLists = [];
  warnings = [];
  unexpected = [];
  telemetry = new RecordingTelemetry();
});
afterEach(async () => {
  vi.useRealTimers();
  expect(unexpected).toEqual([]);
  await files[Symbol.asyncDispose]();
});

interface Setup {
  readonly entry?: object;
  readonly artifacts?: object;
  readonly limits?: Partial<QuotaLimits>;
  readonly options?: Partial<ProducerOptions>;
}

function producer({ entry, artifacts, limits, options }: Setup = {}): ToolStep | undefined {
  const { store, bytes } = files;
  const quotas = new Quotas({
    records: store.files,
    files: bytes,
    limits: { maxTotal: null, maxSession: null, evictFirst: 'upload', ...limits },
    times: { uploadTtlMs: null, artifactTtlMs: null },
    clock: Date.now,
  });
  return artifactProducer(ArtifactProducer.parse({ type: 'artifact_producer', tools: ['shoot'], ...entry }), {
    serverId: 's1',
    artifacts: Artifacts.parse({ ...artifacts }),
    allowRawOutput: false,
    records: store.files,
    files: bytes,
    quotas,
    locks: new ProcessLocks(),
    telemetry,
    downloadUrl: undefined,
    onListChanged: ({ sessionId }) => void changedLists.push(sessionId),
    warn: (message) => void warnings.push(message),
    locksOfCalls: store,
    known: (error) => knownError(error, (one) => void unexpected.push(one)),
    ...options,
  });
}

function call(args: object | undefined, changes: Partial<ToolCall> = {}): ToolCall {
  const params = { name: 'shoot', ...(args === undefined ? {} : { arguments: args }) };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return { ...testCall(text, { mount, store: files.store, record: session }), ...changes };
}

async function prepare(setup: Setup, one: ToolCall = call({ filename: 'shot.png' })): Promise<Forwarded> {
  const prepared = await producer(setup)?.prepare(one);
  if (prepared?.kind !== 'forward') throw new Error(`not forwarded: ${JSON.stringify(prepared)}`);
  return prepared;
}

const message = (result: string | object): string =>
  `{"jsonrpc":"2.0","id":1,"result":${typeof result === 'string' ? result : JSON.stringify(result)}}`;
const OK = { content: [{ type: 'text', text: 'done' }] };

/** What the tool got as its output path. */
function pathIn(prepared: Forwarded): string {
  const { params } = JSON.parse(prepared.body.text) as { params: { arguments: { filename: string } } };
  return params.arguments.filename;
}

interface Shown {
  readonly content: Record<string, unknown>[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly _meta?: { artifact?: Record<string, unknown>; artifact_error?: { code: string; detail: string } };
}

/** The result that the client gets for what the tool answered, after the exchange has ended well. */
async function finish(prepared: Forwarded, result: string | object = OK): Promise<Shown> {
  const text = await wholeAnswer(await prepared.onResponse?.(message(result)));
  await prepared.onEnd?.('ok');
  return (JSON.parse(text) as { result: Shown }).result;
}

const artifacts = (): Promise<FileRecord[]> =>
  files.store.files.list(session, 'artifact', { now: Date.now(), ttlMs: null });

/** Nothing is left: no record, no bytes, nothing that counts. */
async function expectNothingLeft(): Promise<void> {
  expect((await files.store.files.totals()).artifacts).toEqual({ count: 0, bytes: 0 });
  const folder = join(files.root, 'artifacts', 'sessions', session.sessionId);
  expect(await readdir(folder).catch(() => [])).toEqual([]);
  const left = await files.store.files.purge(session);
  expect(left.filter(({ kind }) => kind === 'artifact')).toEqual([]);
}

const GIVEN = { output_path_argument: 'filename' };
const REGEX = { output_locator: { mode: 'regex' } };

describe('a tool that is told where to write', () => {
  test.each([60_000, null])(
    'goes on writing when its call is taken up again elsewhere (limit: %s)',
    async (timeoutMs) => {
      const one = call({ filename: 'a.txt' }, { timeoutMs });
      const prepared = await prepare({ entry: GIVEN }, one);
      const path = pathIn(prepared);
      await prepared.onEnd?.('ok', true);
      await writeFile(path, 'late');
      const now = Date.now();
      const expire = (at: number): Promise<FileRecord[]> =>
        files.store.files.expire({ now: at, uploadTtlMs: null, artifactTtlMs: null, limit: 10 });
      expect(await expire(now + 110_000)).toEqual([]);
      expect(await expire(now + 3_600_000)).toMatchObject([{ kind: 'artifact', state: 'pending' }]);
    },
  );

  test('gets a path in the folder of its session, with the name that the client wants, and its file is named in the result', async () => {
    const prepared = await prepare({ entry: GIVEN }, call({ filename: '../other/my shot.png', full: true }));
    const path = pathIn(prepared);
    expect(path).toMatch(
      new RegExp(`^${files.root}/artifacts/sessions/${session.sessionId}/[0-9a-f]{32}/my_shot\\.png$`),
    );
    expect(JSON.parse(prepared.body.text)).toMatchObject({ params: { name: 'shoot', arguments: { full: true } } });
    await writeFile(path, PNG);
    const inode = (await stat(path)).ino;
    const shown = await finish(prepared, '{"content":[{"type":"text","text":"done"}],"big":12345678901234567890}');
    const id = path.split('/').at(-2);
    expect(telemetry.of('artifact')).toEqual([{ serverId: 's1', bytes: PNG.length }]);
    const uri = `artifact://sessions/${session.sessionId}/${id}/my_shot.png`;
    expect(shown).toEqual({
      content: [
        { type: 'text', text: 'done' },
        {
          type: 'resource_link',
          uri,
          name: 'my_shot.png',
          description: 'File that the tool shoot produced',
          mimeType: 'image/png',
          size: PNG.length,
        },
      ],
      big: Number('12345678901234567890'),
      _meta: {
        artifact: {
          artifact_uri: uri,
          artifact_id: id,
          filename: 'my_shot.png',
          mime_type: 'image/png',
          size_bytes: PNG.length,
          expose_as_resource: true,
        },
      },
    });
    expect(await artifacts()).toMatchObject([
      {
        fileId: id,
        filename: 'my_shot.png',
        mimeType: 'image/png',
        sizeBytes: PNG.length,
        toolName: 'shoot',
        exposed: true,
      },
    ]);
    expect((await stat(path)).ino).toBe(inode);
    expect(changedLists).toEqual([session.sessionId]);
  });

  test('keeps digits that no number holds, in the call and in the result', async () => {
    const one = call({ filename: 'a.txt' });
    const text = one.body.text.replace('"filename"', '"seed":12345678901234567890,"filename"');
    const prepared = await prepare({ entry: GIVEN }, { ...one, body: { ...one.body, text, bytes: Buffer.from(text) } });
    expect(prepared.body.text).toContain('"seed":12345678901234567890');
    await writeFile(pathIn(prepared), 'x');
    const answer = await wholeAnswer(await prepared.onResponse?.(message('{"content":[],"n":12345678901234567890}')));
    expect(answer).toContain('"n":12345678901234567890');
    await prepared.onEnd?.('ok');
  });

  test.each([
    [{}, /\/artifact-[0-9a-f]{32}$/],
    [{ filename: '  ' }, /\/artifact-[0-9a-f]{32}$/],
    [{ filename: 7 }, /\/artifact-[0-9a-f]{32}$/],
    [{ filename: 'C:\\shots\\a.png' }, /\/a\.png$/],
    [undefined, /\/artifact-[0-9a-f]{32}$/],
  ])('gets a name where the client gives none that is one: %j', async (args, expected) => {
    const prepared = await prepare({ entry: GIVEN }, call(args));
    expect(pathIn(prepared)).toMatch(expected);
    await prepared.onEnd?.('ok');
    await expectNothingLeft();
  });

  test('has its file called by what it is, where the name says nothing', async () => {
    const prepared = await prepare({ entry: GIVEN }, call({ filename: 'shot' }));
    await writeFile(pathIn(prepared), PNG);
    expect((await finish(prepared))._meta?.artifact).toMatchObject({ filename: 'shot.png', mime_type: 'image/png' });
    expect(await readFile(`${pathIn(prepared)}.png`)).toEqual(PNG);
  });

  test('may choose another extension or name, and what else it left is removed', async () => {
    const prepared = await prepare({ entry: GIVEN }, call({ filename: 'shot.jpg' }));
    const folder = dirname(pathIn(prepared));
    await writeFile(join(folder, 'shot.png'), PNG);
    await writeFile(join(folder, 'newer.log'), 'log');
    await mkdir(join(folder, 'cache'));
    expect((await finish(prepared))._meta?.artifact).toMatchObject({ filename: 'shot.png' });
    expect(await readdir(folder)).toEqual(['shot.png']);
  });

  test('may have named its file by a name that is not safe', async () => {
    const prepared = await prepare({ entry: GIVEN }, call({ filename: 'shot' }));
    await writeFile(join(dirname(pathIn(prepared)), '.ünsafe name'), PNG);
    expect((await finish(prepared))._meta?.artifact).toMatchObject({ filename: 'nsafe_name.png' });
  });

  test.each<[string, object, object, string]>([
    [
      'as the locator says',
      { mode: 'structured', output_path_key: 'at' },
      { structuredContent: { at: 'FILE' } },
      'made.txt',
    ],
    ['in its text', { mode: 'regex' }, { content: [{ type: 'text', text: 'Wrote FILE.' }] }, 'made.txt'],
    ['anywhere in its structured content', { mode: 'regex' }, { structuredContent: [{ x: 'FILE' }] }, 'made.txt'],
  ])('may write elsewhere, and say so %s', async (_name, locator, result, _file) => {
    const other = await files.file(session, 'upload', { filename: 'made.txt', sizeBytes: 5 });
    const prepared = await prepare({ entry: { ...GIVEN, output_locator: locator } }, call({ filename: 'wanted.txt' }));
    const text = JSON.stringify({ content: [], ...result }).replaceAll('FILE', files.pathOf(other));
    await symlink(files.pathOf(other), pathIn(prepared));
    await writeFile(join(dirname(pathIn(prepared)), 'more'), 'more');
    expect((await finish(prepared, text))._meta?.artifact).toMatchObject({ filename: 'wanted.txt', size_bytes: 5 });
    expect(await readdir(dirname(pathIn(prepared)))).toEqual(['wanted.txt']);
    // It was copied, never moved.
    expect(await readFile(files.pathOf(other), 'utf8')).toBe('xxxxx');
    expect(await readFile(pathIn(prepared), 'utf8')).toBe('xxxxx');
  });

  test('may put its file into the result', async () => {
    const prepared = await prepare(
      { entry: { ...GIVEN, output_locator: { mode: 'embedded' } } },
      call({ filename: 'a' }),
    );
    const content = [{ type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' }];
    expect((await finish(prepared, { content }))._meta?.artifact).toMatchObject({ filename: 'a.png' });
    expect(await readFile(`${pathIn(prepared)}.png`)).toEqual(PNG);
  });

  test('is believed only about that place in mode none', async () => {
    const other = await files.file(session, 'upload');
    const prepared = await prepare({ entry: GIVEN });
    const result = {
      content: [{ type: 'image', data: PNG.toString('base64') }],
      structuredContent: [files.pathOf(other)],
    };
    expect(await finish(prepared, result)).toEqual(result);
    await expectNothingLeft();
  });
});

describe('a tool that is not told where to write', () => {
  test('has its file copied from where its text says', async () => {
    const made = await files.file(session, 'artifact', { filename: 'report.txt', sizeBytes: 9 });
    const prepared = await prepare({ entry: REGEX }, call({ a: 1 }));
    expect(prepared.body.text).toBe(call({ a: 1 }).body.text);
    const gone = files.pathOf(made).replace('report', 'gone');
    const shown = await finish(prepared, { content: [{ type: 'text', text: `${gone} or ${files.pathOf(made)}` }] });
    expect(shown._meta?.artifact).toMatchObject({ filename: 'report.txt', mime_type: 'text/plain', size_bytes: 9 });
    expect(shown._meta?.artifact?.['artifact_id']).not.toBe(made.fileId);
  });

  test.each<[string, object, object]>([
    [
      'an image',
      { type: 'image', data: PNG.toString('base64'), mimeType: 'image/jpeg' },
      { filename: 'artifact.png', mime_type: 'image/png' },
    ],
    [
      'audio',
      { type: 'audio', data: 'AAAA', mimeType: 'audio/mpeg' },
      { filename: 'artifact.mp3', mime_type: 'audio/mpeg' },
    ],
    [
      'a resource',
      { type: 'resource', resource: { uri: 'file:///x/a%20b.csv', text: '1,2' } },
      { filename: 'a_b.csv', mime_type: 'text/csv' },
    ],
    [
      'bytes',
      { type: 'resource', resource: { uri: 'x:', blob: 'AAAA' } },
      { filename: 'artifact.bin', mime_type: 'application/octet-stream' },
    ],
  ])('has %s of its result kept in mode embedded', async (_name, block, expected) => {
    const prepared = await prepare({ entry: { output_locator: { mode: 'embedded' } } });
    expect((await finish(prepared, { content: [block] }))._meta?.artifact).toMatchObject(expected);
  });

  test('has nothing of its result kept in another mode', async () => {
    const prepared = await prepare({ entry: REGEX });
    const content = [{ type: 'image', data: PNG.toString('base64') }];
    const shown = await finish(prepared, { content });
    expect(shown).toEqual({
      content,
      _meta: { artifact_error: { code: 'artifact_not_captured', detail: 'No file of the tool was found.' } },
    });
    await expectNothingLeft();
  });
});

describe('what a tool names', () => {
  test('is not taken when it is not this session’s, a link, or no file', async () => {
    const other = await files.file(await files.session(), 'artifact', { filename: 'other.txt' });
    const own = dirname(files.pathOf(await files.file(session, 'upload')));
    await symlink('/etc/hostname', join(own, 'link'));
    await link(files.pathOf(other), join(own, 'hard'));
    await mkdir(join(own, 'folder'));
    await writeFile(join(files.root, 'state.sqlite3'), 'state');
    const names = [
      files.pathOf(other),
      join(own, 'link'),
      join(own, 'hard'),
      join(own, 'folder'),
      join(own, '../../../../state.sqlite3'),
      join(files.root, 'state.sqlite3'),
      '/etc/hostname',
      '/proc/self/environ',
      '/dev/zero',
    ];
    for (const name of names) {
      const prepared = await prepare({ entry: REGEX });
      const shown = await finish(prepared, { content: [{ type: 'text', text: `saved to ${name}` }] });
      expect([name, shown._meta]).toEqual([
        name,
        { artifact_error: { code: 'artifact_not_captured', detail: 'No file of the tool was found.' } },
      ]);
    }
    expect(await artifacts()).toEqual([]);
  });

  test('is not taken when a link lies at the place that the tool was given', async () => {
    const prepared = await prepare({ entry: GIVEN });
    await symlink('/etc/hostname', pathIn(prepared));
    expect((await finish(prepared))._meta).toBeUndefined();
    await expectNothingLeft();
    expect((await stat('/etc/hostname')).isFile()).toBe(true);
  });
});

describe('nothing is kept', () => {
  const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}';

  test.each([
    ['an error', error],
    ['an error result', message({ ...OK, isError: true })],
    ['no JSON', 'oops'],
    ['a result that is no object', message('5')],
  ])('when the tool answers with %s, which passes as it is', async (_name, text) => {
    const prepared = await prepare({ entry: GIVEN });
    await writeFile(pathIn(prepared), PNG);
    expect(await prepared.onResponse?.(text)).toBe(text);
    await prepared.onEnd?.('ok');
    await expectNothingLeft();
  });

  test.each(['timeout', 'client_closed', 'upstream_broke'] as const)(
    'of a call that ended with %s',
    async (outcome) => {
      const prepared = await prepare({ entry: GIVEN });
      await writeFile(pathIn(prepared), PNG);
      await prepared.onEnd?.(outcome);
      await prepared.onEnd?.(outcome);
      await expectNothingLeft();
    },
  );

  test('when the call ends while the file is being kept', async () => {
    const locks = new ProcessLocks();
    const prepared = await prepare({ entry: GIVEN, options: { locks } });
    const path = pathIn(prepared);
    await writeFile(path, PNG);
    const [, , id] = path.split('/').toReversed();
    const release = Promise.withResolvers<void>();
    const name = `artifact/${session.sessionId}/${path.split('/').at(-2)}`;
    expect(id).toBe(session.sessionId);
    const held = locks.hold(name, () => release.promise);
    const answer = prepared.onResponse?.(message(OK));
    await prepared.onEnd?.('client_closed');
    release.resolve();
    await held;
    expect(await answer).toBe(message(OK));
    await expectNothingLeft();
    expect(changedLists).toEqual([]);
  });

  test('when the session ends meanwhile', async () => {
    const prepared = await prepare({ entry: GIVEN });
    await writeFile(pathIn(prepared), PNG);
    await files.store.remove(session);
    expect((await finish(prepared))._meta?.artifact_error?.code).toBe('session_ended');
    await expectNothingLeft();
  });
});

describe('a task', () => {
  const MADE = '{"jsonrpc":"2.0","id":7,"result":{"task":{"taskId":"t1","status":"working","ttl":600000}}}';
  const asTask = () => {
    const one = call({ filename: '/etc/passwd' });
    return { ...one, request: { ...one.request, params: { ...one.request.params, task: { ttl: 600_000 } } } };
  };
  const finished = async (text: string, record = session) => {
    const step = producer({ entry: GIVEN });
    const left = await taskCall(files.store, session, 't1');
    if (left === undefined || step?.finish === undefined) throw new Error('nothing is kept of the call');
    const at = locate(text, ['result']);
    if (at === undefined) throw new Error('no result');
    const { caller, signal } = call({});
    return step.finish({ caller, record, signal }, left, text, at);
  };

  test('is told where to write, and its file is an artifact once its result is asked for', async () => {
    const prepared = await prepare({ entry: GIVEN }, asTask());
    expect(pathIn(prepared)).toContain('passwd');
    expect(pathIn(prepared)).not.toContain('/etc');
    expect(await prepared.onResponse?.(MADE)).toBe(MADE);
    await prepared.onEnd?.('ok');
    await writeFile(pathIn(prepared), PNG);
    const answers = await Promise.all([1, 2, 3].map(() => finished(message(OK))));
    const artifacts = answers.map(
      ({ answer }) =>
        (JSON.parse(textOf(answer)) as { result: { _meta?: { artifact?: object } } }).result._meta?.artifact,
    );
    expect(artifacts[0]).toMatchObject({ size_bytes: PNG.length });
    expect(artifacts[1]).toEqual(artifacts[0]);
    expect(artifacts[2]).toEqual(artifacts[0]);
    for (const { isKept, end } of answers) {
      expect(isKept).toBe(true);
      await end();
    }
    expect(await files.store.files.totals()).toMatchObject({ artifacts: { count: 1 } });
  });

  test('that has written nothing leaves nothing', async () => {
    const prepared = await prepare({ entry: GIVEN }, asTask());
    await prepared.onResponse?.(MADE);
    await prepared.onEnd?.('ok');
    const { answer, isKept } = await finished(message(OK));
    expect([textOf(answer).includes('artifact_uri'), isKept]).toEqual([false, false]);
    await expectNothingLeft();
  });
});

describe('a pending file', () => {
  test('outlives a cleanup for as long as the call may take, and counts', async () => {
    const prepared = await prepare({ entry: GIVEN }, call({}, { timeoutMs: 600_000 }));
    const expire = (now: number): Promise<FileRecord[]> =>
      files.store.files.expire({ now, uploadTtlMs: 1, artifactTtlMs: 1, limit: 10 });
    expect(await expire(Date.now() + 650_000)).toEqual([]);
    expect(await expire(Date.now() + 670_000)).toHaveLength(1);
    await prepared.onEnd?.('ok');
  });

  test('is kept as long as the call takes, where that has no limit', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
    const prepared = await prepare({ entry: GIVEN }, call({}, { timeoutMs: null }));
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(await files.store.files.expire({ now: Date.now(), uploadTtlMs: 1, artifactTtlMs: 1, limit: 10 })).toEqual(
      [],
    );
    await prepared.onEnd?.('ok');
    expect(vi.getTimerCount()).toBe(0);
    await expectNothingLeft();
  });
});

describe('a file that takes long to be kept', () => {
  /** Object storage that is done when `until` is. */
  const slowly = (until: Promise<unknown>, onPut: () => void): BlobStore => ({
    put: async (_file, _source, signal) => {
      const aborted = Promise.withResolvers<never>();
      signal?.addEventListener('abort', () => aborted.reject(signal.reason));
      onPut();
      await Promise.race([until, aborted.promise]);
    },
    url: () => Promise.reject(new Error('not asked for')),
    get: () => Promise.reject(new Error('not asked for')),
    has: async () => true,
    remove: async () => undefined,
    items: () => expect.unreachable(),
    check: async () => undefined,
    close: () => undefined,
  });

  /** What the client gets of a tool that has answered within its last second; the file is being copied. */
  async function begin(until: Promise<unknown>): Promise<{ shown: Promise<Shown> }> {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const { stage, store } = files;
    const begun = Promise.withResolvers<void>();
    const second = slowly(until, begun.resolve);
    const bytes = new FileStore({
      stage,
      blobStore: second,
      records: store.files,
      telemetry,
      onError: () => undefined,
    });
    const prepared = await prepare({ entry: GIVEN, options: { files: bytes } });
    await writeFile(pathIn(prepared), PNG);
    vi.advanceTimersByTime(59_000);
    const shown = finish(prepared);
    await begun.promise;
    return { shown };
  }

  test('is an artifact also when the time of the tool is over meanwhile', async () => {
    const copied = Promise.withResolvers<void>();
    const { shown } = await begin(copied.promise);
    vi.advanceTimersByTime(1_000 + AFTER_LIMIT_MS - 10_000);
    copied.resolve();
    expect((await shown)._meta?.artifact).toMatchObject({ size_bytes: PNG.length });
    expect(await artifacts()).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is given up before the exchange is: the tool has succeeded, and its result says what is missing', async () => {
    const { shown } = await begin(new Promise(() => undefined));
    vi.advanceTimersByTime(1_000 + AFTER_LIMIT_MS - 1);
    const { content, isError, _meta } = await shown;
    expect([content, isError]).toEqual([OK.content, undefined]);
    expect(_meta?.artifact_error).toEqual({
      code: 'storage_unavailable',
      detail: 'It took too long to keep the file of the tool.',
    });
    await expectNothingLeft();
  });
});

describe('limits', () => {
  test('artifacts.max_per_session refuses before the tool is called, pending ones included', async () => {
    const step = producer({ entry: GIVEN, artifacts: { max_per_session: 1 } });
    const first = await step?.prepare(call({}));
    const second = await step?.prepare(call({}));
    if (second?.kind !== 'result') throw new Error('not refused');
    const result: unknown = JSON.parse(textOf(second.result));
    const text = expect.stringMatching(/^The session has 1 artifacts/) as string;
    expect(result).toEqual({
      content: [{ type: 'text', text }],
      isError: true,
      _meta: { artifact_error: { code: 'artifact_limit', detail: text } },
    });
    expect(telemetry.of('artifactFailed')).toEqual([{ serverId: 's1', reason: 'artifact_limit' }]);
    if (first?.kind === 'forward') await first.onEnd?.('ok');
    expect((await step?.prepare(call({})))?.kind).toBe('forward');
  });

  test('a session that is full of files of any kind refuses with words of its own, whatever max_per_session says', async () => {
    const { serverId, sessionId } = session;
    const leaseUntil = Date.now() + 60_000;
    const many = Array.from({ length: MAX_SESSION_FILES }, () =>
      fileRecord({ serverId, sessionId, state: 'pending', sizeBytes: 0, leaseUntil }),
    );
    await files.store.files.begin(many, { now: Date.now(), maxArtifacts: null });
    for (const max_per_session of [null, 5]) {
      const prepared = await producer({ entry: GIVEN, artifacts: { max_per_session } })?.prepare(call({}));
      if (prepared?.kind !== 'result') throw new Error('not refused');
      const text = expect.stringMatching(/^The session has 10000 files.* was not called/) as string;
      const result: unknown = JSON.parse(textOf(prepared.result));
      expect(result).toMatchObject({
        isError: true,
        _meta: { artifact_error: { code: 'session_quota', detail: text } },
      });
    }
    expect(telemetry.of('artifactFailed').map(({ reason }) => reason)).toEqual(['session_quota', 'session_quota']);
  });

  test('a quota that cannot be met makes the result an error that says so first, with what the tool said', async () => {
    for (const limits of [{ maxSession: 100 }, { maxTotal: 100 }]) {
      const prepared = await prepare({ entry: GIVEN, limits });
      await writeFile(pathIn(prepared), PNG);
      const code = limits.maxTotal === undefined ? 'session_quota' : 'storage_quota';
      const shown = await finish(prepared);
      expect(shown).toMatchObject({ isError: true, _meta: { artifact_error: { code } } });
      expect(telemetry.of('artifactFailed').at(-1)).toEqual({ serverId: 's1', reason: code });
      expect(shown.content).toHaveLength(2);
      expect(shown.content[0]?.['text']).toMatch(/space.*not kept\.$/);
      expect(shown.content[1]).toEqual(OK.content[0]);
      await expectNothingLeft();
    }
  });

  test('a disk that is full is told as a quota, and any other fault as what it is', async () => {
    for (const [fault, code, count] of [
      ['ENOSPC', 'storage_quota', 0],
      ['EIO', 'storage_unavailable', 1],
    ] as const) {
      const quotas = { reserve: async (): Promise<void> => Promise.reject(new StorageFault(fault, 'the disk')) };
      const prepared = await prepare({ entry: GIVEN, options: { quotas: quotas as unknown as Quotas } });
      await writeFile(pathIn(prepared), PNG);
      const shown = await finish(prepared);
      expect(shown._meta?.artifact_error?.code).toBe(code);
      expect(shown.isError).toBe(fault === 'ENOSPC' ? true : undefined);
      expect(unexpected.splice(0)).toHaveLength(count);
      await expectNothingLeft();
    }
  });

  test('files of the session that nobody uses make room', async () => {
    const old = await files.file(session, 'upload', { sizeBytes: 300 });
    const prepared = await prepare({ entry: GIVEN, limits: { maxSession: 400 } });
    await writeFile(pathIn(prepared), PNG);
    expect((await finish(prepared))._meta?.artifact).toBeDefined();
    await expect(stat(files.pathOf(old))).rejects.toThrow('ENOENT');
  });

  test('a call in a session that is gone fails', async () => {
    await files.store.remove(session);
    const prepared = await producer({ entry: GIVEN })?.prepare(call({}));
    expect(prepared).toMatchObject({ kind: 'error', error: { code: 'session_not_found' } });
  });
});

describe('settings', () => {
  test.each<[string, Setup]>([
    ['artifacts.enabled is false', { entry: GIVEN, artifacts: { enabled: false } }],
    ['persist is false', { entry: { ...GIVEN, persist: false } }],
    ['nothing says where the file is', {}],
  ])('calls pass when %s', (_name, setup) => {
    expect(producer(setup)).toBeUndefined();
  });

  test.each([
    [{ expose_as_resources: false }, {}, false],
    [{}, { expose_as_resource: false }, false],
    [{}, {}, true],
    [{ expose_as_resources: false }, { expose_as_resource: true }, true],
    [{}, { expose_as_resource: null }, true],
  ])('artifacts are offered as resources with %j and %j: %j', async (section, entry, exposed) => {
    const prepared = await prepare({ artifacts: section, entry: { ...GIVEN, ...entry } });
    await writeFile(pathIn(prepared), PNG);
    const shown = await finish(prepared);
    expect(shown._meta?.artifact?.['expose_as_resource']).toBe(exposed);
    expect(shown.content.some(({ type }) => type === 'resource_link')).toBe(exposed);
    expect(changedLists).toHaveLength(exposed ? 1 : 0);
    expect(await artifacts()).toMatchObject([{ exposed }]);
  });

  test('artifacts.uri_scheme begins the URI', async () => {
    const prepared = await prepare({ entry: GIVEN, artifacts: { uri_scheme: 'files+x://' } });
    await writeFile(pathIn(prepared), PNG);
    expect((await finish(prepared))._meta?.artifact?.['artifact_uri']).toMatch(/^files\+x:\/\/sessions\//);
  });

  test('clients of revisions without resource links get none', async () => {
    session = await files.session({ protocolVersion: '2025-03-26' });
    const prepared = await prepare({ entry: GIVEN });
    await writeFile(pathIn(prepared), PNG);
    expect((await finish(prepared)).content).toEqual(OK.content);
  });

  test('downloads add the URL, once', async () => {
    const url = 'https://adapter/artifacts/x?a=1&b="2"';
    const options = { downloadUrl: async () => url };
    const prepared = await prepare({ entry: GIVEN, options });
    await writeFile(pathIn(prepared), PNG);
    const shown = await finish(prepared);
    expect(shown._meta?.artifact?.['download_url']).toBe(url);
    expect(shown.content.at(-1)).toEqual({ type: 'text', text: `Download shot.png: ${url}\n[shot.png](${url})` });
    const again = await prepare({ entry: GIVEN, options });
    await writeFile(pathIn(again), PNG);
    expect((await finish(again, { content: [{ type: 'text', text: `see ${url}` }] })).content).toHaveLength(2);
  });

  test('an artifact is there without its URL when that cannot be made', async () => {
    const options = { downloadUrl: async (): Promise<string> => Promise.reject(new Error('no presigning')) };
    const prepared = await prepare({ entry: GIVEN, options });
    await writeFile(pathIn(prepared), PNG);
    expect((await finish(prepared))._meta?.artifact).not.toHaveProperty('download_url');
    expect(unexpected.splice(0)).toHaveLength(1);
  });

  test.each<[boolean | null, boolean | null, boolean, boolean]>([
    [true, false, false, true],
    [false, true, true, false],
    [null, true, false, true],
    [null, false, true, false],
    [null, null, true, true],
    [null, null, false, false],
  ])('allow_raw_output %j, overrides %j, server %j: raw output %j', async (own, override, server, expected) => {
    const entry = { ...GIVEN, allow_raw_output: own, overrides: { allow_raw_output: override } };
    const prepared = await prepare({ entry, options: { allowRawOutput: server } });
    await writeFile(pathIn(prepared), PNG);
    expect((await finish(prepared)).content.some(({ type }) => type === 'image')).toBe(expected);
  });
});

describe('raw output', () => {
  const entry = { ...GIVEN, allow_raw_output: true };

  async function raw(name: string, bytes: Buffer, result: string | object = OK): Promise<Shown> {
    const prepared = await prepare({ entry }, call({ filename: name }));
    await writeFile(pathIn(prepared), bytes);
    return finish(prepared, result);
  }

  test('is an image block for images', async () => {
    const { content } = await raw('a.png', PNG, '{"content":[],"n":12345678901234567890}');
    expect(content[0]).toEqual({
      type: 'image',
      data: PNG.toString('base64'),
      mimeType: 'image/png',
      _meta: { size_bytes: PNG.length },
    });
  });

  test('is text for text, and a blob for text that is no UTF-8', async () => {
    const plain = await raw('a.txt', Buffer.from('"Grüße"\n\0😀'));
    expect(plain.content[1]).toEqual({
      type: 'resource',
      resource: { uri: plain._meta?.artifact?.['artifact_uri'], mimeType: 'text/plain', text: '"Grüße"\n\0😀' },
    });
    const latin1 = Buffer.from('Grüße', 'latin1');
    const { content, _meta } = await raw('a.txt', latin1);
    expect(content[1]).toEqual({
      type: 'resource',
      resource: {
        uri: _meta?.artifact?.['artifact_uri'],
        mimeType: 'text/plain',
        blob: latin1.toString('base64'),
      },
    });
  });

  test('is a blob for all else, of any size', async () => {
    const bytes = Buffer.alloc(1_000_001, 'abc\0');
    const { content } = await raw('a.bin', bytes);
    const { resource } = content[1] as { resource: { blob: string; mimeType: string } };
    expect(resource.mimeType).toBe('application/octet-stream');
    expect(Buffer.from(resource.blob, 'base64').equals(bytes)).toBe(true);
  });

  test('is not left open when nobody reads it', async () => {
    const prepared = await prepare({ entry });
    await writeFile(pathIn(prepared), PNG);
    const before = (await readdir('/proc/self/fd')).length;
    await prepared.onResponse?.(message(OK));
    await prepared.onEnd?.('client_closed');
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before);
    // It was an artifact already.
    expect(await artifacts()).toHaveLength(1);
  });
});

test('an id that is no id of a session never gets a folder', async () => {
  const prepared = await producer({ entry: GIVEN })?.prepare(call({}, { record: { ...session, sessionId: newId() } }));
  expect(prepared?.kind).toBe('error');
});
