import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { contentOf, type FileTools, sha256Of, startFileTools } from '../../support/file-tools.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { merged, mounted } from '../kit/deployment.ts';
import { eventually } from '../kit/eventually.ts';
import { startInProcess } from '../kit/in-process.ts';
import { openSession, type Place, type Session } from '../kit/session.ts';
import { lying, type SharedFolder, sharedFolder } from './kit/folder.ts';
import { startHalfUpload } from './kit/half-upload.ts';
import { fileConfig } from './kit/settings.ts';
import { contentSeen, formFile, statusAndBody, upload, uploadTo } from './kit/uploads.ts';
import { secret } from '../../support/secrets/secret.ts';

const run = promisify(execFile);
const TOKEN = secret('token of the clients');
const AUTH = { auth: { enabled: true, token: TOKEN } };
const HEADERS = { 'x-mcp-adapter-auth-token': TOKEN };
const MIB = 1024 * 1024;
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
);

let tools: FileTools;
beforeAll(async () => {
  tools = await startFileTools();
});
afterAll(async () => {
  await tools?.stop();
});

interface Scene<A = Place> {
  readonly adapter: A;
  readonly folder: SharedFolder;
  readonly session: Session;
}

async function withAdapter(config: JsonObject, play: (scene: Scene) => Promise<void>): Promise<void> {
  await using folder = await sharedFolder();
  await using adapter = await startInProcess(fileConfig(folder.path, tools.url, config));
  const session = await openSession(adapter, { headers: HEADERS });
  await play({ adapter, folder, session });
}

/** The same with a process, which can be told to stop. */
async function withProcess(config: JsonObject, play: (scene: Scene<RunningAdapter>) => Promise<void>): Promise<void> {
  await using folder = await sharedFolder();
  await using adapter = await startAdapter({ config: fileConfig(folder.path, tools.url, config) });
  const session = await openSession(adapter, { headers: HEADERS });
  await play({ adapter, folder, session });
}

/** What the helper tool answers. */
async function helped({ adapter, session }: Scene, headers?: Record<string, string>): Promise<JsonObject> {
  const params = { name: 'up_get_upload_url', arguments: {} };
  const response = await session.at(adapter).request('tools/call', params, headers === undefined ? {} : { headers });
  return asObject(asObject(asObject(await response.json()).result).structuredContent);
}

/** Runs a command as a user's shell would. */
const shell = async (command: string): Promise<string> => (await run('sh', ['-c', command])).stdout;

