import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from '../../support/processes.ts';
import { startRawUpstream } from '../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { startInProcess } from '../kit/in-process.ts';
import { asUploads, uploadTo } from './kit/uploads.ts';
import { secret } from '../../support/secrets/secret.ts';

const DEMO = fileURLToPath(new URL('../../../examples/quickstart/upstream.ts', import.meta.url));
const SALES = fileURLToPath(new URL('../../../examples/quickstart/sales.csv', import.meta.url));
const REVISION = '2026-07-28';
const HELPER = 'up_get_upload_url';
const DOC = 'doc://upload_workflow.md';
const TOKEN = secret('token of the clients');

const adapters = [
  { type: 'upload_consumer', tools: ['csv_file_summary'], file_path_argument: 'file' },
  { type: 'artifact_producer', tools: ['save_report'], output_path_argument: 'path' },
];

describe('a client without sessions, behind two replicas', { timeout: 60_000 }, () => {
  let upstream: RunningProcess;
  let deployment: Deployment;
  let client: Client;

  beforeAll(async () => {
    upstream = startProcess(process.execPath, [DEMO, '--port', '0']);
    const [, url = ''] = await upstream.waitForStdout(/listening: (\S+)/);
    const auth = { enabled: true, token: TOKEN };
    const servers = [mounted('up', url, { adapters })];
    deployment = await startDeployment({ config: { core: { auth }, servers } });
    client = new Client({ name: 'e2e', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { 'x-mcp-adapter-auth-token': TOKEN } };
    const mount = new URL(`${deployment.balancer.url}/mcp/up`);
    await client.connect(new StreamableHTTPClientTransport(mount, { requestInit }));
  });
  afterAll(async () => {
    await client?.close();
    await deployment?.close();
    await upstream?.stop();
  });

  const sessions = async (): Promise<unknown> => {
    const health = await fetch(`${deployment.a.url}/healthz`, { headers: { 'x-mcp-adapter-auth-token': TOKEN } });
    const { persistence } = asObject(await health.json());
    return asObject(asObject(persistence).state_inventory).sessions_count;
  };
  const call = (name: string, args: JsonObject = {}) => client.callTool({ name, arguments: args });
  const textOf = ({ content }: Awaited<ReturnType<typeof call>>): string =>
    content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  const linkOf = ({ content }: Awaited<ReturnType<typeof call>>): string =>
    String(content.find((block) => block.type === 'resource_link')?.uri);

  test('sees the same tools and resources as one with a session', async () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(REVISION);
    const { tools } = await client.listTools();
    expect(tools.at(-1)?.name).toBe(HELPER);
    expect(tools.find(({ name }) => name === 'csv_file_summary')?.description).toContain(HELPER);
    expect(client.getServerCapabilities()).toMatchObject({ tools: {}, resources: {} });
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([DOC]);
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([]);
    const { contents } = await client.readResource({ uri: DOC });
    expect(contents).toMatchObject([{ uri: DOC, text: expect.stringContaining(HELPER) as string }]);
  });

  test('uploads, and tools get the file, as often as they are called', async () => {
    const { structuredContent } = await call(HELPER);
    const { upload_url: url, page_url: page, auth_mode: mode } = asObject(structuredContent);
    expect(mode).toBe('signed_upload_credentials');
    // The page has a signature of its own, which lasts longer.
    expect(page).not.toBe(url);
    const opened = await fetch(String(page));
    expect([opened.status, opened.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const response = await uploadTo(String(url), [{ name: 'sales.csv', bytes: await readFile(SALES) }]);
    expect(response.status).toBe(200);
    const [{ handle } = { handle: '' }] = asUploads(asObject(await response.json()));
    for (let i = 0; i < 4; i += 1) {
      expect(textOf(await call('csv_file_summary', { file: handle }))).toMatch(/^4 rows, 3 columns/);
    }
  });

  test('gets what tools made, from either replica', async () => {
    const result = await call('save_report', { title: 'Sales', csv: 'a,b\n1,2' });
    expect(result._meta).toMatchObject({ artifact: { artifact_uri: linkOf(result) } });
    for (let i = 0; i < 2; i += 1) {
      const { contents } = await client.readResource({ uri: linkOf(result) });
      expect(contents).toMatchObject([{ text: expect.stringContaining('# Sales') as string }]);
    }
  });

  test.each([
    `upload://sessions/${'0'.repeat(32)}/${'1'.repeat(32)}`,
    `upload://sessions/${'f'.repeat(32)}/${'1'.repeat(32)}`,
  ])('is told what to do when nothing is known of %s', async (file) => {
    const result = await call('csv_file_summary', { file });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/unknown or has expired\..*up_get_upload_url/);
    const uri = file.replace('upload:', 'artifact:');
    await expect(client.readResource({ uri: `${uri}/a.txt` })).rejects.toMatchObject({ code: -32602 });
  });

  test('is told what to do where a file is missing', async () => {
    const result = await call('csv_file_summary', {});
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/^The argument file is missing\..*up_get_upload_url/);
  });

  test('leaves nothing behind when nothing came of a call', async () => {
    const before = await sessions();
    expect((await call('save_report', { title: 'No table' })).isError).toBe(true);
    expect(await sessions()).toBe(before);
    await call('save_report', { title: 'T', csv: 'a\n1' });
    expect(await sessions()).toBe(Number(before) + 1);
  });

  test('T3: has no session that others could speak in', async () => {
    const { structuredContent } = await call(HELPER);
    const headers = {
      ...(asObject(structuredContent).headers as Record<string, string>),
      'x-mcp-adapter-auth-token': TOKEN,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const url = `${deployment.b.url}/mcp/up`;
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(404);
    expect((await fetch(url, { headers })).status).toBe(404);
  });
});

describe('an upstream without sessions', () => {
  const inputSchema = {
    type: 'object',
    properties: { file: { type: 'string', 'x-mcp-header': 'File' }, n: { type: 'integer', 'x-mcp-header': 'N' } },
    required: ['file'],
  };
  const consumer = { type: 'upload_consumer', tools: ['read'], file_path_argument: 'file' };

  /** An upstream with these capabilities, which knows no other lists, and how to speak to the adapter before it. */
  async function start(capabilities: JsonObject) {
    await using opened = new AsyncDisposableStack();
    const raw = opened.use(
      await startRawUpstream(({ json }, res) => {
        const { id, method } = asObject(json);
        const results: Record<string, JsonObject> = {
          'server/discover': { supportedVersions: [REVISION], capabilities, ttlMs: 0, cacheScope: 'public' },
          ...('tools' in capabilities && { 'tools/list': { tools: [{ name: 'read', inputSchema }] } }),
          'tools/call': { content: [] },
        };
        const result = results[String(method)];
        const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
        res.writeHead(result ? 200 : 404, { 'content-type': 'application/json' });
        res.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
      }),
    );
    const servers = [mounted('up', `${raw.url}/mcp`, { adapters: [consumer] })];
    const adapter = opened.use(await startInProcess({ servers }));
    const send = async (method: string, params: JsonObject = {}, headers = {}): Promise<JsonObject> => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': REVISION,
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const { name, uri } = params;
      const response = await fetch(`${adapter.url}/mcp/up`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': REVISION,
          'mcp-method': method,
          ...(name === undefined && uri === undefined ? {} : { 'mcp-name': String(name ?? uri) }),
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
      });
      expect(response.status).toBe(200);
      expect(response.headers.get('mcp-session-id')).toBeNull();
      return asObject(await response.json());
    };
    const running = opened.move();
    return { raw, adapter, send, [Symbol.asyncDispose]: () => running.disposeAsync() };
  }

  test('that has neither tools nor resources has ours', async () => {
    await using at = await start({});
    const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    expect(await at.send('server/discover')).toMatchObject({ result: { capabilities: { tools: {}, resources: {} } } });
    expect(await at.send('tools/list')).toMatchObject({ result: { ...complete, tools: [{ name: HELPER }] } });
    expect(await at.send('resources/list')).toMatchObject({ result: { ...complete, resources: [{ uri: DOC }] } });
    expect(await at.send('resources/templates/list')).toMatchObject({ result: { ...complete, resourceTemplates: [] } });
    expect(await at.send('resources/read', { uri: DOC })).toMatchObject({ result: { ...complete, contents: [{}] } });
    expect(await at.send('tools/call', { name: HELPER })).toMatchObject({ result: { resultType: 'complete' } });
  });

  test('gets headers that repeat the arguments as they go up', async () => {
    await using at = await start({ tools: {} });
    const { result } = await at.send('tools/call', { name: HELPER, arguments: {} });
    const { upload_url: url, headers } = asObject(asObject(result).structuredContent);
    const form = await uploadTo(String(url), [{ name: 'ä.txt', bytes: Buffer.from('x') }], {
      headers: headers as Record<string, string>,
    });
    const [{ handle } = { handle: '' }] = asUploads(asObject(await form.json()));
    const args = { name: 'read', arguments: { file: handle, n: 7 } };
    await at.send('tools/call', args, { 'mcp-param-file': handle, 'mcp-param-n': '7' });
    const sent = at.raw.requests.find(({ text }) => text.includes('"tools/call"'));
    const { file } = asObject(asObject(asObject(sent?.json).params).arguments);
    expect(file).toMatch(/^\//);
    expect(sent?.headers).toMatchObject({ 'mcp-param-file': file, 'mcp-param-n': '7', 'mcp-name': 'read' });
  });
});
