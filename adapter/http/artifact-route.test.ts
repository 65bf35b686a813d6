import { once } from 'node:events';
import { rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';

import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { AccessConfig } from '../../crds/config/adapter-file/access.ts';
import type { Access } from '../access/access.ts';
import { AccessRules } from '../access/access-rules.ts';
import { knownError } from '../errors.ts';
import { downloadUrl } from '../artifacts/download-url.ts';
import { newId, type StoredFiles, storedFiles } from '../files/testing/stored-files.ts';
import { SessionRegistry } from '../sessions/session-registry.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { createRedaction } from '../../lib/redaction/redact.ts';
import { createLogger } from '../telemetry/logs/logger.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { artifactRoute, type ArtifactRouteOptions } from './artifact-route.ts';
import { ANYBODY } from '../identity/identity.ts';
import { sampleIdentification } from '../identity/testing/sample-identification.ts';
import { HostNames } from './host-names.ts';
import { OriginPolicy } from './origin.ts';
import { RunningDownloads } from './running-downloads.ts';
import { closeServer, createServer } from './server.ts';

const SECRET = 'signing secret';
const TTL_MS = 600_000;
const TEXT = 'The quick brown fox jumps over the lazy dog.';
const NO_CORS = {
  enabled: false,
  allowed_origins: [],
  allowed_methods: [],
  allowed_headers: [],
  allow_credentials: false,
};

let files: StoredFiles;
let sessions: SessionRegistry;
let session: SessionRecord;
let file: FileRecord;
let app: FastifyInstance;
let base: string;
let logged: string;
let running: RunningDownloads;
let telemetry: RecordingTelemetry;

interface StartOptions {
  readonly auth?: boolean;
  readonly access?: Access;
  readonly changes?: Partial<ArtifactRouteOptions>;
}

async function start(options: StartOptions = {}): Promise<void> {
  const auth = options.auth ?? false;
  logged = '';
  telemetry = new RecordingTelemetry();
  app = createServer({
    identification: { ...sampleIdentification(auth ? 'right' : undefined), access: () => options.access },
    hosts: new HostNames({ allowed: [], publicBaseUrl: null, boundHost: '0.0.0.0', machine: 'machine' }),
    origins: new OriginPolicy(NO_CORS, { publicBaseUrl: null, boundHost: '0.0.0.0' }),
    trustedProxies: [],
    connections: { max: 1000, perPeer: null, isProxy: () => false, warn: () => undefined },
    isDraining: () => false,
    isMount: () => false,
    telemetry,
    logger: createLogger('info', createRedaction(), { write: (line) => void (logged += line) }),
  });
  artifactRoute(app, {
    serverIds: ['s1', 's2'],
    secret: SECRET,
    ttlMs: TTL_MS,
    uriScheme: 'artifact://',
    stepUp: () => undefined,
    redirectTtlSeconds: 60,
    sessions,
    records: files.store.files,
    files: files.bytes,
    running,
    telemetry,
    known: (error) => knownError(error, (one) => void (logged += String(one))),
    ...options.changes,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

/** Bytes of the downloads so far, as telemetry was told. */
const sent = (): number[] => telemetry.of('download').map(({ bytes }) => bytes);

beforeEach(async () => {
  files = await storedFiles();
  running = new RunningDownloads();
  sessions = new SessionRegistry(files.store, { maxActive: null, maxInFlight: null, idleTtlMs: null });
  session = await files.session({ principal: '' });
  file = await files.file(session, 'artifact', { filename: 'fox.txt', sizeBytes: TEXT.length });
  await writeFile(files.pathOf(file), TEXT);
});
afterEach(async () => {
  await closeServer(app, 100);
  sessions.stop();
  await files[Symbol.asyncDispose]();
});

const signed = (one: FileRecord = file, at = Date.now()): Promise<string> =>
  downloadUrl({ secret: SECRET, ttlSeconds: 60, files: files.bytes }, one, base, at);
const expired = (): Promise<string> => signed(file, Date.now() - 62_000);
const pathOf = ({ serverId, sessionId, fileId }: FileRecord = file): string =>
  `${base}/artifacts/${serverId}/${sessionId}/${fileId}`;
const own = (headers: Record<string, string> = {}): RequestInit => ({
  headers: { 'mcp-session-id': session.sessionId, ...headers },
});
const refusal = async (response: Response): Promise<[number, unknown]> => {
  const { code } = (await response.json()) as { code: string };
  return [response.status, code];
};

describe('a download', () => {
  test('by a signed URL needs nothing else, and is the file', async () => {
    await start({ auth: true });
    const response = await fetch(await signed());
    expect([response.status, await response.text()]).toEqual([200, TEXT]);
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(TEXT.length),
      'content-disposition': 'attachment; filename="fox.txt"',
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
      'cache-control': 'private, no-store',
      'accept-ranges': 'bytes',
    });
    expect(headers['etag']).toMatch(/^"[0-9a-f-]+"$/);
    expect(headers['x-request-id']).toBeTruthy();
    await vi.waitFor(() => expect(sent()).toEqual([TEXT.length]));
    expect((await fetch(await signed())).status).toBe(200);
  });

  test('by a signed URL tells nobody the session, and is logged as its own', async () => {
    await start();
    const url = await signed();
    expect(url).not.toContain(session.sessionId);
    await (await fetch(url)).text();
    // The session's id is what else would be needed.
    expect(await refusal(await fetch(url.split('?')[0] ?? ''))).toEqual([400, 'missing_session']);
    await vi.waitFor(() => expect(logged).toContain(session.sessionId.slice(0, 8)));
    expect(logged).not.toContain(session.sessionId);
  });

  test('works without the name in the path, and with the name', async () => {
    await start();
    expect(await (await fetch(pathOf(), own())).text()).toBe(TEXT);
    expect(await (await fetch(`${pathOf()}/fox.txt`, own())).text()).toBe(TEXT);
    expect(await (await fetch(`${pathOf()}?session_id=${session.sessionId}`)).text()).toBe(TEXT);
    const { pathname, search } = new URL(await signed());
    expect(await (await fetch(pathOf() + search)).text()).toBe(TEXT);
    expect(await (await fetch(base + pathname.replace('/fox.txt', '') + search)).text()).toBe(TEXT);
  });

  test('keeps the artifact, as reading does', async () => {
    await start();
    const old = await files.file(session, 'artifact', { lastUsedAt: Date.now() - TTL_MS + 5_000 });
    await (await fetch(pathOf(old), own())).text();
    const late = { now: Date.now() + 60_000, uploadTtlMs: null, artifactTtlMs: TTL_MS, limit: 10 };
    expect(await files.store.files.expire(late)).toEqual([]);
  });

  test('of a tombstoned session works with the signed URL', async () => {
    await start();
    const now = Date.now();
    await files.store.expireIdle({ now, idleBefore: now + 1, tombstoneUntil: now + 60_000, limit: 9 });
    expect((await fetch(await signed())).status).toBe(200);
  });

  test('says what it would be to HEAD', async () => {
    await start();
    const response = await fetch(pathOf(), { method: 'HEAD', ...own({ range: 'bytes=0-1' }) });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      String(TEXT.length),
      '',
    ]);
  });

  test('of an empty file is empty', async () => {
    await start();
    const empty = await files.file(session, 'artifact', { sizeBytes: 0 });
    const response = await fetch(pathOf(empty), own());
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '0', '']);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('is not made by %s', async (method) => {
    await start();
    const response = await fetch(pathOf(), { method, ...own() });
    expect([response.headers.get('allow'), await refusal(response)]).toEqual([
      'GET, HEAD',
      [405, 'method_not_allowed'],
    ]);
  });

  test('says nothing of the session to the log', async () => {
    await start();
    await (await fetch(`${pathOf()}/none.txt`, own())).text();
    await (await fetch(pathOf({ ...file, serverId: 'nobody' }), own())).text();
    await vi.waitUntil(() => logged.split('\n').length > 2);
    expect(logged).not.toContain(session.sessionId);
  });
});

