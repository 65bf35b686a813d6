import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import type { InProcessAdapter } from '../kit/in-process.ts';
import { textOf } from '../kit/session.ts';
import { artifactOf } from './kit/artifacts.ts';
import { lying } from './kit/folder.ts';
import { BOUNDARY, END, filePart, MULTIPART, part, send } from './kit/multipart.ts';
import { formFile, statusAndBody, upload, uploadedOne } from './kit/uploads.ts';
import { STATE, startVictim, type Victim } from './kit/victim.ts';

/** What the router does not know is not even an artifact. */
const notThere = expect.stringMatching(/^(artifact_)?not_found$/) as string;

describe('a client that wants files which are not its own', () => {
  let victim: Victim;
  let adapter: InProcessAdapter;
  let root: string;

  beforeAll(async () => {
    victim = await startVictim();
    ({ adapter, root } = victim);
  });
  afterAll(() => victim?.[Symbol.asyncDispose]());
  afterEach(() => victim.isWell());

  describe('by the name of a file', () => {
    const NAMES = {
      'climbs up': '../../../../../../tmp/owned',
      'climbs up as on Windows': String.raw`..\..\owned.txt`,
      'climbs up in other letters': '．．／．．／owned',
      'is absolute': '/etc/cron.d/owned',
      'is a folder': '..',
      'is hidden': '.bashrc',
      'is an option': '-rf',
      'is like a temporary file': '.notes.txt.0123456789abcdef.tmp',
      'is empty': '',
      'is spaces': '   ',
      'has 300 bytes': `${'n'.repeat(296)}.txt`,
      'has 300 bytes of other letters': 'é'.repeat(150),
      'turns round': 'a\u202Egpj.exe',
      'is invisible': '\u200B\u2060\uFEFF',
      'has a zero': 'a\0b.txt',
      'is half a letter': '\uD800.txt',
      'has a device’s name': 'CON',
    };

    test.for(Object.entries(NAMES))(
      'that %s: it is stored under a harmless one, in its own folder',
      async ([, name]) => {
        const session = await victim.open();
        const headers = { 'content-type': MULTIPART, 'mcp-session-id': session.sessionId };
        const { status, body } = await send(`${adapter.url}/upload/up`, [filePart(name), END], headers);
        expect([status, body]).toMatchObject([200, { count: 1, upload: { size_bytes: 7 } }]);
        const { upload_id: id, filename } = asObject(asObject(body).upload);
        expect(filename).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/);
        expect(String(filename).length).toBeLessThanOrEqual(200);
        expect(await victim.lyingOf(session)).toEqual([
          { path: `uploads/sessions/${session.sessionId}/${String(id)}/${String(filename)}`, size: 7, isFile: true },
        ]);
        const handle = String(asObject(body).upload_handle);
        const read = await session.at(adapter).tool('read_file', { path: handle });
        expect(asObject(read.result).structuredContent).toMatchObject({ files: [{ size: 7 }] });
      },
    );

    test.for(Object.entries(NAMES))('of an artifact that %s', async ([, name]) => {
      const session = await victim.open();
      const message = await session.at(adapter).tool('write_file', { output_path: name, size: 7 });
      const artifact = artifactOf(message);
      expect(artifact.filename).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/);
      expect(await victim.lyingOf(session)).toEqual([
        { path: `artifacts/sessions/${session.sessionId}/${artifact.id}/${artifact.filename}`, size: 7, isFile: true },
      ]);
    });
  });

  describe('by the id of a session', () => {
    const IDS = [
      '../../artifacts/sessions/victim',
      '..',
      '.',
      '/etc',
      'a/b',
      `${'0'.repeat(31)}/`,
      '0'.repeat(32),
      '%2e%2e',
    ];

    test.for(IDS)('%j of an upload', async (id) => {
      const before = await lying(root);
      expect(await statusAndBody(upload(adapter, id, [formFile('x')]))).toEqual([
        404,
        { code: 'session_not_found', detail: expect.any(String) as string },
      ]);
      expect(await lying(root)).toEqual(before);
    });

    test.for(IDS)('%j of a download', async (id) => {
      const url = `${adapter.url}/artifacts/up/${encodeURIComponent(id)}/${'0'.repeat(32)}`;
      const { status, body } = await send(url, [], { 'mcp-session-id': id }, 'GET');
      expect([status, asObject(body).code]).toEqual([404, notThere]);
    });
  });

  describe('by the path of a download', () => {
    test.for([
      '../../../state/adapter_state.sqlite3',
      '..%2f..%2f..%2fstate%2fadapter_state.sqlite3',
      '%2e%2e/%2e%2e/%2e%2e/state/adapter_state.sqlite3',
      'ID/..%2f..%2f..%2f..%2fstate%2fadapter_state.sqlite3',
      'ID/..',
      'ID/out.bin%00.png',
      'ID/out%2ebin%2f..',
      'id/out.bin',
    ])('%s', async (path) => {
      const session = await victim.open();
      const { id } = artifactOf(await session.at(adapter).tool('write_file', { output_path: 'out.bin' }));
      const url = `${adapter.url}/artifacts/up/${session.sessionId}/${path.replace('ID', id)}`;
      const { status, body } = await send(url, [], { 'mcp-session-id': session.sessionId }, 'GET');
      expect([status, asObject(body).code]).toEqual([404, notThere]);
    });
  });

  describe('by a handle', () => {
    test('of another session, in whatever form', async () => {
      const session = await victim.open();
      const stranger = await victim.open();
      const own = await uploadedOne(adapter, session.sessionId, 'own');
      const other = await uploadedOne(adapter, stranger.sessionId, 'other');
      const { sessionId } = session;
      const handles = [
        other.handle,
        `upload://sessions/${sessionId}/../${stranger.sessionId}/${other.id}`,
        `upload://sessions/${sessionId}/${own.id}/../../${stranger.sessionId}/${other.id}/other`,
        `upload://sessions/${sessionId}/${other.id}`,
        `upload://sessions/${sessionId}/..`,
        `upload://sessions/${sessionId}/%2e%2e`,
        `upload://sessions/../../../${STATE}/x`,
        `upload://sessions/${sessionId.toUpperCase()}/${own.id}`,
        `UPLOAD://sessions/${sessionId}/${own.id}`,
        ` ${own.handle}`,
        `${own.handle}\0`,
        `${own.handle}0`,
        `upload://${own.handle}`,
        'file:///etc/passwd',
        '/etc/passwd',
        join(root, STATE),
        '',
      ];
      for (const path of handles) {
        const { result } = await session.at(adapter).tool('read_file', { path });
        expect([path, asObject(result).isError]).toEqual([path, true]);
        // The adapter's own words: no tool has seen it.
        expect(textOf({ result })).toContain('up_get_upload_url');
        expect(JSON.stringify(result)).not.toContain('ENOENT');
      }
      const { result } = await session.at(adapter).tool('read_file', { path: own.handle });
      expect(asObject(result).isError).not.toBe(true);
    });

    test('of the same session id at another server', async () => {
      const session = await victim.open();
      const { handle } = await uploadedOne(adapter, session.sessionId, 'own');
      const elsewhere = await victim.open('/mcp/rx');
      expect(handle).not.toContain(elsewhere.sessionId);
      expect(await statusAndBody(upload(adapter, session.sessionId, [formFile('x')], { server: 'rx' }))).toMatchObject([
        404,
        { code: 'session_not_found' },
      ]);
    });
  });

  describe('by a form', () => {
    const invalid = { status: 400, body: { code: 'invalid_multipart', detail: expect.any(String) as string } };
    async function sendForm(chunks: Iterable<Buffer>, type = MULTIPART) {
      const session = await victim.open();
      const headers = { 'content-type': type, 'mcp-session-id': session.sessionId };
      const answer = await send(`${adapter.url}/upload/up`, chunks, headers);
      expect(await victim.lyingOf(session)).toEqual([]);
      return answer;
    }
    function* endless(chunk: Buffer): Generator<Buffer> {
      for (let sent = 0; sent < 256 * 1024 * 1024; sent += chunk.length) yield chunk;
    }

    test('of 100,000 files', async () => {
      const files = Buffer.concat(Array.from({ length: 1_000 }, (_, n) => filePart(`${n}`, 'x')));
      expect(await sendForm([...Array.from({ length: 100 }, () => files), END])).toEqual(invalid);
    });

    test('of 100,000 fields', async () => {
      const field = part('Content-Disposition: form-data; name="sha256"', 'x');
      const fields = Buffer.concat(Array.from({ length: 1_000 }, () => field));
      expect(await sendForm([...Array.from({ length: 100 }, () => fields), filePart('a'), END])).toEqual(invalid);
    });

    test('whose header never ends', async () => {
      const begin = Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="`);
      const chunks = (function* () {
        yield begin;
        yield* endless(Buffer.alloc(65_536, 'a'));
      })();
      expect(await sendForm(chunks)).toEqual(invalid);
    });

    test('whose headers never end', async () => {
      const chunks = (function* () {
        yield Buffer.from(`--${BOUNDARY}\r\n`);
        yield* endless(Buffer.from('X-More: and more\r\n'.repeat(1_000)));
      })();
      expect(await sendForm(chunks)).toEqual(invalid);
    });

    test('whose field never ends', async () => {
      const begin = Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="sha256"\r\n\r\n`);
      const chunks = (function* () {
        yield begin;
        yield* endless(Buffer.alloc(65_536, 'a'));
      })();
      expect(await sendForm(chunks)).toEqual(invalid);
    });

    test('whose file never ends', async () => {
      const begin = Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`);
      const chunks = (function* () {
        yield begin;
        yield* endless(Buffer.alloc(65_536, 'a'));
      })();
      expect(await sendForm(chunks)).toEqual({
        status: 413,
        body: { code: 'file_too_large', detail: expect.any(String) as string },
      });
    });

    test('that breaks off', async () => {
      expect(await sendForm([filePart('a')])).toEqual(invalid);
    });

    test('without its boundary', async () => {
      expect(await sendForm([filePart('a'), END], 'multipart/form-data')).toEqual(invalid);
    });

    test('with another boundary than it says', async () => {
      expect(await sendForm([filePart('a'), END], 'multipart/form-data; boundary=other')).toEqual(invalid);
    });

    test('with a boundary of 10,000 letters', async () => {
      expect(await sendForm([filePart('a'), END], `multipart/form-data; boundary=${'b'.repeat(10_000)}`)).toEqual(
        invalid,
      );
    });
  });

  describe('by a checksum', () => {
    test.for([
      '',
      'ab',
      'a'.repeat(63),
      'a'.repeat(65),
      'g'.repeat(64),
      'a'.repeat(64),
      `${'a'.repeat(64)}\n`,
      'é'.repeat(32),
    ])('%j', async (sha256) => {
      const session = await victim.open();
      const answer = upload(adapter, session.sessionId, [formFile('x')], { sha256: [sha256] });
      // Blank ones count as none.
      if (sha256 === '') {
        expect((await answer).status).toBe(200);
        return;
      }
      expect(await statusAndBody(answer)).toEqual([
        400,
        { code: 'sha256_mismatch', detail: expect.any(String) as string },
      ]);
      expect(await victim.lyingOf(session)).toEqual([]);
    });
  });
});
