import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterEach, describe, expect, test, vi } from 'vitest';

import { AdapterError } from '../../errors.ts';
import { StorageFault } from '../../files/keys/file-key.ts';
import { type SessionRecord, StoreUnavailable } from '../../state/state-store.ts';
import {
  file,
  form,
  type FormPart,
  sha256,
  startUploadServer,
  TOKEN,
  type UploadServer,
  type UploadServerOptions,
} from '../testing/upload-server.ts';

let server: UploadServer;
const start = async (options?: UploadServerOptions): Promise<UploadServer> =>
  (server = await startUploadServer(options));
afterEach(async () => {
  await server[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

async function post(url: string, parts: readonly FormPart[], headers: Record<string, string> = {}): Promise<Answer> {
  const { body, type } = form(parts);
  return send(url, body, { 'content-type': type, ...headers });
}

async function send(url: string, body: Buffer | string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
}

const upload = (session: SessionRecord, parts: readonly FormPart[], headers: Record<string, string> = {}) =>
  post(`${server.url}/upload/pw`, parts, { 'mcp-session-id': session.sessionId, ...headers });

/** Nothing is on the disk, and no record is left, not even a pending one. */
async function expectNothing(): Promise<void> {
  expect(await server.onDisk()).toEqual([]);
  const { files } = server.files.store;
  expect((await files.totals()).uploads).toEqual({ count: 0, bytes: 0 });
  const unfinished = { now: Date.now() + 3_600_000, uploadTtlMs: null, artifactTtlMs: null, limit: 10 };
  expect(await files.expire(unfinished)).toEqual([]);
}

describe('an upload', () => {
  test('is answered with its handle, and lies on the disk as it was sent', async () => {
    await start();
    const session = await server.session();
    const content = Buffer.from('%PDF-1.4 \r\n--boundary\r\n\0\xff', 'latin1');
    const answer = await upload(session, [file('a report.pdf', content, 'application/pdf')]);
    const [record] = await server.records(session);
    const id = record?.fileId ?? '';
    const described = {
      upload_id: id,
      filename: 'a_report.pdf',
      mime_type: 'application/pdf',
      size_bytes: content.length,
      sha256: sha256(content),
    };
    const handle = `upload://sessions/${session.sessionId}/${id}`;
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('x-request-id')).toMatch(/\S/);
    expect(answer.body).toEqual({
      server_id: 'pw',
      session_id: session.sessionId,
      uploads: [{ upload_handle: handle, ...described }],
      upload_handles: [handle],
      count: 1,
      upload_handle: handle,
      upload: described,
    });
    const [path = ''] = await server.onDisk();
    expect(path.endsWith(`uploads/sessions/${session.sessionId}/${id}/a_report.pdf`)).toBe(true);
    expect(await readFile(path)).toEqual(content);
    expect(record).toMatchObject({ state: 'committed', leaseUntil: 0, toolName: null });
    expect(record?.createdAt).toBe(record?.lastUsedAt);
  });

  test('that a tool asked for is kept as long as its link, and does not count as used', async () => {
    await start({ ttlSeconds: 900 });
    const session = await server.session();
    const { status } = await post(await server.signed(session, { toolName: 't' }), [file('a.txt', 'x')]);
    expect(status).toBe(200);
    const [record] = await server.records(session);
    expect(record?.lastUsedAt).toBe(record?.createdAt);
    expect((record?.leaseUntil ?? 0) - Date.now()).toBeGreaterThan(890_000);
    const other = await server.session();
    await post(await server.signed(other), [file('a.txt', 'x')]);
    expect(await server.records(other)).toMatchObject([{ leaseUntil: 0 }]);
  });

  test('from a page is answered with a page that asks whether its files were taken, while it is there', async () => {
    await start({ auth: true });
    const session = await server.session();
    const url = await server.signed(session);
    const { body, type } = form([file('a.txt', 'x')]);
    const page = await fetch(url, { method: 'POST', headers: { 'content-type': type, accept: 'text/html' }, body });
    const [, query = ''] = /data-status="([^"]+)"/.exec(await page.text()) ?? [];
    const ask = async (seen: string) => {
      const answer = await fetch(`${server.url}/upload/pw${query}&seen=${seen}`);
      return [answer.status, answer.headers.get('cache-control'), await answer.json()];
    };
    expect(await ask('')).toEqual([200, 'no-store', { files: 'w' }]);
    const news = ask('w');
    const [record] = await server.records(session);
    if (record !== undefined) await server.files.store.files.use(record, { now: Date.now() + 1, ttlMs: null });
    expect(await news).toEqual([200, 'no-store', { files: 't' }]);
    const bad = await fetch(`${server.url}/upload/pw?mcp_upload_status=AAAA`);
    expect([bad.status, await bad.json()]).toMatchObject([401, {}]);
    expect((await fetch(`${server.url}/upload/other${query}`)).status).toBe(401);
  });

  test('may have many files, which come back in their order', async () => {
    await start();
    const session = await server.session();
    const parts = Array.from({ length: 100 }, (_, i) => file(`${i}.txt`, `content ${i}`, 'text/plain'));
    const { status, body } = await upload(session, parts);
    expect([status, body['count'], body['upload_handle']]).toEqual([200, 100, undefined]);
    expect((body['uploads'] as { filename: string }[]).map((one) => one.filename)).toEqual(
      parts.map((part) => part.filename),
    );
    expect((await server.onDisk()).length).toBe(100);
  });

  test.each<[string, FormPart, Record<string, unknown>]>([
    [
      'an empty file',
      file('empty.bin', '', 'application/octet-stream'),
      { filename: 'empty.bin', size_bytes: 0, sha256: sha256('') },
    ],
    ['no name', { name: 'file', content: 'x' }, { filename: 'upload', mime_type: 'text/plain' }],
    ['no name and no content', { name: 'file', content: '' }, { filename: 'upload', size_bytes: 0 }],
    ['a path as its name', file('../../etc/passwd', 'x', 'a/b'), { filename: 'passwd', mime_type: 'a/b' }],
    ['dots as its name', file('..', 'x', 'a/b'), { filename: 'upload' }],
    ['a Unicode name', file('Größe 图.png', 'x', 'image/png'), { filename: expect.stringMatching(/^[\w.-]+\.png$/) }],
    ['a type with parameters', file('a.txt', 'x', 'Text/HTML; charset=utf-8'), { mime_type: 'text/html' }],
    ['no type', file('a.json', 'x'), { mime_type: 'application/json' }],
    ['an impossible type', file('a.png', 'x', 'im age/<b>'), { mime_type: 'image/png' }],
    ['an impossible type and name', file('a', 'x', '<b>'), { mime_type: 'application/octet-stream' }],
  ])('may have %s', async (_what, part, expected) => {
    await start();
    const { status, body } = await upload(await server.session(), [part]);
    expect(status).toBe(200);
    expect(body['upload']).toMatchObject(expected);
    expect((await server.onDisk()).length).toBe(1);
  });

  test.each(['before', 'after'])('is compared with the hashes that come %s the files', async (where) => {
    await start();
    const session = await server.session();
    const files = [file('a', 'first'), file('b', 'second')];
    const hashes = [sha256('first').toUpperCase(), ` ${sha256('second')} `, ''].map((content) => ({
      name: 'sha256',
      content,
    }));
    const { status, body } = await upload(session, where === 'before' ? [...hashes, ...files] : [...files, ...hashes]);
    expect([status, body['count']]).toEqual([200, 2]);
  });

  test.each<[string, FormPart[], string]>([
    ['another hash', [file('a', 'x'), { name: 'sha256', content: sha256('y') }], 'sha256_mismatch'],
    [
      'the hash of the other file',
      [file('a', 'x'), file('b', 'y'), ...['y', 'x'].map((one) => ({ name: 'sha256', content: sha256(one) }))],
      'sha256_mismatch',
    ],
    ['a short hash', [file('a', 'x'), { name: 'sha256', content: sha256('x').slice(1) }], 'sha256_mismatch'],
    ['a long hash', [file('a', 'x'), { name: 'sha256', content: `${sha256('x')}0` }], 'sha256_mismatch'],
    ['an endless hash', [file('a', 'x'), { name: 'sha256', content: sha256('x').repeat(1000) }], 'sha256_mismatch'],
    ['too few hashes', [file('a', 'x'), file('b', 'y'), { name: 'sha256', content: sha256('x') }], 'sha256_count'],
    [
      'too many hashes',
      [file('a', 'x'), ...['x', 'x'].map((one) => ({ name: 'sha256', content: sha256(one) }))],
      'sha256_count',
    ],
    ['no file', [{ name: 'sha256', content: sha256('') }], 'no_file'],
    ['a file that was not chosen', [file('', '', 'application/octet-stream')], 'no_file'],
    [
      'a file in another field',
      [file('a', 'x'), { name: 'picture', filename: 'b', content: 'y' }],
      'invalid_multipart',
    ],
    ['more than 100 files', Array.from({ length: 101 }, () => file('a', 'x')), 'invalid_multipart'],
    [
      'more than 200 fields',
      [file('a', 'x'), ...Array.from({ length: 201 }, () => ({ name: 'a', content: 'b' }))],
      'invalid_multipart',
    ],
  ])('with %s is refused, and nothing is left of it', async (_what, parts, code) => {
    await start();
    const answer = await upload(await server.session(), parts);
    expect([answer.status, answer.body['code']]).toEqual([400, code]);
    expect(Object.keys(answer.body)).toEqual(['detail', 'code']);
    await expectNothing();
  });

  test('needs a hash where one is required', async () => {
    await start({ requireSha256: true });
    const session = await server.session();
    const refused = await upload(session, [file('a', 'x')]);
    expect([refused.status, refused.body['code']]).toEqual([400, 'sha256_missing']);
    await expectNothing();
    expect((await upload(session, [file('a', 'x'), { name: 'sha256', content: sha256('x') }])).status).toBe(200);
  });

  test.each([
    '',
    '--',
    'text/plain',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/mixed; boundary=a',
  ])('with the content type %j is refused', async (type) => {
    await start();
    const session = await server.session();
    const headers = { 'content-type': type, 'mcp-session-id': session.sessionId };
    const answer = await send(`${server.url}/upload/pw`, '--a\r\n\r\nx\r\n--a--', headers);
    expect([answer.status, answer.body['code']]).toEqual([400, 'invalid_multipart']);
    await expectNothing();
  });

  test.each([
    ['cut in a file', '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc'],
    ['cut in a header', '--b\r\nContent-Disposition: form-data; na'],
    [
      'without its last boundary',
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--b\r\n',
    ],
    ['nothing', ''],
    ['something else', '{"file":"abc"}'],
    ['another boundary', '--c\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--c--\r\n'],
    ['an endless header', `--b\r\nContent-Disposition: form-data; ${'x'.repeat(6 * 1024 * 1024)}`],
    ['100,000 parts', '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n'.repeat(100_000) + '--b--\r\n'],
    ['100,000 parts without a header', '--b\r\n\r\n\r\n'.repeat(100_000) + '--b--\r\n'],
  ])('that is broken is refused: %s', async (_what, body) => {
    await start();
    const session = await server.session();
    const headers = { 'content-type': 'multipart/form-data; boundary=b', 'mcp-session-id': session.sessionId };
    const answer = await send(`${server.url}/upload/pw`, body, headers);
    expect(answer.status).toBe(400);
    expect(answer.body['code']).toMatch(/^(invalid_multipart|no_file)$/);
    await expectNothing();
    expect(server.unexpected).toEqual([]);
    expect((await upload(session, [file('a', 'x')])).status).toBe(200);
  });

  test('that never comes to a file is refused while it is still being sent', async () => {
    await start();
    const sent = endless(server, await server.session(), '--b\r\nContent-Disposition: form-data; ');
    const [response] = (await once(sent.request, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([400, { code: 'invalid_multipart' }]);
    sent.stop();
  });

  test('takes no longer header than it needs', async () => {
    await start();
    const headers = {
      'content-type': 'multipart/form-data; boundary=b',
      'mcp-session-id': (await server.session()).sessionId,
    };
    const long = 'Content-Disposition: form-data; name="file"; filename="a"\r\nX-A: b\r\n'.repeat(200);
    const answer = await send(`${server.url}/upload/pw`, `--b\r\n${long}\r\nabc\r\n--b--\r\n`, headers);
    expect([200, 400]).toContain(answer.status);
  });
});

describe('a file that is too large', () => {
  test('is refused with 413, also as the second of two, and nothing is left of either', async () => {
    await start({ maxFileBytes: 1000 });
    const session = await server.session();
    expect((await upload(session, [file('a', Buffer.alloc(1000))])).status).toBe(200);
    const before = await server.onDisk();
    const answer = await upload(session, [file('a', 'small'), file('b', Buffer.alloc(1001))]);
    expect([answer.status, answer.body['code']]).toEqual([413, 'file_too_large']);
    expect(await server.onDisk()).toEqual(before);
    expect((await server.records(session)).length).toBe(1);
  });

  test('is answered while its client goes on sending, and is not read to its end', async () => {
    await start({ maxFileBytes: 100_000 });
    const session = await server.session();
    const sent = endless(server, session);
    const [response] = (await once(sent.request, 'response')) as [
      NodeJS.ReadableStream & { statusCode: number; headers: IncomingHttpHeaders },
    ];
    expect([response.statusCode, response.headers.connection]).toEqual([413, 'close']);
    expect(JSON.parse(await text(response))).toMatchObject({ code: 'file_too_large' });
    sent.stop();
    await expectNothing();
  });

  test('is answered also to a client that reads nothing before it has sent everything', async () => {
    await start({ maxFileBytes: 1000 });
    const { sessionId } = await server.session();
    const { body, type } = form([file('a', Buffer.alloc(8 * 1024 * 1024))]);
    const head = `POST /upload/pw HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${sessionId}\r\n`;
    const socket = connect(server.port, '127.0.0.1').pause();
    socket.write(`${head}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject).write(body, (error) => (error ? reject(error) : resolve()));
    });
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*\r\nconnection: close\r\n[^]*"code":"file_too_large"}$/i);
  });
});

describe('an upload that does not come to its end', () => {
  test('leaves nothing when its client goes away', async () => {
    await start({ maxFileBytes: 100_000_000 });
    const sent = endless(server, await server.session());
    await vi.waitFor(async () => expect((await server.onDisk()).length).toBe(1), { timeout: 10_000 });
    sent.request.destroy();
    sent.stop();
    await vi.waitFor(expectNothing, { timeout: 10_000 });
    expect(server.unexpected).toEqual([]);
  });

  test('is told when its session ends, and leaves nothing', async () => {
    await start({ maxFileBytes: 100_000_000 });
    const session = await server.session();
    const sent = endless(server, session);
    await vi.waitFor(async () => expect((await server.onDisk()).length).toBe(1), { timeout: 10_000 });
    await server.files.store.remove(session);
    await server.files.store.files.purge(session);
    server.uploads.sessionEnded('pw', session.sessionId);
    const [response] = (await once(sent.request, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([404, { code: 'session_ended' }]);
    sent.stop();
    await expectNothing();
  });

  test.each([4, 60])('finds out at its end that its session is gone, %d bytes before it', async (left) => {
    await start();
    const session = await server.session();
    const { body, type } = form([file('a', 'content'.repeat(20))]);
    const request = httpRequest(`${server.url}/upload/pw`, {
      method: 'POST',
      headers: { 'content-type': type, 'mcp-session-id': session.sessionId, 'content-length': body.length },
    });
    const answered = once(request, 'response');
    request.write(body.subarray(0, -left));
    await vi.waitFor(async () => expect((await server.onDisk()).length).toBe(1), { timeout: 10_000 });
    await server.files.store.remove(session);
    await server.files.store.files.purge(session);
    await server.files.bytes.discardSession(session.sessionId);
    request.end(body.subarray(-left));
    const [response] = (await answered) as [NodeJS.ReadableStream & { statusCode: number }];
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([404, { code: 'session_ended' }]);
    await expectNothing();
    expect(server.unexpected).toEqual([]);
  });

  test('is given up at shutdown, with 503', async () => {
    await start({ maxFileBytes: 100_000_000 });
    const sent = endless(server, await server.session());
    await vi.waitFor(async () => expect((await server.onDisk()).length).toBe(1), { timeout: 10_000 });
    expect(server.uploads.running).toBe(1);
    const answered = once(sent.request, 'response');
    await server.uploads.close();
    await expectNothing();
    const [response] = (await answered) as [NodeJS.ReadableStream & { statusCode: number }];
    expect(response.statusCode).toBe(503);
    sent.stop();
  });
});

describe('quotas', () => {
  test('of a session evict what was used least recently, bytes and all', async () => {
    await start({ maxSession: 2000 });
    const session = await server.session();
    await upload(session, [file('old', Buffer.alloc(900))]);
    await upload(session, [file('new', Buffer.alloc(900))]);
    expect((await upload(session, [file('newest', Buffer.alloc(1000))])).status).toBe(200);
    expect((await server.records(session)).map((one) => one.filename)).toEqual(['new', 'newest']);
    expect((await server.onDisk()).length).toBe(2);
    expect(server.files.told).toContain('upload evicted 1');
  });

  test('of a session are never passed, and what fits exactly evicts nothing', async () => {
    await start({ maxSession: 1000 });
    const session = await server.session();
    expect((await upload(session, [file('a', Buffer.alloc(400))])).status).toBe(200);
    expect((await upload(session, [file('b', Buffer.alloc(600))])).status).toBe(200);
    expect((await server.onDisk()).length).toBe(2);
    const answer = await upload(session, [file('a', Buffer.alloc(600)), file('b', Buffer.alloc(600))]);
    expect([answer.status, answer.body['code']]).toEqual([507, 'session_quota']);
  });

  test.each([
    ['ENOSPC', 507, 'storage_quota'],
    ['EDQUOT', 507, 'storage_quota'],
    ['EIO', 503, 'storage_unavailable'],
  ])('of the disk itself end an upload too: %s', async (fault, status, code) => {
    await start();
    const { bytes } = server.files;
    const create = bytes.create.bind(bytes);
    vi.spyOn(bytes, 'create').mockImplementation(async (place) => {
      const writer = await create(place);
      return {
        write: () => Promise.reject(new StorageFault(fault, 'secret path')),
        finish: () => writer.finish(),
        abort: () => writer.abort(),
      };
    });
    const answer = await upload(await server.session(), [file('a', 'x')]);
    expect([answer.status, answer.body['code']]).toEqual([status, code]);
    expect(answer.body['detail']).not.toContain('secret');
    await expectNothing();
    expect(server.unexpected.length).toBe(status === 503 ? 1 : 0);
  });

  test('of the storage refuse without evicting', async () => {
    await start({ maxTotal: 1000 });
    const session = await server.session();
    expect((await upload(session, [file('a', Buffer.alloc(900))])).status).toBe(200);
    const answer = await upload(await server.session(), [file('b', Buffer.alloc(101))]);
    expect([answer.status, answer.body['code']]).toEqual([507, 'storage_quota']);
    expect((await server.onDisk()).length).toBe(1);
  });
});

describe('who may upload', () => {
  const parts = [file('a', 'x')];

  test('a session of another server, an unknown one and none are refused', async () => {
    await start();
    const session = await server.session();
    const to = async (path: string, headers: Record<string, string>) => {
      const { status, body } = await post(`${server.url}${path}`, parts, headers);
      return [status, body['code']];
    };
    const header = { 'mcp-session-id': session.sessionId };
    expect(await to('/upload/pw', {})).toEqual([400, 'missing_session']);
    expect(await to('/upload/other', header)).toEqual([404, 'session_not_found']);
    expect(await to('/upload/none', header)).toEqual([404, 'unknown_server']);
    expect(await to('/upload/pw', { 'mcp-session-id': '../../etc' })).toEqual([404, 'session_not_found']);
    expect(await to('/upload/pw', { 'mcp-session-id': 'f'.repeat(32) })).toEqual([404, 'session_not_found']);
    await expectNothing();
  });

  test('nobody while uploads are switched off', async () => {
    await start({ enabled: false });
    const answer = await upload(await server.session(), parts);
    expect([answer.status, answer.body['code']]).toEqual([400, 'uploads_disabled']);
  });

  test('who has the token, or a signed URL, and nobody else', async () => {
    await start({ auth: true });
    const session = await server.session();
    const header = { 'mcp-session-id': session.sessionId };
    for (const path of ['/upload/pw', '/upload/none']) {
      const none = await post(server.url + path, parts, header);
      expect([path, none.status, none.body['code']]).toEqual([path, 401, 'unauthorized']);
    }
    expect((await upload(session, parts, { 'x-token': 'wrong' })).status).toBe(401);
    expect((await upload(session, parts, { 'x-token': TOKEN })).status).toBe(200);
    expect((await post(await server.signed(session), parts)).status).toBe(200);
    expect((await post(await server.signed(session), parts, header)).status).toBe(200);
    const token = { 'x-token': TOKEN };
    expect((await post(`${server.url}/upload/none`, parts, { ...token, ...header })).body['code']).toBe(
      'unknown_server',
    );
  });

  test.each([true, false])('a signed URL is good for one upload (auth: %s)', async (auth) => {
    await start({ auth });
    const session = await server.session();
    const url = await server.signed(session, { toolName: 'tool', elicitationId: 'e' });
    const answers = await Promise.all([post(url, parts), post(url, parts), post(url, parts)]);
    expect(answers.map((one) => one.status).toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
    const again = await post(url, parts);
    expect([again.status, again.body['code']]).toEqual([401, 'upload_url_invalid']);
    expect(again.body['detail']).toMatch(/used already/);
    expect(server.done).toMatchObject([
      { serverId: 'pw', sessionId: session.sessionId, toolName: 'tool', elicitationId: 'e' },
    ]);
    expect(await server.records(session)).toMatchObject([{ toolName: 'tool' }]);
  });

  test('a signed URL that was changed, has expired or is for another is worth nothing, and is not used up by trying', async () => {
    await start({ auth: true });
    const session = await server.session();
    const signed = await server.signed(session);
    const other = (await server.session()).sessionId;
    const flip = (name: string): string =>
      signed.replace(
        new RegExp(`(${name}=)(.)`),
        (_all, key: string, first: string) => key + (first === '0' ? '1' : '0'),
      );
    const cases: [string, Record<string, string>, RegExp][] = [
      [flip('sig'), {}, /not valid/],
      [flip('nonce'), {}, /not valid/],
      [
        signed.replace(/mcp_upload_exp=\d+/, (all) => `${all.slice(0, -1)}${(Number(all.at(-1)) + 1) % 10}`),
        {},
        /not valid|expired/,
      ],
      [signed.replace(/mcp_upload_exp=\d+/, 'mcp_upload_exp=1'), {}, /expired/],
      [signed.slice(0, -1), {}, /not valid/],
      [signed.replace(/&mcp_upload_sig=.*/, ''), {}, /not valid/],
      [`${signed}&mcp_upload_sig=${'0'.repeat(64)}`, {}, /not valid/],
      [signed.replace('/upload/pw', '/upload/other'), {}, /not valid/],
      [signed.replace('/upload/pw', '/upload/none'), {}, /not valid/],
      [signed, { 'mcp-session-id': other }, /not valid/],
    ];
    for (const [url, headers, detail] of cases) {
      const answer = await post(url, parts, headers);
      expect([url, answer.status, answer.body['code']]).toEqual([url, 401, 'upload_url_invalid']);
      expect(answer.body['detail']).toMatch(detail);
    }
    await expectNothing();
    expect((await post(signed, parts)).status).toBe(200);
  });

  test('the token lets in also with a URL that is used up', async () => {
    await start({ auth: true });
    const session = await server.session();
    const url = await server.signed(session);
    expect((await post(url, parts)).status).toBe(200);
    const headers = { 'x-token': TOKEN, 'mcp-session-id': session.sessionId };
    expect((await post(url, parts, headers)).status).toBe(200);
  });

  test('a failed upload uses its URL up, but not one that is refused before it is read', async () => {
    await start({ auth: true });
    const session = await server.session();
    const url = await server.signed(session);
    expect((await send(url, 'x', { 'content-type': 'text/plain' })).status).toBe(400);
    expect((await post(url, [file('a', Buffer.alloc(2000))])).status).toBe(413);
    expect((await post(url, parts)).status).toBe(401);
  });
});

describe('a signed URL whose upload fails for a reason of ours is good for another try', () => {
  const parts = [file('a', 'x')];

  test.each<[string, unknown, [number, string]]>([
    ['the storage fails', new StorageFault('EIO', 'x'), [503, 'storage_unavailable']],
    ['the file is locked', new AdapterError('storage_busy'), [503, 'storage_busy']],
    ['the store is down for a moment', new StoreUnavailable('down'), [503, 'state_unavailable']],
  ])('when %s', async (_what, failure, expected) => {
    await start({ auth: true });
    const session = await server.session();
    const url = await server.signed(session, { toolName: 'tool', elicitationId: 'e' });
    vi.spyOn(server.files.bytes, 'create').mockRejectedValueOnce(failure);
    const failed = await post(url, parts);
    expect([failed.status, failed.body['code']]).toEqual(expected);
    expect(failed.headers.get('retry-after')).toBeTruthy();
    await expectNothing();
    expect((await post(url, parts)).status).toBe(200);
    expect(server.done).toMatchObject([{ sessionId: session.sessionId, toolName: 'tool', elicitationId: 'e' }]);
    expect((await post(url, parts)).body['code']).toBe('upload_url_invalid');
  });

  test('when its store does not take it back, the client hears of the failure all the same', async () => {
    await start();
    const url = await server.signed(await server.session());
    vi.spyOn(server.files.bytes, 'create').mockRejectedValueOnce(new AdapterError('storage_busy'));
    vi.spyOn(server.files.store.nonces, 'issue').mockRejectedValueOnce(new StoreUnavailable('down'));
    expect((await post(url, parts)).body['code']).toBe('storage_busy');
    expect((await post(url, parts)).body['code']).toBe('upload_url_invalid');
  });

  test('when no more uploads are taken, and when one is given up for that', async () => {
    await start({ auth: true, maxFileBytes: 100_000_000 });
    const session = await server.session();
    const url = await server.signed(session);
    const sent = endless(server, session, FILE_HEAD, url);
    await vi.waitFor(async () => expect((await server.onDisk()).length).toBe(1), { timeout: 10_000 });
    const answered = once(sent.request, 'response');
    await server.uploads.close();
    const [response] = (await answered) as [NodeJS.ReadableStream & { statusCode: number }];
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([503, { code: 'draining' }]);
    sent.stop();
    const consume = vi.spyOn(server.files.store.nonces, 'consume');
    const refused = await post(url, parts);
    expect([refused.status, refused.body['code']]).toEqual([503, 'draining']);
    expect(consume).not.toHaveBeenCalled();
    const nonce = new URL(url).searchParams.get('mcp_upload_nonce') ?? '';
    expect(await server.files.store.nonces.consume(nonce, Date.now())).toMatchObject({ sessionId: session.sessionId });
  });
});

describe('a page of another origin', () => {
  const parts = [file('a', 'x')];

  test('may upload with a signed URL only when it came from here', async () => {
    await start();
    const session = await server.session();
    const own = { origin: server.url };
    expect((await upload(session, parts, own)).body['code']).toBe('forbidden_origin');
    expect((await post(await server.signed(session), parts, own)).status).toBe(200);
    expect(
      (await post(await server.signed(session), parts, { origin: own.origin.replace('http:', 'https:') })).status,
    ).toBe(200);
    for (const origin of ['https://evil.example', 'null', `${server.url}.evil.example`]) {
      const answer = await post(await server.signed(session), parts, { origin });
      expect([origin, answer.status, answer.body['code']]).toEqual([origin, 403, 'forbidden_origin']);
    }
  });
});

describe('other methods', () => {
  test.each(['PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])('%s is not allowed', async (method) => {
    await start();
    const response = await fetch(`${server.url}/upload/pw`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, GET']);
  });

  test('GET is for signed URLs', async () => {
    await start();
    const response = await fetch(`${server.url}/upload/pw`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('nothing is told without a token', async () => {
    await start({ auth: true });
    for (const method of ['GET', 'PUT', 'POST']) {
      const response = await fetch(`${server.url}/upload/pw`, { method });
      expect([method, response.status]).toEqual([method, 401]);
    }
  });
});

describe('a client that waits to be asked for its body', () => {
  test('is asked when it may upload, and else is spared', async () => {
    await start({ auth: true });
    const session = await server.session();
    const { body, type } = form([file('a', 'x')]);
    const ask = (url: string): ClientRequest =>
      httpRequest(url, {
        method: 'POST',
        headers: { 'content-type': type, 'content-length': body.length, expect: '100-continue' },
      });
    const good = ask(await server.signed(session));
    good.flushHeaders();
    await once(good, 'continue');
    good.end(body);
    const [answer] = (await once(good, 'response')) as [{ statusCode: number }];
    expect(answer.statusCode).toBe(200);

    const bad = ask(`${server.url}/upload/pw`);
    let asked = false;
    bad.on('continue', () => (asked = true));
    bad.flushHeaders();
    const [refusal] = (await once(bad, 'response')) as [{ statusCode: number }];
    expect([refusal.statusCode, asked]).toEqual([401, false]);
    bad.destroy();
  });
});

describe('the page', () => {
  test('is shown for a signed URL, without using it up', async () => {
    await start({ auth: true });
    const session = await server.session();
    const url = await server.signed(session, { toolName: '<b>tool</b>' });
    for (let i = 0; i < 3; i++) {
      const response = await fetch(url);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('referrer-policy')).toBe('same-origin');
      const csp = response.headers.get('content-security-policy') ?? '';
      expect(csp).toMatch(
        /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; connect-src 'self'; /,
      );
      expect(csp).toMatch(/form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/);
      const page = await response.text();
      expect(page).toContain('&lt;b&gt;tool&lt;/b&gt;');
      expect(page).not.toContain(session.sessionId);
      expect(page).not.toMatch(/https?:\/\//);
    }
    expect((await post(url, [file('a', 'x')])).status).toBe(200);
    const used = await fetch(url);
    expect([used.status, used.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
    expect(await used.text()).toContain('used already');
  });

  test('answers a form that a browser sends with a page', async () => {
    await start();
    const session = await server.session();
    const accept = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const { body, type } = form([file('<a>.txt', 'x', 'text/plain')]);
    const headers = { 'content-type': type, ...accept };
    const response = await fetch(await server.signed(session), { method: 'POST', headers, body });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const page = await response.text();
    const [record] = await server.records(session);
    expect(page).toContain(`upload://sessions/${session.sessionId}/${record?.fileId}`);
    expect(page).toContain(sha256('x'));
    const refused = await fetch(await server.signed(session), { method: 'POST', headers, body: 'broken' });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('<h1');
  });
});

describe('telemetry is told', () => {
  const parts = [file('a', 'x')];
  const failures = () => server.telemetry.of('uploadFailed');
  const credentials = () => server.telemetry.of('credential').map(({ result }) => result);

  test('why an upload has failed, and of none that succeeded or was refused before', async () => {
    await start({ maxFileBytes: 1 });
    const session = await server.session();
    const header = { 'mcp-session-id': session.sessionId };
    expect((await upload(session, parts)).status).toBe(200);
    await post(`${server.url}/upload/none`, parts, header);
    await post(`${server.url}/upload/pw`, parts);
    await upload(session, []);
    await upload(session, [file('a', 'xx')]);
    await upload(session, [...parts, { name: 'sha256', content: 'x' }, { name: 'sha256', content: 'x' }]);
    await send(`${server.url}/upload/pw`, 'broken', { 'content-type': 'multipart/form-data; boundary=b', ...header });
    await upload({ ...session, sessionId: 'f'.repeat(32) }, parts);
    await fetch(`${server.url}/upload/pw`, { method: 'PUT', body: 'x' });
    await post(`${server.url}/upload/pw?mcp_upload_exp=1`, parts);
    expect(failures()).toEqual([
      { serverId: 'none', reason: 'unknown_server' },
      { serverId: 'pw', reason: 'missing_session_header' },
      { serverId: 'pw', reason: 'no_file_parts' },
      { serverId: 'pw', reason: 'tool_error' },
      { serverId: 'pw', reason: 'sha256_count_mismatch' },
      { serverId: 'pw', reason: 'upload_processing_error' },
      { serverId: 'pw', reason: 'session_invalidated' },
    ]);
  });

  test('whether a signed URL was good, and if not why', async () => {
    await start({ auth: true });
    const session = await server.session();
    const url = new URL(await server.signed(session));
    const changed = (name: string, value: string | null): string => {
      const other = new URL(url);
      if (value === null) other.searchParams.delete(name);
      else other.searchParams.set(name, value);
      return other.href;
    };
    await fetch(changed('mcp_upload_sig', null));
    await fetch(changed('mcp_upload_exp', 'soon'));
    await fetch(changed('mcp_upload_exp', '1'));
    await fetch(changed('mcp_upload_sig', '0'.repeat(64)));
    await fetch(changed('mcp_upload_sig', 'x'));
    expect((await post(url.href, parts)).status).toBe(200);
    await post(url.href, parts);
    const wrong = ['missing_fields', 'invalid_expiry', 'expired', 'bad_signature', 'bad_signature'];
    expect(credentials()).toEqual([...wrong, 'accepted', 'replay_or_invalid']);
    expect(
      server.telemetry.of('credential').every(({ serverId, operation, backend }) => {
        return serverId === 'pw' && operation === 'validate' && backend === 'redis';
      }),
    ).toBe(true);
    await upload(session, parts, { 'x-token': TOKEN });
    expect(credentials()).toHaveLength(7);
  });

  test('that a signed URL could not be checked: the request was refused, no upload has failed', async () => {
    await start({ auth: true });
    const url = await server.signed(await server.session());
    vi.spyOn(server.files.store.nonces, 'find').mockRejectedValueOnce(new StoreUnavailable('down'));
    expect((await post(url, parts)).status).toBe(503);
    expect(failures()).toEqual([]);
    await vi.waitFor(() => expect(server.telemetry.of('request')).toHaveLength(1));
    expect(server.telemetry.of('request')[0]).toMatchObject({
      serverId: 'pw',
      route: '/upload/{server_id}',
      attributes: { outcome: 'state_unavailable', reason: 'upload_credential_validation_backend_unavailable' },
    });
  });
});

const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

/** A client that goes on sending the same without an end, a little at a time: by default a file. */
function endless(
  to: UploadServer,
  { sessionId }: SessionRecord,
  head = FILE_HEAD,
  url = `${to.url}/upload/pw`,
): { request: ClientRequest; stop: () => void } {
  const request = httpRequest(url, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=b', 'mcp-session-id': sessionId },
  });
  request.on('error', () => undefined);
  request.write(head);
  const timer = setInterval(() => request.write('x'.repeat(70_000)), 5);
  return { request, stop: () => clearInterval(timer) };
}