describe('a part of a download', () => {
  test.each([
    ['bytes=4-8', 206, 'quick', `bytes 4-8/${TEXT.length}`],
    ['bytes=-4', 206, 'dog.', `bytes ${TEXT.length - 4}-${TEXT.length - 1}/${TEXT.length}`],
    ['bytes=0-1,4-5', 200, TEXT, null],
  ])('%s is %i', async (range, status, text, contentRange) => {
    await start();
    const response = await fetch(await signed(), { headers: { range } });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
    expect(response.headers.get('content-length')).toBe(String(text.length));
  });

  test('that is not there is 416', async () => {
    await start();
    const response = await fetch(await signed(), { headers: { range: 'bytes=100-' } });
    expect(response.headers.get('content-range')).toBe(`bytes */${TEXT.length}`);
    expect(await refusal(response)).toEqual([416, 'range_not_satisfiable']);
  });

  test('continues the file that it began with, and only that', async () => {
    await start();
    const first = await fetch(await signed(), { headers: { range: 'bytes=0-3' } });
    await first.text();
    const etag = first.headers.get('etag') ?? '';
    const next = async (): Promise<number> => {
      const response = await fetch(await signed(), { headers: { range: 'bytes=4-8', 'if-range': etag } });
      await response.text();
      return response.status;
    };
    expect(await next()).toBe(206);
    await utimes(files.pathOf(file), 1, 1);
    expect(await next()).toBe(200);
  });
});

