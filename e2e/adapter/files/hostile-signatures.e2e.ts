import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FileTools, startFileTools } from '../../support/file-tools.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { mounted } from '../kit/deployment.ts';
import { type InProcessAdapter, startInProcess } from '../kit/in-process.ts';
import { drain, openSession, type Session } from '../kit/session.ts';
import { type Artifact, artifactOf, bytesOf } from './kit/artifacts.ts';
import { lying, sharedFolder } from './kit/folder.ts';
import { ENTRIES, fileConfig } from './kit/settings.ts';
import { downloadQuery, uploadQuery } from './kit/signatures.ts';
import { formFile, statusAndBody, upload, uploadTo } from './kit/uploads.ts';
import { secret } from '../../support/secrets/secret.ts';

const TOKEN = secret('token of the clients');
const SECRET = secret('signing secret');
const AUTH = { 'x-mcp-adapter-auth-token': TOKEN };
const HOUR = 3_600;

const text = expect.any(String) as string;
const uploadRefused = [401, { code: 'upload_url_invalid', detail: text }];
const downloadRefused = [401, { code: 'download_url_invalid', detail: text }];

type Change = (query: URLSearchParams) => void;
const flip = (value: string): string => (value.startsWith('0') ? '1' : '0') + value.slice(1);

/** What somebody may do to a signature, with `sig` and `exp` as the names of its parts. */
const tampered = (sig: string, exp: string): Record<string, Change> => ({
  'is forged': (query) => query.set(sig, flip(query.get(sig) ?? '')),
  'is truncated': (query) => query.set(sig, (query.get(sig) ?? '').slice(0, -1)),
  'is half': (query) => query.set(sig, (query.get(sig) ?? '').slice(0, 32)),
  'is empty': (query) => query.set(sig, ''),
  'is missing': (query) => query.delete(sig),
  'is there twice': (query) => query.append(sig, query.get(sig) ?? ''),
  'is written in capitals': (query) => query.set(sig, `${query.get(sig)?.toUpperCase()}A`),
  'is longer': (query) => query.append(sig, '00'),
  'lasts longer': (query) => query.set(exp, String(Number(query.get(exp)) + HOUR)),
  'has no time': (query) => query.delete(exp),
  'has a time that is no number': (query) => query.set(exp, '1e99'),
  'has a time with a sign': (query) => query.set(exp, `+${query.get(exp)}`),
});

