import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentOf, type FileTools, startFileTools } from '../../support/file-tools.ts';
import { connectV1 } from '../../support/real-client-v1.ts';
import { connectV2 } from '../../support/real-client-v2.ts';
import type { Answers, RealClient } from '../../support/real-client.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import type { ScriptedTool } from '../../support/scripted-upstream/tools.ts';
import { mounted } from '../kit/deployment.ts';
import { EventReader, isMethod } from '../kit/events.ts';
import { type InProcessAdapter, startInProcess } from '../kit/in-process.ts';
import { openSession } from '../kit/session.ts';
import { artifactOf, bytesOf } from './kit/artifacts.ts';
import { startCrew } from './kit/crew.ts';
import { lying, type SharedFolder, sharedFolder } from './kit/folder.ts';
import { fileConfig, withEntries } from './kit/settings.ts';

const ANSWERS: Answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] };
const GIVEN = { type: 'artifact_producer', output_path_argument: 'output_path' };
const RAW = { ...GIVEN, tools: ['write_file'], allow_raw_output: true };

let tools: FileTools;
beforeAll(async () => {
  tools = await startFileTools();
});
afterAll(() => tools?.stop());

describe.each([
  ['v1', connectV1],
  ['v2', connectV2],
] as const)('a client of SDK %s', (_version, connect) => {
  let adapter: InProcessAdapter;
  let client: RealClient;
  let folder: SharedFolder;

  beforeAll(async () => {
    folder = await sharedFolder();
    const entries = withEntries(tools.url, RAW, { ...GIVEN, tools: ['write_text', 'fail'] });
    adapter = await startInProcess(fileConfig(folder.path, tools.url, entries));
    client = await connect({ url: `${adapter.url}/mcp/up`, transport: 'streamable_http', answers: ANSWERS });
  });
  afterAll(async () => {
    await client?.close();
    await adapter?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const listed = async (): Promise<JsonObject[]> => {
    const { resources } = await client.request('resources/list');
    return (resources as unknown[]).map(asObject).filter(({ uri }) => String(uri).startsWith('artifact://'));
  };

  test('hears of the file of a tool, sees it in the result and in the list, reads it and downloads it', async () => {
    expect(asObject(client.initialized.capabilities).resources).toEqual({ listChanged: true });
    const text = '# Grüße\n';
    const result = await client.callTool('write_text', { output_path: '/anywhere/notes.md', text });
    const artifact = artifactOf({ result });
    expect(artifact).toMatchObject({ filename: 'notes.md', mimeType: 'text/markdown', size: Buffer.byteLength(text) });
    await client.waitForMessage(({ method }) => method === 'notifications/resources/list_changed');
    const shown = { uri: artifact.uri, name: 'notes.md', mimeType: 'text/markdown', size: artifact.size };
    expect(result.content).toEqual([
      { type: 'text', text: 'wrote it' },
      expect.objectContaining({ type: 'resource_link', ...shown }),
      { type: 'text', text: expect.stringContaining(artifact.downloadUrl ?? 'no URL') as string },
    ]);
    expect(await listed()).toEqual([expect.objectContaining(shown)]);
    expect(await client.request('resources/read', { uri: artifact.uri })).toEqual({
      contents: [{ uri: artifact.uri, mimeType: 'text/markdown', text }],
    });
    const whole = await fetch(artifact.downloadUrl ?? '');
    expect(whole.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect((await bytesOf(whole)).toString()).toBe(text);
    const part = await fetch(artifact.downloadUrl ?? '', { headers: { range: 'bytes=2-' } });
    expect([part.status, (await bytesOf(part)).toString()]).toEqual([206, 'Grüße\n']);
  });

  test('gets the bytes themselves where that is allowed', async () => {
    const result = await client.callTool('write_file', { output_path: 'a.bin', size: 300_001 });
    const { resource } = asObject((result.content as unknown[])[1]);
    const { blob, ...named } = asObject(resource);
    expect(named).toEqual({ uri: artifactOf({ result }).uri, mimeType: 'application/octet-stream' });
    expect(Buffer.from(String(blob), 'base64').equals(contentOf('seed', 300_001))).toBe(true);
  });

  test('finds nothing of a tool that failed', async () => {
    const before = await listed();
    const result = await client.callTool('fail', { output_path: 'b.bin', writes: true });
    expect(result).toEqual({ content: [{ type: 'text', text: 'it went wrong' }], isError: true });
    expect(await listed()).toEqual(before);
    // The stream of the answer ends a moment after the answer, and only then nothing of it is left.
    await expect.poll(async () => (await lying(folder.path)).length).toBe(before.length);
  });
});

describe.each(['json', 'sse'] as const)('a server that answers with %s', (answers) => {
  /** An adapter before a tool `make` that writes `bytes` and answers with this JSON text of a result. */
  async function before(result: string, bytes: Buffer, changes: JsonObject = {}) {
    await using opened = new AsyncDisposableStack();
    const folder = opened.use(await sharedFolder());
    const upstream = opened.use(await startScriptedUpstream({ answers }));
    const definition = { inputSchema: { type: 'object', properties: {} } };
    const call: ScriptedTool['call'] = async (made) => {
      await writeFile(String(made.arguments.out), bytes);
      if (bytes.length === 0) await made.released('done');
      return { resultText: result };
    };
    upstream.tools.set('make', { definition, call });
    const entry = { type: 'artifact_producer', tools: ['make'], output_path_argument: 'out', ...changes };
    const servers = [mounted('up', upstream.url, { adapters: [entry] })];
    const adapter = opened.use(await startInProcess({ servers, storage: { root: folder.path } }));
    const session = await openSession(adapter);
    const running = opened.move();
    const dispose = (): Promise<void> => running.disposeAsync();
    return { adapter, folder, upstream, door: session.at(adapter), [Symbol.asyncDispose]: dispose };
  }

  test('keeps every digit of it, whatever is added', async () => {
    const result = '{ "content" : [ ], "_meta":{"a":1.50}, "big":12345678901234567890 }';
    await using scene = await before(result, Buffer.from('text'), { allow_raw_output: true });
    const response = await scene.door.request('tools/call', { name: 'make', arguments: { n: 1 } });
    const text = await response.text();
    expect(text).toContain('"a":1.50');
    expect(text).toContain('"big":12345678901234567890');
    const message = asObject(JSON.parse(answers === 'json' ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '')));
    const { content, _meta } = asObject(message.result);
    expect(content).toMatchObject([{ resource: { mimeType: 'text/plain', text: 'text' } }, { type: 'resource_link' }]);
    expect(_meta).toMatchObject({
      a: 1.5,
      artifact: { filename: expect.stringMatching(/^artifact-.*\.txt$/) as string },
    });
  });

  test('has nothing kept of a call that ran out of time, or whose client has gone', async () => {
    const overrides = { tool_call_timeout_seconds: 0.2 };
    await using scene = await before('{"content":[]}', Buffer.alloc(0), { overrides });
    const late = await scene.door.tool('make');
    expect(late.result).toMatchObject({ isError: true });
    await expect.poll(() => lying(scene.folder.path)).toEqual([]);

    const gone = new AbortController();
    const leaving = scene.door.request('tools/call', { name: 'make' }, { signal: gone.signal });
    await expect.poll(async () => (await lying(scene.folder.path)).length).toBe(1);
    gone.abort();
    await leaving.then((response) => response.text()).catch(() => undefined);
    await expect.poll(() => lying(scene.folder.path)).toEqual([]);
  });
});

test('a client hears of a new artifact on its stream at another replica', async () => {
  await using crew = await startCrew({ replicas: 2 });
  const session = await openSession(crew.at(0));
  const gone = new AbortController();
  const stream = new EventReader(await session.at(crew.at(1)).stream({ signal: gone.signal }));
  const made = await session.at(crew.at(0)).tool('write_text', { output_path: 'a.txt', text: 'a' });
  expect(artifactOf(made).filename).toBe('a.txt');
  const changed = 'notifications/resources/list_changed';
  expect(await stream.message(isMethod(changed))).toEqual({ jsonrpc: '2.0', method: changed });
  gone.abort();
});