describe('a download is refused', () => {
  test('without the token or a valid URL, when authentication is on', async () => {
    session = await files.session({ principal: 'hash of the token' });
    file = await files.file(session, 'artifact');
    await start({ auth: true });
    const url = new URL(await signed());
    const changed = (name: string, value: string): URL => {
      const other = new URL(url);
      other.searchParams.set(name, value);
      return other;
    };
    const moved = (path: string): URL => new URL(path + url.search, base);
    const other = await files.file(session, 'artifact');
    const refused: [string | URL, RequestInit, unknown][] = [
      [pathOf(), own(), [401, 'unauthorized']],
      [pathOf(), own({ 'x-token': 'wrong' }), [401, 'unauthorized']],
      [pathOf({ ...file, fileId: newId() }), own(), [401, 'unauthorized']],
      [changed('mcp_artifact_sig', '0'.repeat(64)), own(), [401, 'download_url_invalid']],
      [changed('mcp_artifact_sig', ''), {}, [401, 'download_url_invalid']],
      [changed('mcp_artifact_exp', '99999999999'), {}, [401, 'download_url_invalid']],
      [`${url.href}&mcp_artifact_exp=1`, {}, [401, 'download_url_invalid']],
      [await expired(), {}, [401, 'download_url_invalid']],
      [pathOf(other) + url.search, {}, [401, 'download_url_invalid']],
      [moved(url.pathname.replace('/s1/', '/s2/')), {}, [401, 'download_url_invalid']],
      [moved(url.pathname.replace('file.txt', 'other.txt')), {}, [401, 'download_url_invalid']],
      [moved(url.pathname.replace(/(?<=\/s1\/)[^/]+/, newId())), {}, [401, 'download_url_invalid']],
      [moved(url.pathname.replace(/(?<=\/s1\/)./, '~')), {}, [401, 'download_url_invalid']],
      [moved(new URL(await signed(other)).pathname), {}, [401, 'download_url_invalid']],
      [pathOf({ ...file, fileId: newId() }) + url.search, {}, [401, 'download_url_invalid']],
    ];
    for (const [at, init, expected] of refused) {
      expect([String(at), await refusal(await fetch(at, init))]).toEqual([String(at), expected]);
    }
    expect((await fetch(pathOf(), own({ 'x-token': 'right' }))).status).toBe(200);
    expect((await fetch(await expired(), own({ 'x-token': 'right' }))).status).toBe(200);
  });

  test('without the session, and for whatever is not its own', async () => {
    await start();
    const foreign = await files.file(await files.session(), 'artifact');
    const upload = await files.file(session, 'upload');
    const old = await files.file(session, 'artifact', { lastUsedAt: Date.now() - TTL_MS - 1 });
    const lost = await files.file(session, 'artifact');
    await rm(files.pathOf(lost));
    const notFound = [404, 'artifact_not_found'];
    const refused: [string, RequestInit, unknown][] = [
      [pathOf(), {}, [400, 'missing_session']],
      [pathOf(), { headers: { 'mcp-session-id': newId() } }, notFound],
      [pathOf(foreign), own(), notFound],
      [pathOf({ ...foreign, sessionId: session.sessionId }), own(), notFound],
      [pathOf({ ...file, serverId: 's2' }), own(), notFound],
      [pathOf({ ...file, serverId: 'nobody' }), own(), notFound],
      [pathOf({ ...file, fileId: newId() }), own(), notFound],
      [pathOf({ ...file, fileId: '..%2f..%2fx' }), own(), notFound],
      [`${pathOf()}/other.txt`, own(), notFound],
      [`${pathOf()}/fox.txt/more`, own(), notFound],
      [pathOf(upload), own(), notFound],
      [pathOf(old), own(), notFound],
      [pathOf(lost), own(), notFound],
      [await signed(old), {}, notFound],
      [await signed({ ...file, fileId: newId() }), {}, notFound],
      [await signed({ ...file, serverId: 'nobody' }), {}, [404, 'unknown_server']],
    ];
    for (const [at, init, expected] of refused) {
      expect([at, await refusal(await fetch(at, init))]).toEqual([at, expected]);
    }
    await files.store.remove(session);
    expect(await refusal(await fetch(pathOf(), own()))).toEqual(notFound);
    expect(await refusal(await fetch(await signed()))).toEqual(notFound);
  });

  test('T24: by a rule about its name, whether that is in the path or not', async () => {
    const rule = { effect: 'deny', methods: ['files/download'], resources: ['artifact://*/fox.txt'] };
    await start({ access: new AccessRules(AccessConfig.parse({ rules: [rule] })).of(ANYBODY) });
    for (const path of [`${pathOf()}/fox.txt`, pathOf()]) {
      expect(await refusal(await fetch(path, own()))).toEqual([403, 'forbidden']);
    }
    expect(await refusal(await fetch(`${pathOf()}/dog.txt`, own()))).toEqual([404, 'artifact_not_found']);
    const other = await files.file(session, 'artifact', { filename: 'dog.txt' });
    for (const path of [`${pathOf(other)}/dog.txt`, pathOf(other)]) expect((await fetch(path, own())).status).toBe(200);
    expect((await fetch(await signed())).status).toBe(200);
  });

  test('with 503 while the store is down', async () => {
    const down = Object.assign(new Error('down'), { name: 'StoreUnavailable' });
    await start({
      changes: {
        records: { now: Date.now, find: async () => Promise.reject(down), use: async () => Promise.reject(down) },
      },
    });
    const response = await fetch(await signed());
    expect(response.headers.get('retry-after')).toBeTruthy();
    expect(await refusal(response)).toEqual([503, 'state_unavailable']);
  });
});

