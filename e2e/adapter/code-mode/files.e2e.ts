import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentOf, type FileTools, startFileTools } from '../../support/file-tools.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { at, bytesOf, readResource, resourceUris } from '../files/kit/artifacts.ts';
import { type SharedFolder, sharedFolder } from '../files/kit/folder.ts';
import { ENTRIES } from '../files/kit/settings.ts';
import { contentSeen, formFile, uploaded, uploadedOne, uploadTo } from '../files/kit/uploads.ts';
import { mounted } from '../kit/deployment.ts';
import { openSession, type Session } from '../kit/session.ts';
import { CODE_MODE, codeTools, execute, failuresOf, namesOf, valueOf } from './kit/code.ts';
import { type Replicas, startReplicas } from './kit/replicas.ts';

/** What the code sees of an artifact. */
interface Artifact {
  readonly artifact_uri: string;
  readonly filename: string;
  readonly size_bytes: number;
  readonly download_url: string;
}

describe('files of code, behind three replicas', { timeout: 60_000 }, () => {
  const started = new AsyncDisposableStack();
  let folder: SharedFolder;
  let tools: FileTools;
  let replicas: Replicas;
  let session: Session;

  beforeAll(async () => {
    folder = started.use(await sharedFolder());
    tools = started.use(await startFileTools());
    const raw = { path: '/mcp/raw', tool_defaults: { allow_raw_output: true } };
    const servers = [
      mounted('up', tools.url, { ...CODE_MODE, adapters: ENTRIES }),
      mounted('raw', tools.url, { ...CODE_MODE, adapters: ENTRIES, tool_defaults: raw.tool_defaults }),
    ];
    replicas = started.use(
      await startReplicas({ core: { allow_artifacts_download: true }, storage: { root: folder.path }, servers }),
    );
    session = await openSession(replicas.a);
  });
  afterAll(() => started.disposeAsync());

  test('uploads are read by the handles that the client got', async () => {
    const { a, b, c } = replicas;
    const { sessionId } = session;
    const names = ['one.bin', 'two.bin', 'three.bin'];
    const handles = (
      await uploaded(
        a,
        sessionId,
        names.map((name) => formFile(name)),
      )
    ).map(({ handle }) => handle);
    const { handle } = await uploadedOne(c, sessionId, 'big.bin', 300_000);
    const seen = await valueOf(
      session.at(b),
      `const handles = ${JSON.stringify(handles)};
       const seen = ({ structuredContent }) => structuredContent.files.map(({ size, sha256 }) => ({ size, sha256 }));
       const [big, many, nested, uri] = await Promise.all([
         call_tool('read_file', { path: ${JSON.stringify(handle)} }),
         call_tool('read_many', { paths: handles }),
         call_tool('read_nested', { a: { files: handles.map((path) => ({ path })) } }),
         call_tool('read_uri', { uri: handles[0] }),
       ]);
       return [big, many, nested, uri].map(seen);`,
    );
    const each = names.map((name) => contentSeen(name));
    expect(seen).toEqual([[contentSeen('big.bin', 300_000)], each, each, [each[0]]]);
  });

  test('a handle of nobody, and one of somebody else, is an error that says what to do', async () => {
    const { a, b } = replicas;
    const other = await openSession(b);
    const { handle } = await uploadedOne(b, other.sessionId, 'theirs.bin');
    const none = handle.replace(/[^/]+$/, '0'.repeat(32));
    const failures = await valueOf(
      session.at(a),
      `const failures = [];
       for (const path of [${JSON.stringify(handle)}, ${JSON.stringify(none)}, '/etc/passwd']) {
         try { failures.push(await call_tool('read_file', { path })); } catch (error) { failures.push(error.message); }
       }
       return failures;`,
    );
    expect(failures).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('up_get_upload_url')));
  });

  test('the code itself asks where to upload to', async () => {
    const { a, b } = replicas;
    const url = await valueOf(
      session.at(a),
      `return (await call_tool('up_get_upload_url')).structuredContent.upload_url;`,
    );
    const headers = { 'mcp-session-id': session.sessionId };
    expect((await uploadTo(at(b, String(url)), [formFile('asked.bin')], { headers })).status).toBe(200);
  });

  test('code whose user could upload by a page gets the URL of that page', async () => {
    const { a, c } = replicas;
    const own = await openSession(a, { capabilities: { elicitation: { url: {} } } });
    const [message] = (await valueOf(own.at(c), failuresOf(['read_file', {}]))) as [string];
    const url = message.split('\n').at(-1) ?? '';
    expect((await fetch(at(a, url))).status).toBe(200);
  });

  test('what tools make is known to the code, and read by the client at every replica', async () => {
    const { a, b, c } = replicas;
    const { made, failed } = (await valueOf(
      session.at(a),
      `const made = await Promise.all([
         call_tool('write_file', { output_path: 'report.bin', seed: 'r', size: 200000 }),
         call_tool('write_text', { output_path: 'notes.txt', text: 'Grüße' }),
         call_tool('embed', { as: 'image', seed: 'i', size: 100000 }),
       ]);
       let failed;
       try { await call_tool('write_nothing'); } catch (error) { failed = error.message; }
       return { made: made.map(({ artifacts }) => artifacts[0]), failed: failed ?? null };`,
    )) as { made: [Artifact, Artifact, Artifact]; failed: string | null };
    const [report, notes, image] = made;
    expect([report.filename, report.size_bytes, notes.filename]).toEqual(['report.bin', 200_000, 'notes.txt']);
    expect((await readResource(session.at(b), report.artifact_uri))?.equals(contentOf('r', 200_000))).toBe(true);
    expect((await readResource(session.at(c), notes.artifact_uri))?.toString()).toBe('Grüße');
    expect((await bytesOf(fetch(at(c, image.download_url)))).equals(contentOf('i', 100_000))).toBe(true);
    expect(await resourceUris(session.at(b))).toEqual(
      expect.arrayContaining(made.map(({ artifact_uri: uri }) => uri)) as string[],
    );
    expect(failed === null || failed.length > 0).toBe(true);
  });

  test('bytes that are part of a result reach the code, also when they come in parts', async () => {
    const raw = await openSession(replicas.b, { path: '/mcp/raw' });
    expect(namesOf((await raw.at(replicas.c).call('tools/list', {})).result)).toEqual(codeTools('raw'));
    const lengths = await valueOf(
      raw.at(replicas.a),
      `const { content, artifacts } = await call_tool('write_file', { output_path: 'raw.bin', size: 300000 });
       return [JSON.stringify(content).length > 300000, artifacts.length];`,
      'raw',
    );
    expect(lengths).toEqual([true, 1]);
  });

  test('a file that is being written when its code is cancelled leaves nothing behind', async () => {
    const { a, b } = replicas;
    const own = await openSession(a);
    const params: JsonObject = {
      name: 'up_execute',
      arguments: { code: `await call_tool('write_file', { output_path: 'half.bin', hold: 'half' });` },
    };
    const answer = own.at(a).send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params });
    await tools.arrived('half');
    await own.at(b).send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'x' } });
    expect(await (await answer).json()).toMatchObject({ id: 'x', error: { data: { code: 'cancelled' } } });
    expect(await resourceUris(own.at(b))).toEqual([]);
  });

  test('code that fails keeps what its tools have made', async () => {
    const said = await execute(
      session.at(replicas.a),
      `const { artifacts } = await call_tool('write_text', { output_path: 'kept.txt', text: 'kept' });
       console.log(artifacts[0].artifact_uri);
       throw new Error('on purpose');`,
    );
    expect(said).toMatchObject({ isError: true, text: expect.stringContaining('on purpose') });
    expect((await readResource(session.at(replicas.c), said.console.trim()))?.toString()).toBe('kept');
  });
});