describe('curl', () => {
  beforeEach((context) => {
    if (!hasCurl) context.skip('curl is not on the PATH');
  });

  test.for([
    ['with a token', AUTH],
    ['without', {}],
  ] as const)('runs the commands of the helper tool as they are, %s', ([, core]) =>
    withAdapter({ core, uploads: { require_sha256: true } }, async (scene) => {
      const first = join(scene.folder.path, 'first file.bin');
      const second = join(scene.folder.path, 'second.bin');
      await writeFile(first, contentOf('first', 1000));
      await writeFile(second, contentOf('second', 2000));
      const hashes = [sha256Of(contentOf('first', 1000)), sha256Of(contentOf('second', 2000))] as const;

      const one = String((await helped(scene)).example_curl)
        .replace('<sha256 of /path/to/file>', hashes[0])
        .replace('/path/to/file', first);
      const answer = asObject(JSON.parse(await shell(one)));
      expect(answer).toMatchObject({ count: 1, upload: { filename: 'first_file.bin', sha256: hashes[0] } });
      const { result } = await scene.session.at(scene.adapter).tool('read_file', { path: answer.upload_handle });
      expect(JSON.stringify(result)).toContain(hashes[0]);

      const two = String((await helped(scene)).example_curl_multiple)
        .replace('<sha256 of /path/to/first>', hashes[0])
        .replace('<sha256 of /path/to/second>', hashes[1])
        .replace('/path/to/first', first)
        .replace('/path/to/second', second);
      expect(asObject(JSON.parse(await shell(two)))).toMatchObject({
        count: 2,
        uploads: [{ sha256: hashes[0] }, { sha256: hashes[1] }],
      });
    }),
  );

  test('is told that a file is too large, and stops sending it', () =>
    withAdapter({ uploads: { max_file_bytes: '1Mi' } }, async (scene) => {
      const path = join(scene.folder.path, 'large.bin');
      await writeFile(path, Buffer.alloc(200 * MIB));
      const { upload_url: url } = await helped(scene);
      const header = `Mcp-Session-Id: ${scene.session.sessionId}`;
      const form = ['-sS', '-F', `file=@${path}`, '-H', header, '-w', '\n%{http_code} %{size_upload}', String(url)];
      const { stdout } = await run('curl', form);
      const [body = '', figures = ''] = stdout.split('\n');
      const [status, sent] = figures.split(' ').map(Number);
      expect([status, JSON.parse(body)]).toMatchObject([413, { code: 'file_too_large' }]);
      expect(sent).toBeLessThan(50 * MIB);
      expect(await lying(scene.folder.path)).toEqual([]);
    }));

  test('need not send a large file that would be refused', () =>
    withAdapter({ core: AUTH }, async (scene) => {
      const path = join(scene.folder.path, 'large.bin');
      await writeFile(path, Buffer.alloc(8 * MIB));
      const url = String((await helped(scene)).upload_url);
      expect((await uploadTo(url, [formFile('other')])).status).toBe(200);
      const form = ['-sS', '-F', `file=@${path}`, '-w', '\n%{http_code} %{size_upload}', url];
      const { stdout } = await run('curl', form);
      expect(stdout.split('\n')[1]).toBe('401 0');
    }));
});

describe('the URL to upload to', () => {
  const urlOf = async (scene: Scene, headers?: Record<string, string>): Promise<string> =>
    String((await helped(scene, headers)).upload_url);

  test('is that of the request, or that which a trusted proxy says', () =>
    withAdapter({}, async (scene) => {
      expect(await urlOf(scene)).toBe(`${scene.adapter.url}/upload/up`);
      const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'files.example:8443' };
      expect(await urlOf(scene, forwarded)).toBe('https://files.example:8443/upload/up');
      expect(await urlOf(scene, { 'x-forwarded-host': 'files.example/"><script>' })).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+\/upload\/up$/,
      );
    }));

  test('is not that which somebody says who is no trusted proxy', () =>
    withAdapter({ core: { trusted_proxies: ['10.0.0.1'] } }, async (scene) => {
      const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' };
      expect(await urlOf(scene, forwarded)).toBe(`${scene.adapter.url}/upload/up`);
    }));

  test('T8: is not what a trusted proxy passes on, where the names of the server are known', () =>
    withAdapter({ core: { allowed_hosts: ['files.example'] } }, async (scene) => {
      expect(await urlOf(scene, { 'x-forwarded-host': 'files.example' })).toBe('http://files.example/upload/up');
      expect(await urlOf(scene, { 'x-forwarded-host': 'evil.example' })).toBe(`${scene.adapter.url}/upload/up`);
    }));

  test('is the configured one, and the path too', () =>
    withAdapter({ core: { public_base_url: 'https://files.example/base/', upload_path: 'give/it' } }, async (scene) => {
      const forwarded = { 'x-forwarded-host': 'evil.example' };
      expect(await urlOf(scene, forwarded)).toBe('https://files.example/base/give/it/up');
      const headers = { 'mcp-session-id': scene.session.sessionId };
      expect((await uploadTo(`${scene.adapter.url}/give/it/up`, [formFile('a')], { headers })).status).toBe(200);
      expect((await upload(scene.adapter, scene.session.sessionId, [formFile('a')])).status).toBe(404);
    }));

  test('names a server whose name is not made for URLs', async () => {
    await using folder = await sharedFolder();
    const servers = [merged(mounted('up', tools.url), { id: 'my server ä' })];
    await using adapter = await startInProcess({ ...fileConfig(folder.path, tools.url), servers });
    const session = await openSession(adapter);
    const { result } = await session.at(adapter).tool('my_server_get_upload_url');
    const { upload_url: url, server_id: id } = asObject(asObject(result).structuredContent);
    expect([url, id]).toEqual([`${adapter.url}/upload/my%20server%20%C3%A4`, 'my server ä']);
    const headers = { 'mcp-session-id': session.sessionId };
    const [status, body] = await statusAndBody(uploadTo(String(url), [formFile('a')], { headers }));
    expect([status, asObject(body).server_id]).toEqual([200, 'my server ä']);
  });
});