describe('telemetry is told', () => {
  const results = () => telemetry.of('download').map(({ result }) => result);

  test('of a download with its bytes, and by what right it was', async () => {
    await start();
    await (await fetch(await signed())).text();
    await (await fetch(pathOf(), own({ range: 'bytes=4-8' }))).text();
    await fetch(pathOf(), { method: 'HEAD', ...own() });
    await vi.waitFor(() => expect(results()).toHaveLength(2));
    const one = { serverId: 's1', result: 'success', seconds: expect.any(Number) };
    expect(telemetry.of('download')).toEqual([
      { ...one, authMode: 'signed_url', bytes: TEXT.length },
      { ...one, authMode: 'session_context', bytes: 5 },
    ]);
  });

  test('what was missing, which the client is not', async () => {
    await start();
    const lost = await files.file(session, 'artifact');
    await rm(files.pathOf(lost));
    const other = await files.file(await files.session(), 'artifact');
    await fetch(pathOf({ ...file, fileId: newId() }), own());
    await fetch(pathOf(lost), own());
    await fetch(`${pathOf()}/other.txt`, own());
    await fetch(pathOf(other), own());
    await fetch(pathOf(), own({ range: 'bytes=1000-' }));
    await fetch(await expired());
    await fetch(pathOf(), { method: 'POST', ...own() });
    expect(results()).toEqual(['not_found', 'file_missing', 'filename_mismatch', 'session_mismatch', 'error']);
  });

  test('that the store is down', async () => {
    const down = Object.assign(new Error('down'), { name: 'StoreUnavailable' });
    const records = { now: Date.now, find: () => Promise.reject(down), use: () => Promise.reject(down) };
    await start({ changes: { records } });
    await fetch(await signed());
    expect(telemetry.of('download')).toMatchObject([
      { result: 'persistence_unavailable', authMode: 'signed_url', bytes: 0 },
    ]);
  });
});

