import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runAdapter } from '../../support/adapter-process.ts';
import { contentOf, sha256Of } from '../../support/file-tools.ts';
import { startRedis } from '../../support/redis.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { eventually } from '../kit/eventually.ts';
import { artifactError, artifactOf, readResource } from './kit/artifacts.ts';
import { fileConfig } from './kit/settings.ts';
import { formFile, statusAndBody, upload, uploaded, uploadedOne } from './kit/uploads.ts';
import { type Scene, Scenes } from './kit/with-adapter.ts';
import { secret } from '../../support/secrets/secret.ts';

const NOT_KEPT = 'The file of the tool was not kept.';
const OFF = 'This tool takes uploaded files, and uploads are switched off on this server.';

/** Sections 7 and 8 of the specification, row by row, as far as they are about files. */
let scenes: Scenes;
beforeAll(async () => {
  scenes = await Scenes.open();
});
afterAll(() => scenes?.[Symbol.asyncDispose]());

const send = ({ adapter, session }: Scene, ...args: Parameters<typeof formFile>): Promise<[number, unknown]> =>
  statusAndBody(upload(adapter, session.sessionId, [formFile(...args)]));
const write = ({ door }: Scene, size: number): Promise<JsonObject> =>
  door.tool('write_file', { output_path: 'out.bin', size });