describe('T16: a signed URL', () => {
  const started = new AsyncDisposableStack();
  let root: string;
  let tools: FileTools;
  let adapter: InProcessAdapter;
  let session: Session;

  beforeAll(async () => {
    ({ path: root } = started.use(await sharedFolder()));
    tools = started.use(await startFileTools());
    const auth = { enabled: true, token: TOKEN, signing_secret: SECRET };
    const servers = ['up', 'other'].map((id) => mounted(id, tools.url, { adapters: ENTRIES }));
    adapter = started.use(await startInProcess(fileConfig(root, tools.url, { core: { auth }, servers })));
    session = await openSession(adapter, { headers: AUTH });
  });
  afterAll(() => started.disposeAsync());

  const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

  describe('for uploads', () => {
    const file = formFile('signed', 10);

    async function issued(): Promise<URL> {
      const { result } = await session.at(adapter).tool('up_get_upload_url');
      return new URL(String(asObject(asObject(result).structuredContent).upload_url));
    }

    test('works without a token and without a session header, once', async () => {
      const url = await issued();
      expect(await statusAndBody(uploadTo(url.href, [file]))).toMatchObject([200, { session_id: session.sessionId }]);
      expect(await statusAndBody(uploadTo(url.href, [file]))).toEqual(uploadRefused);
      expect(await statusAndBody(fetch(url))).toMatchObject([401, expect.stringMatching(/^<!doctype html>/i)]);
    });

    test('is made as it is written', async () => {
      const { searchParams } = await issued();
      const exp = Number(searchParams.get('mcp_upload_exp'));
      const nonce = searchParams.get('mcp_upload_nonce') ?? '';
      expect(nonce).toMatch(/^[0-9a-f]{32}$/);
      expect(exp).toBeGreaterThan(inSeconds(60));
      expect(exp).toBeLessThanOrEqual(inSeconds(120));
      const own = uploadQuery(SECRET, { server: 'up', session: session.sessionId, exp, nonce });
      expect(searchParams.get('mcp_upload_sig')).toBe(own.get('mcp_upload_sig'));
    });

    const changes = {
      ...tampered('mcp_upload_sig', 'mcp_upload_exp'),
      'has another nonce': (query) => query.set('mcp_upload_nonce', randomBytes(16).toString('hex')),
      'has half a nonce': (query) => query.set('mcp_upload_nonce', (query.get('mcp_upload_nonce') ?? '').slice(0, 16)),
    } satisfies Record<string, Change>;

    test.for(Object.entries(changes))('that %s is refused, and the true one still works', async ([, change]) => {
      const before = await lying(root);
      const url = await issued();
      const forged = new URL(url);
      change(forged.searchParams);
      expect(await statusAndBody(uploadTo(forged.href, [file]))).toEqual(
        // Without any part of a signature it is a request without a token.
        uploadRefused,
      );
      expect(await lying(root)).toEqual(before);
      expect((await uploadTo(url.href, [file])).status).toBe(200);
    });

    test('that has expired is refused', async () => {
      const nonce = randomBytes(16).toString('hex');
      const query = uploadQuery(SECRET, { server: 'up', session: session.sessionId, exp: inSeconds(-2), nonce });
      const [status, body] = await statusAndBody(uploadTo(`${adapter.url}/upload/up?${query.toString()}`, [file]));
      expect([status, body]).toEqual(uploadRefused);
      expect(asObject(body).detail).toContain('expired');
    });

    test('that nobody has issued is refused, however well it is signed', async () => {
      const nonce = randomBytes(16).toString('hex');
      const query = uploadQuery(SECRET, { server: 'up', session: session.sessionId, exp: inSeconds(60), nonce });
      expect(await statusAndBody(uploadTo(`${adapter.url}/upload/up?${query.toString()}`, [file]))).toEqual(
        uploadRefused,
      );
    });

    test('is for one session and one server', async () => {
      const other = await openSession(adapter, { headers: AUTH });
      const url = await issued();
      const headers = { 'mcp-session-id': other.sessionId };
      expect(await statusAndBody(uploadTo(url.href, [file], { headers }))).toEqual(uploadRefused);
      const elsewhere = url.href.replace('/upload/up', '/upload/other');
      expect(await statusAndBody(uploadTo(elsewhere, [file]))).toEqual(uploadRefused);
      expect((await uploadTo(url.href, [file])).status).toBe(200);
    });

    test('is worth nothing when its session has ended', async () => {
      const ended = await openSession(adapter, { headers: AUTH });
      const { result } = await ended.at(adapter).tool('up_get_upload_url');
      const url = String(asObject(asObject(result).structuredContent).upload_url);
      expect(await drain(ended.at(adapter).end())).toBe(200);
      expect(await statusAndBody(uploadTo(url, [file]))).toMatchObject([404, { code: 'session_not_found' }]);
    });

    test('and neither it nor a token: refused', async () => {
      const refused = [401, { code: 'unauthorized', detail: text }];
      expect(await statusAndBody(upload(adapter, session.sessionId, [file]))).toEqual(refused);
      const headers = { 'x-mcp-adapter-auth-token': `${TOKEN}x` };
      expect(await statusAndBody(upload(adapter, session.sessionId, [file], { headers }))).toEqual(refused);
      expect((await upload(adapter, session.sessionId, [file], { headers: AUTH })).status).toBe(200);
    });
  });

  describe('for downloads', () => {
    let artifact: Artifact;

    beforeAll(async () => {
      artifact = artifactOf(await session.at(adapter).tool('write_text', { output_path: 'a b.txt', text: 'hello' }));
    });
    const issued = (): URL => new URL(artifact.downloadUrl ?? '');

    test('works without a token and a session header, many times', async () => {
      for (const _ of [1, 2]) expect((await bytesOf(fetch(issued()))).toString()).toBe('hello');
      const [empty, artifacts, server, sealed, ...rest] = issued().pathname.split('/');
      expect([empty, artifacts, server, ...rest]).toEqual(['', 'artifacts', 'up', artifact.id, artifact.filename]);
      expect(sealed).toMatch(/^[\w-]{59}$/);
      expect(issued().href).not.toContain(session.sessionId);
    });

    test('is as good at the path that tells the session', async () => {
      const url = issued();
      url.pathname = `/artifacts/up/${session.sessionId}/${artifact.id}/${artifact.filename}`;
      expect((await bytesOf(fetch(url))).toString()).toBe('hello');
    });

    test('is made as it is written', () => {
      const { searchParams } = issued();
      const exp = Number(searchParams.get('mcp_artifact_exp'));
      const { filename, id } = artifact;
      const own = downloadQuery(SECRET, { server: 'up', session: session.sessionId, artifact: id, filename, exp });
      expect(searchParams.get('mcp_artifact_sig')).toBe(own.get('mcp_artifact_sig'));
    });

    test.for(Object.entries(tampered('mcp_artifact_sig', 'mcp_artifact_exp')))(
      'that %s is refused',
      async ([, change]) => {
        const url = issued();
        change(url.searchParams);
        expect(await statusAndBody(fetch(url))).toEqual(downloadRefused);
      },
    );

    test('that has expired is refused', async () => {
      const url = issued();
      const { filename, id } = artifact;
      const of = { server: 'up', session: session.sessionId, artifact: id, filename, exp: inSeconds(-2) };
      url.search = downloadQuery(SECRET, of).toString();
      expect(await statusAndBody(fetch(url))).toEqual(downloadRefused);
    });

    test('is for one artifact', async () => {
      const other = artifactOf(await session.at(adapter).tool('write_text', { output_path: 'b.txt', text: 'other' }));
      const url = issued();
      url.pathname = new URL(other.downloadUrl ?? '').pathname;
      expect(await statusAndBody(fetch(url))).toEqual(downloadRefused);
      const renamed = issued();
      renamed.pathname = renamed.pathname.replace(artifact.filename, 'c.txt');
      expect(await statusAndBody(fetch(renamed))).toEqual(downloadRefused);
      const elsewhere = issued();
      elsewhere.pathname = elsewhere.pathname.replace('/artifacts/up/', '/artifacts/other/');
      expect(await statusAndBody(fetch(elsewhere))).toEqual(downloadRefused);
    });

    test('without it: a token, and the session of the path', async () => {
      const url = issued();
      url.search = '';
      const own = { 'mcp-session-id': session.sessionId };
      const other = await openSession(adapter, { headers: AUTH });
      expect(await statusAndBody(fetch(url, { headers: own }))).toEqual([401, { code: 'unauthorized', detail: text }]);
      const notThere = [404, { code: 'artifact_not_found', detail: text }];
      expect(await statusAndBody(fetch(url, { headers: AUTH }))).toEqual([
        400,
        { code: 'missing_session', detail: text },
      ]);
      const wrong = { ...AUTH, 'mcp-session-id': other.sessionId };
      expect(await statusAndBody(fetch(url, { headers: wrong }))).toEqual(notThere);
      expect((await bytesOf(fetch(url, { headers: { ...AUTH, ...own } }))).toString()).toBe('hello');
      url.searchParams.set('session_id', session.sessionId);
      expect((await bytesOf(fetch(url, { headers: AUTH }))).toString()).toBe('hello');
    });
  });
});