describe('where the bytes have object storage', () => {
  const url = async (one: { filename: string }, { as }: { as: string }): Promise<string> =>
    `https://bucket.example/${one.filename}?${as}`;

  test('a download is sent there', async () => {
    await start({ changes: { files: { open: (one) => files.bytes.open(one), url } } });
    const response = await fetch(pathOf(), { redirect: 'manual', ...own() });
    expect([response.status, response.headers.get('location'), response.headers.get('cache-control')]).toEqual([
      307,
      'https://bucket.example/fox.txt?attachment',
      'private, no-store',
    ]);
  });

  test('HEAD is answered here, for the URL is for GET, and fetches nothing', async () => {
    const open = vi.fn(files.bytes.open.bind(files.bytes));
    await start({ changes: { files: { open, url } } });
    const response = await fetch(pathOf(), { method: 'HEAD', redirect: 'manual', ...own() });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-length': String(TEXT.length),
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': 'attachment; filename="fox.txt"',
      'last-modified': new Date(file.createdAt).toUTCString(),
    });
    expect(open).not.toHaveBeenCalled();
  });
});

describe('a large download', () => {
  const SIZE = 64 << 20;

  async function open(): Promise<import('node:http').IncomingMessage> {
    const large = await files.file(session, 'artifact', { filename: 'large.bin', mimeType: 'application/zip' });
    await truncate(files.pathOf(large), SIZE);
    const outgoing = httpRequest(await signed(large)).end();
    const [incoming] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
    return incoming;
  }

  test('is read no faster than the client takes it, and not on when the client has gone', async () => {
    let taken = 0;
    const open_ = files.bytes.open.bind(files.bytes);
    let closed = false;
    await start({
      changes: {
        files: {
          url: async () => undefined,
          open: async (one) => {
            const opened = await open_(one);
            async function* counted(range: Parameters<typeof opened.read>[0]): AsyncGenerator<Buffer> {
              for await (const chunk of opened.read(range)) {
                taken += chunk.length;
                yield chunk;
              }
            }
            const close = async (): Promise<void> => {
              closed = true;
              await opened.close();
            };
            const { path, size, modifiedAt, version } = opened;
            const sync = (): Promise<void> => opened.sync();
            return { path, size, modifiedAt, version, read: counted, sync, close, [Symbol.asyncDispose]: close };
          },
        },
      },
    });
    const incoming = await open();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(taken).toBeLessThan(SIZE / 2);
    const before = taken;
    incoming.destroy();
    await vi.waitUntil(() => closed);
    expect(taken).toBeLessThan(before + (4 << 20));
    await vi.waitFor(() => expect(sent()).toEqual([0]));
  });

  test('is under way until its last byte has left, or its client', async () => {
    await start();
    const ended = new AbortController();
    const never = new AbortController();
    const [one, two] = [await open(), await open()];
    let isIdle = false;
    const idle = running.idle(never.signal).then(() => (isIdle = true));
    one.destroy();
    const limited = running.idle(ended.signal);
    ended.abort();
    await limited;
    await running.idle(AbortSignal.timeout(100));
    expect(isIdle).toBe(false);
    let taken = 0;
    for await (const chunk of two) taken += (chunk as Buffer).length;
    expect(taken).toBe(SIZE);
    await idle;
    // A refusal is no download that goes on.
    expect((await fetch(`${pathOf()}/none.txt`, own())).status).toBe(404);
    await running.idle(never.signal);
  });

  test('breaks off when the file is cut meanwhile', async () => {
    await start();
    const incoming = await open();
    const [large] = (await files.store.files.list(session, 'artifact', { now: Date.now(), ttlMs: null })).filter(
      ({ filename }) => filename === 'large.bin',
    );
    if (large === undefined) throw new Error('no file');
    await truncate(files.pathOf(large), 5);
    incoming.resume();
    await expect(once(incoming, 'end')).rejects.toThrow('aborted');
    await vi.waitFor(() => expect(sent()).toEqual([0]));
  });
});