test('uploads work while the upstream is down', async () => {
  await using folder = await sharedFolder();
  await using dying = await startFileTools();
  const ping = { enabled: true, interval_seconds: 0.05, timeout_seconds: 2, failure_threshold: 1 };
  const core = { upstream_ping: { ...ping, open_cooldown_seconds: 60 } };
  await using adapter = await startInProcess(fileConfig(folder.path, dying.url, { core }));
  const session = await openSession(adapter);
  await dying.stop();
  await eventually(async () => (await session.at(adapter).request('tools/list', {})).status, 50).toBe(503);
  expect((await upload(adapter, session.sessionId, [formFile('a')])).status).toBe(200);
});

test('an upload keeps its session from expiring, also a slow one', () =>
  withAdapter(
    { core: { cleanup_interval_seconds: 0.2 }, sessions: { idle_ttl_seconds: 1.5, allow_revival: false } },
    async (scene) => {
      const { adapter, folder, session } = scene;
      const slow = startHalfUpload(adapter, session.sessionId, 100_000);
      await slow.begun(folder.path);
      await delay(4000);
      const [status, body] = await slow.finish();
      expect(status).toBe(200);
      const { result } = await session.at(adapter).tool('read_file', { path: asObject(body).upload_handle });
      expect(JSON.stringify(result)).toContain(String(contentSeen('slow.bin', 100_000, 'slow').sha256));
    },
  ));

describe('a replica that is told to stop', () => {
  test('takes in what is under way, within its grace', () =>
    withProcess({ core: { shutdown_grace_seconds: 20 } }, async ({ adapter, folder, session }) => {
      const slow = startHalfUpload(adapter, session.sessionId, 100_000);
      await slow.begun(folder.path);
      adapter.kill('SIGTERM');
      await delay(300);
      expect((await slow.finish())[0]).toBe(200);
      expect(await adapter.exitsWithin(15_000)).toMatchObject({ code: 0 });
      expect((await lying(folder.path)).length).toBe(1);
    }));

  test('gives up the rest, tells its client, and leaves nothing of it', () =>
    withProcess({}, async ({ adapter, folder, session }) => {
      const slow = startHalfUpload(adapter, session.sessionId, 100_000);
      await slow.begun(folder.path);
      adapter.kill('SIGTERM');
      expect(await slow.answered()).toMatchObject([503, { code: 'draining' }]);
      expect(await adapter.exitsWithin(15_000)).toMatchObject({ code: 0 });
      expect(await lying(folder.path)).toEqual([]);
    }));
});

test('a connection is used again after an upload', () =>
  withAdapter({}, async ({ adapter, session }) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = (type: string, body: string): Promise<[number, number | undefined]> =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': type, 'mcp-session-id': session.sessionId };
        const outgoing = request(`${adapter.url}/upload/up`, { method: 'POST', agent, headers }, (incoming) => {
          incoming.resume().on('end', () => resolve([incoming.statusCode ?? 0, outgoing.socket?.localPort]));
        });
        outgoing.on('error', reject).end(body);
      });
    const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n';
    const [first, port] = await post('multipart/form-data; boundary=b', form);
    const again = await post('multipart/form-data; boundary=b', form);
    expect([first, ...again]).toEqual([200, 200, port]);
    agent.destroy();
  }));