describe('section 7', () => {
  const TOKEN = secret('token of the clients');
  const auth = { core: { auth: { enabled: true, token: TOKEN } } };
  const headers = { 'x-mcp-adapter-auth-token': TOKEN };

  test.for<Record<string, string>>([{}, { 'x-mcp-adapter-auth-token': 'wrong' }])(
    'authentication is on and the token is %j',
    (wrong) =>
      scenes.play({ config: auth, headers }, async (scene) => {
        const { adapter, session, door } = scene;
        const refused = [
          401,
          { code: 'unauthorized', detail: 'The header X-Mcp-Adapter-Auth-Token is missing or wrong.' },
        ];
        expect(await statusAndBody(upload(adapter, session.sessionId, [formFile('a')], { headers: wrong }))).toEqual(
          refused,
        );
        const artifact = artifactOf(await door.tool('write_file', { output_path: 'out.bin' }));
        const url = `${adapter.url}/artifacts/up/${session.sessionId}/${artifact.id}`;
        const session_ = { 'mcp-session-id': session.sessionId };
        expect(await statusAndBody(fetch(url, { headers: { ...session_, ...wrong } }))).toEqual(refused);
      }),
  );

  test('a signed upload URL has been used or changed', () =>
    scenes.play({ config: auth, headers }, async ({ door, session }) => {
      const { result } = await door.tool('up_get_upload_url');
      const { upload_url: url } = asObject(asObject(result).structuredContent);
      const post = (to: string): Promise<[number, unknown]> => {
        const form = new FormData();
        form.append('file', new Blob(['x']), 'a');
        return statusAndBody(fetch(to, { method: 'POST', body: form }));
      };
      expect((await post(String(url).replace(/exp=\d/, 'exp=9')))[1]).toEqual({
        code: 'upload_url_invalid',
        detail: 'The upload URL is not valid; ask for a new one.',
      });
      expect(await post(String(url))).toMatchObject([200, { session_id: session.sessionId }]);
      expect(await post(String(url))).toEqual([
        401,
        {
          code: 'upload_url_invalid',
          detail: 'The upload URL has been used already, or it is not valid; ask for a new one.',
        },
      ]);
    }));

  test('uploads.enabled is false', () =>
    scenes.play({ config: { uploads: { enabled: false } } }, async (scene) => {
      const refused = [400, { code: 'uploads_disabled', detail: 'Uploads are switched off.' }];
      expect(await send(scene, 'a')).toEqual(refused);
      const { adapter, door } = scene;
      expect(await statusAndBody(fetch(`${adapter.url}/upload/up`, { method: 'POST', body: 'x' }))).toEqual(refused);
      const { result } = await door.tool('read_file', { path: 'upload://sessions/x/y' });
      expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: OFF }] });
      expect(JSON.stringify(await door.call('tools/list', {}))).not.toContain('up_get_upload_url');
    }));

  test('an upload is larger than uploads.max_file_bytes', () =>
    scenes.play({ config: { uploads: { max_file_bytes: 1_000 } } }, async (scene) => {
      expect(await send(scene, 'a', 1_000)).toMatchObject([200, { count: 1 }]);
      const before = await scene.lying();
      const tooLarge = [413, { code: 'file_too_large', detail: expect.stringContaining('1000') as string }];
      expect(await send(scene, 'b', 1_001)).toEqual(tooLarge);
      // All or nothing.
      const { adapter, session } = scene;
      const both = upload(adapter, session.sessionId, [formFile('c', 10), formFile('d', 1_001)]);
      expect(await statusAndBody(both)).toEqual(tooLarge);
      expect(await scene.lying()).toEqual(before);
    }));

  test('a checksum does not match', () =>
    scenes.play({}, async ({ adapter, session, lying }) => {
      const refused = [400, { code: 'sha256_mismatch', detail: expect.any(String) as string }];
      const files = [formFile('a', 10), formFile('b', 10)];
      const right = files.map(({ bytes }) => sha256Of(bytes));
      const wrong = [right[0] ?? '', sha256Of('something else')];
      expect(await statusAndBody(upload(adapter, session.sessionId, files, { sha256: wrong }))).toEqual(refused);
      expect(await statusAndBody(upload(adapter, session.sessionId, files, { sha256: right.toReversed() }))).toEqual(
        refused,
      );
      expect(await lying()).toEqual([]);
      const capitals = right.map((hash) => hash.toUpperCase());
      expect((await upload(adapter, session.sessionId, files, { sha256: capitals })).status).toBe(200);
    }));

  test('a checksum is required and absent, or there are not as many as files', () =>
    scenes.play({ config: { uploads: { require_sha256: true } } }, async (scene) => {
      const { adapter, session, lying } = scene;
      const absent = { code: 'sha256_missing', detail: 'The form field "sha256" is required for every file.' };
      expect(await send(scene, 'a')).toEqual([400, absent]);
      const hash = sha256Of(contentOf('a', 10));
      const one = upload(adapter, session.sessionId, [formFile('a', 10), formFile('b', 10)], { sha256: [hash] });
      expect(await statusAndBody(one)).toEqual([
        400,
        {
          code: 'sha256_count',
          detail: 'The form has 2 files and 1 sha256 fields; there must be one for each file, in the same order.',
        },
      ]);
      expect(await lying()).toEqual([]);
      await uploaded(adapter, session.sessionId, [formFile('a', 10)], { sha256: [hash] });
    }));

  test('there is no file, no session, no such session or no such server', () =>
    scenes.play({}, async ({ adapter, session }) => {
      const none = [400, { code: 'no_file', detail: 'The form has no file; send it as the field "file".' }];
      expect(await statusAndBody(upload(adapter, session.sessionId, [], { sha256: ['a'.repeat(64)] }))).toEqual(none);
      expect(await statusAndBody(upload(adapter, undefined, [formFile('a')]))).toEqual([
        400,
        { code: 'missing_session', detail: 'The Mcp-Session-Id header is missing; initialize first.' },
      ]);
      expect(await statusAndBody(upload(adapter, '0'.repeat(32), [formFile('a')]))).toEqual([
        404,
        { code: 'session_not_found', detail: 'The session is unknown or has ended; initialize again.' },
      ]);
      expect(await statusAndBody(upload(adapter, session.sessionId, [formFile('a')], { server: 'nobody' }))).toEqual([
        404,
        { code: 'unknown_server', detail: 'There is no server of this name.' },
      ]);
      expect(await statusAndBody(fetch(`${adapter.url}/upload/up`, { method: 'PUT', body: 'x' }))).toMatchObject([
        405,
        { code: 'method_not_allowed' },
      ]);
    }));

  describe('a write would exceed', () => {
    test('storage.max_size', () =>
      scenes.play({ config: { storage: { max_size: 1_000 } } }, async (scene) => {
        const { handle } = await uploadedOne(scene.adapter, scene.session.sessionId, 'first', 600);
        const detail = 'The files of all sessions take up all the space that there is.';
        expect(await send(scene, 'second', 401)).toEqual([507, { code: 'storage_quota', detail }]);
        const captured = await write(scene, 401);
        expect(captured.result).toMatchObject({
          isError: true,
          content: [{ text: `${detail} ${NOT_KEPT}` }, { text: 'wrote 401 bytes' }],
        });
        expect(artifactError(captured)).toEqual({ code: 'storage_quota', detail });
        // Nothing was evicted for it.
        expect((await scene.door.tool('read_file', { path: handle })).result).not.toMatchObject({ isError: true });
        expect(await scene.lying()).toMatchObject([{ size: 600 }]);
        expect(await send(scene, 'third', 400)).toMatchObject([200, {}]);
      }));

    test('sessions.max_total_session_size, after eviction', () =>
      scenes.play({ config: { sessions: { max_total_session_size: 1_000 } } }, async (scene) => {
        const first = await uploadedOne(scene.adapter, scene.session.sessionId, 'first', 600);
        expect(await send(scene, 'second', 600)).toMatchObject([200, {}]);
        expect((await scene.door.tool('read_file', { path: first.handle })).result).toMatchObject({ isError: true });
        expect(await scene.lying()).toMatchObject([{ size: 600 }]);
        const detail = 'The files of this session take up all the space that it may use.';
        expect(await send(scene, 'third', 1_001)).toEqual([507, { code: 'session_quota', detail }]);
        const captured = await write(scene, 1_001);
        expect(captured.result).toMatchObject({
          isError: true,
          content: [{ text: `${detail} ${NOT_KEPT}` }, { text: 'wrote 1001 bytes' }],
        });
        expect(artifactError(captured)).toEqual({ code: 'session_quota', detail });
        // What could not be met evicts nothing.
        expect(await scene.lying()).toMatchObject([{ size: 600 }]);
      }));

    test.for([
      ['lru_uploads_then_artifacts', 'uploads/'],
      ['lru_artifacts_then_uploads', 'artifacts/'],
    ] as const)('it with %s: these go first, the least recently used first', ([eviction_policy, gone]) =>
      scenes.play({ config: { sessions: { max_total_session_size: 1_000, eviction_policy } } }, async (scene) => {
        const old = await uploadedOne(scene.adapter, scene.session.sessionId, 'old', 250);
        const used = await uploadedOne(scene.adapter, scene.session.sessionId, 'used', 250);
        const first = artifactOf(await write(scene, 250));
        const second = artifactOf(await write(scene, 250));
        await scene.door.tool('read_file', { path: old.handle });
        await readResource(scene.door, first.uri);
        expect(await send(scene, 'new', 200)).toMatchObject([200, {}]);
        const paths = (await scene.lying()).map(({ path }) => path);
        const victim = gone === 'uploads/' ? used.id : second.id;
        expect(paths).toHaveLength(4);
        expect(paths.filter((path) => path.includes(victim))).toEqual([]);
      }),
    );

    test('artifacts.max_per_session: the tool is not called', () =>
      scenes.play({ config: { artifacts: { max_per_session: 1 } } }, async (scene) => {
        artifactOf(await write(scene, 10));
        const detail = expect.stringContaining(
          'The session has 1 artifacts, which is the most that it may have; the tool was not called.',
        ) as string;
        expect((await write(scene, 10)).result).toMatchObject({
          isError: true,
          content: [{ type: 'text', text: detail }],
        });
        expect(await scene.lying()).toHaveLength(1);
        expect(asObject((await write(scene, 10)).result).content).toHaveLength(1);
      }));
  });

  test('the state store is down, with unavailable_policy fail_closed', async () => {
    await using redis = await startRedis();
    const access = { host: redis.host, port: redis.port, ping_seconds: 0.2, wait_seconds: 0.2 };
    const state_persistence = { type: 'redis', redis: access };
    await scenes.play({ config: { state_persistence } }, async (scene) => {
      const { adapter, session, door } = scene;
      const artifact = artifactOf(await write(scene, 10));
      await redis.stop();
      await eventually(async () => (await fetch(`${adapter.url}/readyz`)).status, 50).toBe(503);
      const refused = [
        503,
        { code: 'state_unavailable', detail: 'The state store is unavailable; stateful operations are rejected.' },
      ];
      const response = await upload(adapter, session.sessionId, [formFile('a')]);
      expect(response.headers.get('retry-after')).not.toBeNull();
      expect(await statusAndBody(response)).toEqual(refused);
      expect(await statusAndBody(fetch(artifact.downloadUrl ?? ''))).toEqual(refused);
      expect(await door.call('resources/read', { uri: artifact.uri })).toMatchObject({
        error: { data: { code: 'state_unavailable' } },
      });
      await redis.start();
      await eventually(async () => (await fetch(`${adapter.url}/readyz`)).status, 50).toBe(200);
      expect((await upload(adapter, session.sessionId, [formFile('a')])).status).toBe(200);
    });
  });

  test.for([
    ['lock_mode redis without Redis', { lock_mode: 'redis' }, 'lock_mode'],
    [
      'more roots for locators without any',
      { artifact_locator_policy: 'allow_configured_roots' },
      'artifact_locator_allowed_roots',
    ],
  ] as const)('the configuration is invalid: %s', async ([, storage, said]) => {
    const config = fileConfig('/nowhere', 'http://127.0.0.1:1/mcp', { state_persistence: { type: 'disk' }, storage });
    const { code, stdout, stderr } = await runAdapter({ config });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(said);
  });
});

