import { hash } from 'node:crypto';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { AccessConfig } from '../../crds/config/adapter-file/access.ts';
import { AccessRules } from '../access/access-rules.ts';
import { parseArtifactUri } from '../artifacts/artifact-uri.ts';
import { textOf } from '../exchange/testing/whole-answer.ts';
import { type FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import { DiskStagingArea } from '../files/disk/disk-staging-area.ts';
import { ProcessLocks } from '../files/locks/process-lock.ts';
import { FileStore } from '../files/store/file-store.ts';
import { Quotas } from '../files/store/quotas.ts';
import { newId, type StoredFiles, storedFiles } from '../files/testing/stored-files.ts';
import { Uploads } from '../files/uploads/uploads.ts';
import { ANYBODY } from '../identity/identity.ts';
import { type FileRecord, MAX_SESSION_FILES } from '../state/file-records.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { Mount } from '../mount/mount.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { testCall } from '../gateway/testing/test-client.ts';
import { ToolSchemas } from '../tools/visible/tool-schemas.ts';
import type { PreparedCall, ToolCall } from '../tools/visible/tool-step.ts';
import { type ConsumerOptions, UploadConsumer } from './upload-consumer.ts';

const TTL_MS = 120_000;
const URL_CLIENT = JSON.stringify({ capabilities: { elicitation: { form: {}, url: {} } } });

let files: StoredFiles;
let session: SessionRecord;
let mount: Mount;

beforeEach(async () => {
  files = await storedFiles();
  session = await files.session();
  mount = sampleMount();
});
afterEach(async () => {
  vi.useRealTimers();
  await files[Symbol.asyncDispose]();
});

const uploads = (maxSession: number | null = null): Uploads => {
  const records = files.store.files;
  const limits = { maxTotal: null, maxSession, evictFirst: 'upload' as const };
  const times = { uploadTtlMs: TTL_MS, artifactTtlMs: null };
  const clock = (): number => Date.now();
  const quotas = new Quotas({ records, files: files.bytes, limits, times, clock });
  const locks = new ProcessLocks();
  return new Uploads({ records, files: files.bytes, quotas, locks, maxFileBytes: 1000, requireSha256: false, clock });
};

const consumer = (changes: Partial<ConsumerOptions> = {}): UploadConsumer =>
  new UploadConsumer({
    serverId: 's1',
    path: ['file'],
    uriScheme: 'upload://',
    passAs: 'path',
    urlTtlSeconds: 900,
    enabled: true,
    ttlMs: TTL_MS,
    helper: 's1_get_upload_url',
    records: files.store.files,
    files: files.bytes,
    schemas: new ToolSchemas(),
    maxFileBytes: 1000,
    accept: null,
    uploads: {
      stage: (request) => uploads().stage(request),
      async remove(staged) {
        for (const file of staged) await files.store.files.remove(file);
        await files.bytes.discard(staged, 'failed');
      },
    },
    mayUse: async ({ record }, sessionId) => sessionId === record.sessionId,
    offer: async (_call, elicitationId) => ({ url: `https://adapter/upload?${elicitationId}` }),
    question: undefined,
    ...changes,
  });

function call(args: string, changes: Partial<ToolCall> = {}): ToolCall {
  const text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t", "arguments":${args}}}`;
  return { ...testCall(text, { mount, store: files.store, record: session }), timeoutMs: 10_000, ...changes };
}

const handle = ({ sessionId, fileId }: Pick<FileRecord, 'sessionId' | 'fileId'>): string =>
  `upload://sessions/${sessionId}/${fileId}`;

function sent(prepared: PreparedCall): unknown {
  if (prepared.kind !== 'forward') throw new Error(JSON.stringify(prepared));
  expect(prepared.body.bytes.toString()).toBe(prepared.body.text);
  const { params } = JSON.parse(prepared.body.text) as { params: Record<string, unknown> };
  expect(prepared.body.messages[0]?.params).toEqual(params);
  return params['arguments'];
}

function said(prepared: PreparedCall): string {
  if (prepared.kind !== 'result') throw new Error(JSON.stringify(prepared));
  const { content, isError } = JSON.parse(textOf(prepared.result)) as { content: [{ text: string }]; isError: unknown };
  expect(isError).toBe(true);
  return content[0].text;
}

const isThere = async (file: FileRecord, at: number): Promise<boolean> =>
  (await files.store.files.find(file, { now: at, ttlMs: TTL_MS })) !== undefined;

describe('a tool that takes uploads', () => {
  test('gets the path of the file, in the shape that the client gave', async () => {
    const [one, two] = [await files.file(session, 'upload'), await files.file(session, 'upload')];
    const args = `{"n":1e400,"file":[ "${handle(one)}" , "${handle(two)}/name.txt", "${handle(one)}"]}`;
    const prepared = await consumer().prepare(call(args));
    expect(sent(prepared)).toMatchObject({ file: [one, two, one].map((file) => files.pathOf(file)) });
    expect(prepared).toMatchObject({
      body: {
        text: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t", "arguments":{"n":1e400,"file":[ "${files.pathOf(one)}" , "${files.pathOf(two)}", "${files.pathOf(one)}"]}}}`,
      },
    });
    expect(sent(await consumer().prepare(call(`{"file":"${handle(one)}"}`)))).toEqual({ file: files.pathOf(one) });
  });

  test('gets the path below the root as it is configured', async () => {
    const root = join(files.root, 'link');
    await symlink(files.root, root);
    const stage = await DiskStagingArea.open({
      root,
      access: 'group',
      atomicWrites: true,
      locatorRoots: [],
      forbidden: [],
    });
    const file = await files.file(session, 'upload');
    const bytes = new FileStore({
      stage,
      records: files.store.files,
      telemetry: files.telemetry,
      onError: () => undefined,
    });
    const path = join(root, relative(files.root, files.pathOf(file)));
    const args = `{"file":"${handle(file)}"}`;
    expect(sent(await consumer({ files: bytes }).prepare(call(args)))).toEqual({ file: path });
    const asUri = consumer({ files: bytes, passAs: 'file_uri' });
    expect(sent(await asUri.prepare(call(args)))).toEqual({ file: pathToFileURL(path).href });
  });

  test('T7: does not get a file that somebody has changed since its upload', async () => {
    const sha256 = hash('sha256', 'xxxxx', 'hex');
    const file = await files.file(session, 'upload', { sha256 });
    const args = `{"file":"${handle(file)}"}`;
    expect(sent(await consumer().prepare(call(args)))).toEqual({ file: files.pathOf(file) });
    await writeFile(files.pathOf(file), 'yyyyy');
    expect(said(await consumer().prepare(call(args)))).toBe(
      `The file of the upload handle "${handle(file)}" was changed after its upload, so it is not used. ` +
        'Call `s1_get_upload_url` and upload the file again as it says. Then call this tool again with the new handle.',
    );
    expect(files.told.join()).toContain('has the size but not the bytes of what was stored');
    const expire = { now: Date.now() + TTL_MS + 1, uploadTtlMs: TTL_MS, artifactTtlMs: null, limit: 10 };
    expect(await files.store.files.expire(expire)).toHaveLength(1);
  });

  test('gets a file URI or a URL where that is asked for', async () => {
    const file = await files.file(session, 'upload', { filename: 'a b%ü.txt' });
    const args = `{"file":"${handle(file)}"}`;
    expect(sent(await consumer({ passAs: 'file_uri' }).prepare(call(args)))).toEqual({
      file: pathToFileURL(files.pathOf(file)).href,
    });
    const urls: unknown[] = [];
    const url = async (record: FileRecord, options: unknown): Promise<string> => {
      urls.push(options);
      return `https://bucket/${record.fileId}`;
    };
    const passing = consumer({
      passAs: 'url',
      files: { stage: files.stage, open: () => Promise.reject(new Error('no')), url },
    });
    expect(sent(await passing.prepare(call(args)))).toEqual({ file: `https://bucket/${file.fileId}` });
    expect(urls).toEqual([{ expiresInSeconds: 900, as: 'inline' }]);
  });

  test('keeps the file for the whole call, whose end begins its time anew', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
    const file = await files.file(session, 'upload');
    const expire = (): Promise<FileRecord[]> =>
      files.store.files.expire({ now: Date.now(), uploadTtlMs: TTL_MS, artifactTtlMs: null, limit: 10 });
    for (const timeoutMs of [1_000_000, null]) {
      const prepared = await consumer().prepare(call(`{"file":"${handle(file)}"}`, { timeoutMs }));
      if (prepared.kind !== 'forward') throw new Error(prepared.kind);
      await vi.advanceTimersByTimeAsync(1_000_000);
      expect(await expire()).toEqual([]);
      await prepared.onEnd?.('ok');
      await vi.advanceTimersByTimeAsync(TTL_MS - 1000);
      expect(await isThere(file, Date.now())).toBe(true);
    }
    await vi.advanceTimersByTimeAsync(2000);
    expect(await isThere(file, Date.now())).toBe(false);
    expect(await expire()).toHaveLength(1);
  });

  test.each([
    ['{}', 3_600_000],
    ['{"ttl":600000}', 600_000],
    ['{"ttl":1e12}', 86_400_000],
  ])('keeps the file as long as a task is to be there: %s', async (task, ttl) => {
    const file = await files.file(session, 'upload');
    const plain = call(`{"file":"${handle(file)}"}`);
    const { params } = plain.request;
    const request = { ...plain.request, params: { ...params, task: JSON.parse(task) as unknown } };
    const prepared = await consumer().prepare({ ...plain, request });
    if (prepared.kind !== 'forward') throw new Error(prepared.kind);
    const made = '{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t","status":"working"}}}';
    expect(await prepared.onResponse?.(made)).toBe(made);
    await prepared.onEnd?.('ok');
    const expired = (now: number): Promise<FileRecord[]> =>
      files.store.files.expire({ now, uploadTtlMs: TTL_MS, artifactTtlMs: null, limit: 9 });
    expect(await expired(Date.now() + ttl)).toEqual([]);
    expect(await expired(Date.now() + ttl + TTL_MS)).toHaveLength(1);
  });

  test.each(['{"jsonrpc":"2.0","id":1,"result":{"content":[]}}', '{"jsonrpc":"2.0","id":1,"error":{}}', '!'])(
    'gives the file back when the upstream makes no task: %s',
    async (text) => {
      const file = await files.file(session, 'upload');
      const plain = call(`{"file":"${handle(file)}"}`);
      const request = { ...plain.request, params: { ...plain.request.params, task: { ttl: 1e9 } } };
      const prepared = await consumer().prepare({ ...plain, request });
      if (prepared.kind !== 'forward') throw new Error(prepared.kind);
      expect(await prepared.onResponse?.(text)).toBe(text);
      await prepared.onEnd?.('ok');
      const options = { now: Date.now() + TTL_MS + 1_000, uploadTtlMs: TTL_MS, artifactTtlMs: null, limit: 9 };
      expect(await files.store.files.expire(options)).toHaveLength(1);
    },
  );

  test('is asked for once for each session that its handles name', async () => {
    const [one, two] = [await files.file(session, 'upload'), await files.file(session, 'upload')];
    const asked: string[] = [];
    const mayUse: ConsumerOptions['mayUse'] = async (_call, sessionId) => asked.push(sessionId) > 0;
    await consumer({ mayUse }).prepare(call(`{"file":["${handle(one)}","${handle(two)}"]}`));
    expect(asked).toEqual([session.sessionId]);
  });

  test('T24: never gets an artifact that rules keep from its caller, beside others or under another name', async () => {
    const [open, hidden] = [
      await files.file(session, 'artifact', { filename: 'open.txt' }),
      await files.file(session, 'artifact', { filename: 'hidden.txt' }),
    ];
    const uri = ({ sessionId, fileId }: FileRecord, name: string): string =>
      `artifact://sessions/${sessionId}/${fileId}/${name}`;
    const rule = { effect: 'deny', methods: ['files/download'], resources: ['artifact://*/hidden.txt'] };
    const access = new AccessRules(AccessConfig.parse({ rules: [rule] })).of(ANYBODY);
    const caller = { ...call('{}').caller, access };
    const artifacts: ConsumerOptions['artifacts'] = {
      parse: (text) => parseArtifactUri('artifact://', text),
      ttlMs: null,
      mayUse: async () => true,
      areEdited: false,
    };
    const given = async (...uris: string[]): Promise<PreparedCall> =>
      consumer({ artifacts }).prepare(call(`{"file":${JSON.stringify(uris)}}`, { caller }));
    expect(sent(await given(uri(open, 'open.txt')))).toEqual({ file: [files.pathOf(open)] });
    expect(said(await given(uri(open, 'open.txt'), uri(hidden, 'hidden.txt')))).toContain('hidden.txt');
    expect(said(await given(uri(hidden, 'open.txt')))).toContain(hidden.fileId);
    expect(said(await given(uri(open, 'open.txt'), uri(open, 'other.txt')))).toContain('other.txt');
  });

  test('is not called with a file that is not there, and what was taken into use is given back', async () => {
    const [kept, lost] = [await files.file(session, 'upload'), await files.file(session, 'upload')];
    await rm(files.pathOf(lost));
    const long = call(`{"file":["${handle(kept)}","${handle(lost)}"]}`, { timeoutMs: 1_000_000 });
    const text = said(await consumer().prepare(long));
    expect(text).toContain(handle(lost));
    expect(text).toContain('s1_get_upload_url');
    const later = Date.now() + TTL_MS + 60_000;
    const expired = await files.store.files.expire({ now: later, uploadTtlMs: TTL_MS, artifactTtlMs: null, limit: 9 });
    expect(expired.map(({ fileId }) => fileId).toSorted()).toEqual([kept.fileId, lost.fileId].toSorted());
  });

  test('says the same of an unknown handle, an expired one, an artifact and another session’s', async () => {
    const other = await files.session();
    const artifact = await files.file(session, 'artifact');
    const expired = await files.file(session, 'upload', { lastUsedAt: Date.now() - TTL_MS - 1 });
    const foreign = await files.file(other, 'upload');
    const unknown = { sessionId: session.sessionId, fileId: newId() };
    const texts = [];
    for (const one of [artifact, expired, foreign, unknown, { ...foreign, sessionId: session.sessionId }]) {
      const text = said(await consumer().prepare(call(`{"file":"${handle(one)}"}`)));
      texts.push(text.replace(handle(one), 'H'));
    }
    expect(new Set(texts)).toEqual(
      new Set([
        'The upload handle "H" is unknown or has expired. Call `s1_get_upload_url` and upload the file again as it says. Then call this tool again with the new handle.',
      ]),
    );
  });

  test.each(['"/etc/passwd"', '"https://example.com/x"', '["./a"]', '""'])('never gets %s', async (value) => {
    const text = said(await consumer().prepare(call(`{"file":${value}}`)));
    expect(text).toMatch(/^The argument file takes upload handles only; ".*" is none\. .*s1_get_upload_url/);
  });

  test.each(['7', '{}', '[1]', '[null]', 'true', '[["x"]]'])('never gets %s', async (value) => {
    const text = said(await consumer().prepare(call(`{"file":${value}}`)));
    expect(text).toMatch(
      /^The argument file must be an upload handle or a list of upload handles\. .*s1_get_upload_url/,
    );
  });

  test('never gets two arguments that could be the file', async () => {
    const file = await files.file(session, 'upload');
    const text = said(await consumer().prepare(call(`{"file":"${handle(file)}","File":"/etc/passwd"}`)));
    expect(text).toContain('must be given once');
  });

  test('never gets more files than a session may have', async () => {
    const text = said(await consumer().prepare(call(`{"file":[${'"",'.repeat(MAX_SESSION_FILES)}""]}`)));
    expect(text).toMatch(/^The argument file takes at most 10000 upload handles\. /);
  });

  test('says no more of a long value than its beginning', async () => {
    const text = said(await consumer().prepare(call(`{"file":"${'x'.repeat(100_000)}"}`)));
    expect(text.length).toBeLessThan(1000);
  });

  test('cannot be called while uploads are switched off', async () => {
    const file = await files.file(session, 'upload');
    const text = said(await consumer({ enabled: false }).prepare(call(`{"file":"${handle(file)}"}`)));
    expect(text).toContain('switched off');
  });

  test('passes an empty list on', async () => {
    expect(sent(await consumer().prepare(call('{"file":[]}')))).toEqual({ file: [] });
  });
});

