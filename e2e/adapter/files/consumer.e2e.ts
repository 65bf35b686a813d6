import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FileTools, startFileTools } from '../../support/file-tools.ts';
import { connectV1 } from '../../support/real-client-v1.ts';
import { connectV2 } from '../../support/real-client-v2.ts';
import type { Answers, RealClient } from '../../support/real-client.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { type InProcessAdapter, startInProcess } from '../kit/in-process.ts';
import { openSession } from '../kit/session.ts';
import { type SharedFolder, sharedFolder } from './kit/folder.ts';
import { fileConfig } from './kit/settings.ts';
import { asUploads, contentSeen, formFile, uploadedOne, uploadTo } from './kit/uploads.ts';

const HELPER = 'up_get_upload_url';
const DOC = 'doc://upload_workflow.md';

const listOf = (result: JsonObject, member: string): JsonObject[] => (result[member] as unknown[]).map(asObject);

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
    adapter = await startInProcess(fileConfig(folder.path, tools.url));
    const answers: Answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] };
    client = await connect({ url: `${adapter.url}/mcp/up`, transport: 'streamable_http', answers });
  });
  afterAll(async () => {
    await client?.close();
    await adapter?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  /** Asks where to upload, does so, and resolves with the handles. */
  async function uploadAsTold(...names: string[]): Promise<string[]> {
    const { structuredContent } = await client.callTool(HELPER);
    const { upload_url: url, headers } = asObject(structuredContent);
    const response = await uploadTo(
      String(url),
      names.map((name) => formFile(name)),
      { headers: headers as Record<string, string> },
    );
    expect(response.status).toBe(200);
    return asUploads(asObject(await response.json())).map(({ handle }) => handle);
  }
  const filesSeen = (result: JsonObject): JsonObject[] => listOf(asObject(result.structuredContent), 'files');

  test('sees the tools with how to call them, the tool that tells where to upload, and a page about it', async () => {
    const listed = listOf(await client.request('tools/list'), 'tools');
    const named = new Map(listed.map((tool) => [tool.name, tool]));
    expect(listed.at(-1)?.name).toBe(HELPER);
    const reader = asObject(named.get('read_file'));
    expect(reader).toMatchObject({ title: 'Read a file', annotations: { readOnlyHint: true } });
    const { path, hold } = asObject(asObject(reader.inputSchema).properties) as Record<string, JsonObject>;
    for (const text of [reader.description, path?.description]) expect(text).toContain(`\`${HELPER}\``);
    expect(reader.description).toMatch(/^Tells size and checksum of a file\. Nothing is changed\.\n\n/);
    expect(hold?.description).toBe('Name of a gate to wait at before the file is opened.');
    expect(asObject(named.get('read_url')).description).toBe('As read_file, for what a URL leads to.');

    expect(client.initialized).toMatchObject({ capabilities: { tools: {}, resources: { listChanged: true } } });
    const { resources } = await client.request('resources/list');
    expect(resources).toContainEqual(expect.objectContaining({ uri: DOC, mimeType: 'text/markdown' }));
    expect(await client.request('resources/templates/list')).toMatchObject({ resourceTemplates: [] });
    const { contents } = await client.request('resources/read', { uri: DOC });
    expect(contents).toEqual([
      { uri: DOC, mimeType: 'text/markdown', text: expect.stringContaining(HELPER) as string },
    ]);
    expect(await client.request('resources/subscribe', { uri: DOC })).toEqual({});
  });

  test('uploads, and the tool gets the bytes wherever the handle stands', async () => {
    const [a = '', b = ''] = await uploadAsTold('a.txt', 'b c.txt');
    const one = await client.callTool('read_file', { path: a });
    expect(filesSeen(one)).toEqual([
      { ...contentSeen('a.txt'), path: expect.stringMatching(/^\/.*\/a\.txt$/) as string },
    ]);
    expect(filesSeen(await client.callTool('read_many', { paths: a }))).toMatchObject([contentSeen('a.txt')]);
    expect(filesSeen(await client.callTool('read_many', { paths: [b, a, b] }))).toMatchObject(
      ['b c.txt', 'a.txt', 'b c.txt'].map((name) => contentSeen(name)),
    );
    const nested = { a: { files: [{ path: b }, { path: a }] } };
    expect(filesSeen(await client.callTool('read_nested', nested))).toMatchObject([
      contentSeen('b c.txt'),
      contentSeen('a.txt'),
    ]);
    expect(filesSeen(await client.callTool('read_uri', { uri: b }))).toMatchObject([
      { ...contentSeen('b c.txt'), path: expect.stringMatching(/^file:\/\/\/.*\/b_c\.txt$/) as string },
    ]);
    expect(filesSeen(await client.callTool('read_maybe'))).toEqual([]);
  });

  test.each([
    ['/etc/passwd', /takes upload handles only/],
    ['https://example.com/x', /takes upload handles only/],
    ['upload://sessions/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef', /unknown or has expired/],
  ])('is told what to do when it passes %s', async (path, expected) => {
    const { isError, content } = await client.callTool('read_file', { path });
    const [text] = (content as JsonObject[]).map((block) => String(block.text));
    expect(isError).toBe(true);
    expect(text).toMatch(expected);
    expect(text).toContain(HELPER);
  });

  test('is offered a page where a required file is missing, hears that it was used, and calls again', async () => {
    const call = client.request('tools/call', { name: 'read_file', arguments: {} });
    const error = await call.then(
      () => undefined,
      (reason: { code: number; data: { elicitations: JsonObject[] } }) => reason,
    );
    expect(error).toMatchObject({ code: -32042 });
    const [elicitation = {}] = error?.data.elicitations ?? [];
    expect(elicitation).toMatchObject({ mode: 'url', elicitationId: expect.any(String) as string });
    const url = String(elicitation.url);
    expect(url).toMatch(new RegExp(`^${adapter.url}/upload/up\\?`));
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    await page.body?.cancel();

    expect((await uploadTo(url, [formFile('asked.txt')])).status).toBe(200);
    await client.waitForMessage(
      ({ method, params }) =>
        method === 'notifications/elicitation/complete' && params?.['elicitationId'] === elicitation.elicitationId,
    );
    expect(filesSeen(await client.callTool('read_file', {}))).toMatchObject([contentSeen('asked.txt')]);
    await expect(client.request('tools/call', { name: 'read_file', arguments: {} })).rejects.toMatchObject({
      code: -32042,
    });
  });
});