describe('section 8, without a word in the configuration', () => {
  test('a file may have 10 MiB, and not a byte more', () =>
    scenes.play({}, async (scene) => {
      expect(await send(scene, 'a', 10_485_760)).toMatchObject([200, { upload: { size_bytes: 10_485_760 } }]);
      expect(await send(scene, 'b', 10_485_761)).toMatchObject([413, { code: 'file_too_large' }]);
    }));

  test('neither a session nor all of them have a limit', () =>
    scenes.play({}, async (scene) => {
      for (const name of ['a', 'b', 'c']) expect(await send(scene, name, 9_000_000)).toMatchObject([200, {}]);
      expect(await scene.lying()).toHaveLength(3);
      for (let count = 0; count < 12; count += 1) artifactOf(await write(scene, 10));
    }));

  test('a signed URL is good for 120 seconds', () =>
    scenes.play(
      {
        config: { core: { auth: { enabled: true, token: 'token' } } },
        headers: { 'x-mcp-adapter-auth-token': 'token' },
      },
      async ({ door }) => {
        const before = Math.floor(Date.now() / 1_000);
        const { result } = await door.tool('up_get_upload_url');
        const { upload_url: url, credential_ttl_seconds: ttl } = asObject(asObject(result).structuredContent);
        expect(ttl).toBe(120);
        const exp = Number(new URL(String(url)).searchParams.get('mcp_upload_exp'));
        expect(exp - before).toBeGreaterThanOrEqual(120);
        expect(exp).toBeLessThanOrEqual(Math.floor(Date.now() / 1_000) + 121);
      },
    ));
});