describe('a call without a file', () => {
  const listed = (schema: object): string =>
    JSON.stringify({ tools: [{ name: 'other' }, { name: 't', inputSchema: schema }] });

  /** The call, while the upstream lists its tools so. */
  async function withSchema(
    schema: object,
    one: ToolCall,
    changes: Partial<ConsumerOptions> = {},
  ): Promise<PreparedCall> {
    const prepared = consumer(changes).prepare(one);
    const exchange = await vi.waitFor(() => (mount.upstream as FakeUpstream).last);
    const { id } = JSON.parse(exchange.request.body?.text ?? '') as { id: string };
    exchange
      .json()
      .data(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${listed(schema)}}`)
      .end();
    return prepared;
  }
  const required = { properties: { file: { type: 'string' } }, required: ['file'] };
  const optional = { properties: { file: { type: 'string' } } };
  const byUrl = (): Partial<ToolCall> => ({ record: { ...session, initializeParams: URL_CLIENT } });

  test.each(['{}', '{"file":null,"x":1}'])('passes where the tool allows it: %s', async (args) => {
    const one = call(args);
    expect(await withSchema(optional, one)).toEqual({ kind: 'forward', body: one.body });
  });

  test('passes where the upstream does not say', async () => {
    const one = call('{}');
    const prepared = consumer().prepare(one);
    (await vi.waitFor(() => (mount.upstream as FakeUpstream).last)).fail(true);
    expect(await prepared).toEqual({ kind: 'forward', body: one.body });
  });

  test('says what to do where a file is required', async () => {
    expect(said(await withSchema(required, call('{}')))).toMatch(/^The argument file is missing\. .*s1_get_upload_url/);
    for (const initializeParams of [
      '{}',
      '{"capabilities":{"elicitation":{}}}',
      '{"capabilities":{"elicitation":null}}',
    ]) {
      mount = sampleMount();
      expect(said(await withSchema(required, call('{}', { record: { ...session, initializeParams } })))).toContain(
        'missing',
      );
    }
    mount = sampleMount();
    const old = { ...session, initializeParams: URL_CLIENT, protocolVersion: '2025-06-18' };
    expect(said(await withSchema(required, call('{}', { record: old })))).toContain('missing');
  });

  test('offers a page to a client that can show one', async () => {
    const prepared = await withSchema(required, call('{}', byUrl()));
    if (prepared.kind !== 'error') throw new Error(prepared.kind);
    expect(prepared.error.code).toBe('upload_wanted');
    const { elicitations } = prepared.data as { elicitations: [{ elicitationId: string }] };
    const [elicitation] = elicitations;
    expect(elicitation).toEqual({
      mode: 'url',
      elicitationId: expect.any(String) as string,
      url: `https://adapter/upload?${elicitation.elicitationId}`,
      message: expect.stringContaining('"t" needs a file') as string,
    });
  });

  test('gets what was uploaded for it meanwhile, once', async () => {
    await files.file(session, 'upload');
    await files.file(session, 'upload', { toolName: 'other' });
    const now = Date.now();
    const older = await files.file(session, 'upload', { toolName: 't', createdAt: now - 2, lastUsedAt: now - 2 });
    const newer = await files.file(session, 'upload', { toolName: 't', createdAt: now - 1, lastUsedAt: now - 1 });
    expect(sent(await withSchema(required, call('{"x":1}', byUrl())))).toEqual({ file: files.pathOf(newer), x: 1 });
    mount = sampleMount();
    expect(sent(await withSchema(required, call('{}', byUrl())))).toEqual({ file: files.pathOf(older) });
    mount = sampleMount();
    expect(await withSchema(required, call('{}', byUrl()))).toMatchObject({ kind: 'error' });
  });

  test('gets all that was uploaded for it where it takes a list', async () => {
    const now = Date.now();
    const both = [];
    for (const age of [2, 1]) {
      const at = now - age;
      both.push(await files.file(session, 'upload', { toolName: 't', createdAt: at, lastUsedAt: at }));
    }
    const schema = { properties: { file: { type: 'array', items: { type: 'string' } } }, required: ['file'] };
    expect(sent(await withSchema(schema, call('{}', byUrl())))).toEqual({ file: both.map((one) => files.pathOf(one)) });
  });

  test('asks what is required at the depth where it is missing', async () => {
    const inner = { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] };
    const path = { path: ['a', 'b'] };
    expect(said(await withSchema({ properties: { a: inner } }, call('{"a":{}}'), path))).toContain('a.b is missing');
    mount = sampleMount();
    const one = call('{}');
    expect(await withSchema({ properties: { a: inner } }, one, path)).toEqual({ kind: 'forward', body: one.body });
    mount = sampleMount();
    expect(said(await withSchema({ properties: { a: inner }, required: ['a'] }, call('{}'), path))).toContain(
      'missing',
    );
  });

  test('asks the upstream once in a while only', async () => {
    const schemas = new ToolSchemas();
    await withSchema(optional, call('{}'), { schemas });
    expect(await consumer({ schemas }).prepare(call('{}'))).toMatchObject({ kind: 'forward' });
    expect((mount.upstream as FakeUpstream).exchanges).toHaveLength(1);
  });
});