describe('an upstream', () => {
  async function start(
    behavior: Parameters<typeof startScriptedUpstream>[0] = {},
    server: JsonObject = {},
    config: JsonObject = {},
  ): Promise<{ upstream: ScriptedUpstream; adapter: InProcessAdapter } & AsyncDisposable> {
    await using opened = new AsyncDisposableStack();
    const upstream = opened.use(await startScriptedUpstream(behavior));
    const consumer = { type: 'upload_consumer', tools: ['bytes'], file_path_argument: 'file' };
    const servers = [mounted('up', upstream.url, { adapters: [consumer], ...server })];
    const adapter = opened.use(await startInProcess({ servers, ...config }));
    const running = opened.move();
    return { upstream, adapter, [Symbol.asyncDispose]: () => running.disposeAsync() };
  }

  test.each(['json', 'sse'] as const)('that has neither tools nor resources has ours: %s', async (answers) => {
    const intercept: NonNullable<Parameters<typeof startScriptedUpstream>[0]>['intercept'] = ({ json }) => {
      const { id, method } = asObject(json);
      const isList = ['tools/list', 'resources/list', 'resources/templates/list'].includes(String(method));
      const error = { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
      const json_ = { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(error) };
      const sse = {
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: `event: message\ndata: ${JSON.stringify(error)}\n\n`,
      };
      return isList ? (answers === 'json' ? json_ : sse) : undefined;
    };
    await using at = await start({ capabilities: {}, answers, intercept });
    const session = await openSession(at.adapter);
    expect(session.initialized).toMatchObject({ capabilities: { tools: {}, resources: { listChanged: true } } });
    const door = session.at(at.adapter);
    for (let i = 0; i < 2; i += 1) {
      expect(await door.call('tools/list')).toMatchObject({ result: { tools: [{ name: HELPER }] } });
      expect(await door.call('resources/list')).toMatchObject({ result: { resources: [{ uri: DOC }] } });
      expect(await door.call('resources/templates/list')).toMatchObject({ result: { resourceTemplates: [] } });
    }
    expect(at.upstream.requestsOf('tools/list')).toHaveLength(1);
  });

  test('never hears of a resource of ours', async () => {
    await using at = await start();
    const door = (await openSession(at.adapter)).at(at.adapter);
    expect(await door.call('resources/list')).toMatchObject({
      result: { resources: [{ uri: 'test://one' }, { uri: DOC }] },
    });
    for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe']) {
      expect(await door.call(method, { uri: DOC })).toHaveProperty('result');
      expect(at.upstream.requestsOf(method)).toHaveLength(0);
      expect(await door.call(method, { uri: 'test://one' })).toHaveProperty('result');
      expect(at.upstream.requestsOf(method)).toHaveLength(1);
    }
  });

  test('gets calls of other tools, and of a tool that takes files the rest, byte for byte', async () => {
    await using at = await start();
    const session = await openSession(at.adapter);
    const door = session.at(at.adapter);
    const body = (name: string, file: string): string =>
      `{ "jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"arguments":{"n":1e2, "result":"{}", "file" :"${file}"},"name":"${name}"} }`;
    const sent = (): string => at.upstream.requestsOf('tools/call').at(-1)?.text ?? '';
    expect((await door.send(body('echo', '/etc/passwd'))).status).toBe(200);
    expect(sent()).toBe(body('echo', '/etc/passwd'));
    const { handle, id } = await uploadedOne(at.adapter, session.sessionId, 'a.txt');
    expect((await door.send(body('bytes', handle))).status).toBe(200);
    const path = /"file" :"([^"]*)"/.exec(sent())?.[1] ?? '';
    expect(sent()).toBe(body('bytes', path));
    expect(path).toMatch(new RegExp(`/uploads/sessions/${session.sessionId}/${id}/a\\.txt$`));
  });

  test('gets no call of a tool that takes files in a batch', async () => {
    await using at = await start();
    const door = (await openSession(at.adapter, { protocolVersion: '2025-03-26' })).at(at.adapter);
    const call = (name: string): object => ({ jsonrpc: '2.0', id: name, method: 'tools/call', params: { name } });
    for (const [wrapped, expected] of [
      ['bytes', 'cannot be part of a batch'],
      [HELPER, 'cannot be part of a batch'],
    ] as const) {
      const response = await door.send([call('echo'), call(wrapped)]);
      expect(response.status).toBe(200);
      const answers = new Map(((await response.json()) as JsonObject[]).map((one) => [one.id, one]));
      expect(answers.get('echo')).toHaveProperty('result');
      expect(answers.get(wrapped)).toHaveProperty('error.message', expect.stringContaining(expected));
      const { text } = at.upstream.requestsOf('tools/call').at(-1) ?? {};
      expect(text).not.toContain(JSON.stringify({ name: wrapped }));
    }
    expect((await door.send([call('echo'), call('echo')])).status).toBe(200);
  });

  test('gets no call that names its tool in a way that only it may understand', async () => {
    await using at = await start();
    const door = (await openSession(at.adapter)).at(at.adapter);
    for (const params of [
      { Name: 'bytes', arguments: { file: '/etc/passwd' } },
      { name: 'bytes', Arguments: { file: '/etc/passwd' } },
    ]) {
      expect(await door.call('tools/call', params)).toMatchObject({ error: { code: -32600 } });
    }
    expect(at.upstream.requestsOf('tools/call')).toHaveLength(0);
  });

  test.each([{}, { adapters: [] }])(
    'whose uploads are off gets no call that needs one, and shows nothing of ours: %j',
    async (server) => {
      await using at = await start({}, server, { uploads: { enabled: false } });
      const session = await openSession(at.adapter);
      expect(session.initialized).toMatchObject({ capabilities: at.upstream.behavior.capabilities });
      const door = session.at(at.adapter);
      expect(JSON.stringify(await door.call('tools/list'))).not.toContain('upload');
      const response = await door.request('tools/call', { name: 'bytes', arguments: { file: '/etc/passwd' } });
      const answer = await response.text();
      const calls = at.upstream.requestsOf('tools/call');
      expect(calls).toHaveLength('adapters' in server ? 1 : 0);
      if (calls.length === 0) expect(answer).toMatch(/switched off.*"isError":true/);
    },
  );

  test('whose helper is disabled shows neither it nor its page', async () => {
    await using at = await start({}, { disabled_tools: ['.*_get_upload_url'] });
    const session = await openSession(at.adapter);
    const door = session.at(at.adapter);
    for (const list of ['tools/list', 'resources/list']) {
      expect(JSON.stringify(await door.call(list))).not.toContain(HELPER);
      expect(JSON.stringify(await door.call(list))).not.toContain(DOC);
    }
    expect(await door.tool(HELPER)).toMatchObject({ error: { code: -32602 } });
    const { handle } = await uploadedOne(at.adapter, session.sessionId, 'a.txt');
    await (await door.request('tools/call', { name: 'bytes', arguments: { file: handle } })).text();
    expect(at.upstream.requestsOf('tools/call').at(-1)?.text).toContain('/a.txt');
  });

  test('has no longer description than shorten_descriptions allows', async () => {
    await using at = await start({}, { shorten_descriptions: true, short_description_max_tokens: 2 });
    const door = (await openSession(at.adapter)).at(at.adapter);
    const { tools: listed } = asObject((await door.call('tools/list')).result);
    const { description } = asObject((listed as unknown[]).find((tool) => asObject(tool).name === 'bytes'));
    const upstream = String(at.upstream.tools.get('bytes')?.definition['description']);
    expect(description).toMatch(new RegExp(`^${upstream.split(' ').slice(0, 2).join(' ')}\\.\\.\\.\\n\\n\`file\``));
  });
});