describe('a file that stands in the call itself', () => {
  const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(50, 1)]);
  const png = `data:image/png;name=a%20b.png;base64,${PNG.toString('base64')}`;
  const stored = async (): Promise<FileRecord[]> =>
    files.store.files.list(session, 'upload', { now: Date.now(), ttlMs: null });

  test('is an upload that the tool gets, once however often it stands there', async () => {
    const own = await files.file(session, 'upload');
    const args = JSON.stringify({ file: [png, handle(own), png] });
    const prepared = await consumer().prepare(call(args));
    const { file } = sent(prepared) as { file: string[] };
    expect(file[0]).toMatch(/\/a_b\.png$/);
    expect([file[1], file[2]]).toEqual([files.pathOf(own), file[0]]);
    expect(await readFile(file[0] ?? '')).toEqual(PNG);
    const [kept] = (await stored()).filter(({ fileId }) => fileId !== own.fileId);
    expect(kept).toMatchObject({ filename: 'a_b.png', mimeType: 'image/png', sizeBytes: 58, toolName: 't' });
    expect(kept?.leaseUntil).toBeGreaterThan(Date.now());
  });

  test.each([
    [`data:image/png;base64,${'A'.repeat(1400)}`, 'has more than 1000 bytes'],
    ['data:image/png;base64,AAAA AAAA', 'is not base64'],
    [`data:image/png;base64,${Buffer.from('<html>').toString('base64')}`, 'its content is something else'],
    ['data:nothing', 'has no comma'],
  ])('%s is refused, and nothing is left', async (uri, problem) => {
    const answer = said(await consumer().prepare(call(JSON.stringify({ file: [png, uri] }))));
    expect(answer).toContain(problem);
    expect(answer.length).toBeLessThan(400);
    expect(await stored()).toEqual([]);
  });

  test('goes again where the call is refused for another reason', async () => {
    const unknown = handle({ sessionId: session.sessionId, fileId: newId() });
    expect(said(await consumer().prepare(call(JSON.stringify({ file: [png, unknown] }))))).toContain('unknown');
    expect(await stored()).toEqual([]);
  });

  test('is refused where there is no room, or the tool takes other files', async () => {
    const full = consumer({
      uploads: { stage: (request) => uploads(50).stage(request), remove: async () => undefined },
    });
    expect(said(await full.prepare(call(JSON.stringify({ file: png }))))).toContain('space');
    const pdfs = consumer({ accept: ['application/pdf'] });
    expect(said(await pdfs.prepare(call(JSON.stringify({ file: png }))))).toContain('takes application/pdf');
    const own = await files.file(session, 'upload', { mimeType: 'image/png' });
    expect(said(await pdfs.prepare(call(`{"file":"${handle(own)}"}`)))).toContain('is image/png');
  });

  test('needs a session, which a handle has already', () => {
    const { needsHome } = consumer();
    expect(needsHome(call(JSON.stringify({ file: png })).body)).toBe(true);
    expect(needsHome(call(JSON.stringify({ file: 'upload://x', other: png })).body)).toBe(false);
  });
});
