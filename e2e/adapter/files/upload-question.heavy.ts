import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from '../../support/processes.ts';
import { startRawUpstream } from '../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { startInProcess } from '../kit/in-process.ts';
import { openSession } from '../kit/session.ts';
import { expectAccessible, startBrowser, withTab } from './kit/page-browser.ts';
import { asUploads, uploadTo } from './kit/uploads.ts';
import { secret } from '../../support/secrets/secret.ts';

const DEMO = fileURLToPath(new URL('../../../examples/quickstart/upstream.ts', import.meta.url));
const SALES = fileURLToPath(new URL('../../../examples/quickstart/sales.csv', import.meta.url));
const REVISION = '2026-07-28';
const [TOKEN, OTHER] = [secret('token of a caller'), secret('token of another caller')];
const adapters = [{ type: 'upload_consumer', tools: ['csv_file_summary'], file_path_argument: 'file' }];

const asPayload = async (path: string) => ({
  name: basename(path),
  mimeType: 'text/plain',
  buffer: await readFile(path),
});

interface How {
  readonly token?: string;
  readonly shows?: boolean;
}

/** Calls one replica as a client that declares (or not) that it shows pages. */
async function callOn(on: string, more: JsonObject, { token, shows = true }: How = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'e2e', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': shows ? { elicitation: { url: {} } } : { elicitation: {} },
  };
  const params = { name: 'csv_file_summary', arguments: {}, _meta: meta, ...more };
  const response = await fetch(`${on}/mcp/up`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': 'csv_file_summary',
      ...(token !== undefined && { 'x-mcp-adapter-auth-token': token }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  return {
    status: response.status,
    ...(asObject(await response.json()) as { result?: JsonObject; error?: JsonObject }),
  };
}

const linkOf = (result: unknown): string => {
  const { upload } = asObject(asObject(result).inputRequests);
  return String(asObject(asObject(upload).params).url);
};

describe('a client without sessions that lacks a file, behind two replicas', { timeout: 60_000 }, () => {
  let upstream: RunningProcess;
  let deployment: Deployment;
  let browser: Browser;

  beforeAll(async () => {
    upstream = startProcess(process.execPath, [DEMO, '--port', '0']);
    const [, url = ''] = await upstream.waitForStdout(/listening: (\S+)/);
    const auth = {
      enabled: true,
      tokens: [
        { name: 'one', token: TOKEN },
        { name: 'other', token: OTHER },
      ],
    };
    const servers = [mounted('up', url, { adapters })];
    [deployment, browser] = await Promise.all([
      startDeployment({ config: { core: { auth }, servers } }),
      startBrowser(),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await deployment?.close();
    await upstream?.stop();
  });

  const call = (more: JsonObject, { on = deployment.a.url, ...how }: How & { on?: string } = {}) =>
    callOn(on, more, { token: TOKEN, ...how });
  /** A question, and what a client sends to answer it. */
  async function asked() {
    const { result } = await call({});
    const { resultType, requestState } = asObject(result);
    expect(resultType).toBe('input_required');
    const reply = (action: string) => ({ inputResponses: { upload: { action } }, requestState: String(requestState) });
    return { url: linkOf(result), state: String(requestState), reply };
  }

  test('asks its user, who uploads at a page, and the tool gets the file', async () => {
    const client = new Client(
      { name: 'e2e', version: '1.0.0' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: 'auto' } },
    );
    const links: string[] = [];
    let uploaded: Promise<void> | undefined;
    let done: (() => void) | undefined;
    const called = new Promise<void>((resolve) => (done = resolve));
    client.setRequestHandler('elicitation/create', ({ params }) => {
      const { mode, url } = params as { mode?: string; url?: string };
      expect(mode).toBe('url');
      links.push(String(url));
      // As hosts do: accepted is that the page was opened.
      uploaded ??= withTab(browser, {}, async (page) => {
        await page.goto(String(url));
        await page.locator('#files').setInputFiles(SALES);
        await page.getByRole('button', { name: 'Upload' }).click();
        await page.getByRole('heading', { name: 'The file is uploaded' }).waitFor();
        await called;
        await page.getByText('The assistant has taken sales.csv.').waitFor();
      });
      return { action: 'accept' };
    });
    const requestInit = { headers: { 'x-mcp-adapter-auth-token': TOKEN } };
    const mount = new URL(`${deployment.balancer.url}/mcp/up`);
    await client.connect(new StreamableHTTPClientTransport(mount, { requestInit }));
    expect(client.getNegotiatedProtocolVersion()).toBe(REVISION);
    const { content } = await client.callTool({ name: 'csv_file_summary', arguments: {} });
    expect(content).toMatchObject([{ text: expect.stringMatching(/^4 rows, 3 columns/) as string }]);
    done?.();
    await uploaded;
    expect(new Set(links).size).toBe(1);
    await client.close();
  });

  test('is asked again with the same link when the user says nothing, on the other replica', async () => {
    const { url, state } = await asked();
    const { result } = await call({ requestState: state }, { on: deployment.b.url });
    expect(linkOf(result)).toBe(url);
  });

  test.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
  ])('is told that the user did %s', async (action, word) => {
    const { reply } = await asked();
    const { result } = await call(reply(action), { on: deployment.b.url });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(word) as string }] });
  });

  test('is told what to do where it shows no pages', async () => {
    const { result } = await call({}, { shows: false });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('is missing') as string }],
    });
  });

  test('T18: gets nothing for a state that is not of this call', async () => {
    const { reply, state } = await asked();
    const accept = reply('accept');
    const middle = Math.floor(state.length / 2);
    const forged = state.slice(0, middle) + (state[middle] === 'A' ? 'B' : 'A') + state.slice(middle + 1);
    const refused = {
      status: 400,
      error: { code: -32602, message: expect.stringContaining('requestState') as string },
    };
    expect(await call({ ...accept, requestState: forged })).toMatchObject(refused);
    expect(await call(accept, { token: OTHER })).toMatchObject(refused);
    expect(await call({ ...accept, arguments: { other: 1 } })).toMatchObject(refused);
  });

  test('gets the same file again when its answer was lost', async () => {
    const { url, reply } = await asked();
    const { status } = await uploadTo(url, [{ name: 'sales.csv', bytes: await readFile(SALES) }]);
    expect(status).toBe(200);
    for (const on of [deployment.a.url, deployment.b.url]) {
      const { result } = await call(reply('accept'), { on });
      expect(result).toMatchObject({ content: [{ text: expect.stringMatching(/^4 rows/) as string }] });
    }
  });

  test('T18: is not asked again with a page that has been used, and a bad form is no file', async () => {
    const { url, reply, state } = await asked();
    const form = new FormData();
    form.append('other', 'x');
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(400);
    const { result } = await call({ requestState: state });
    const next = linkOf(result);
    expect(next).not.toBe(url);
    expect((await uploadTo(next, [{ name: 'sales.csv', bytes: await readFile(SALES) }])).status).toBe(200);
    // The earlier state names the same workspace.
    const done = await call(reply('accept'), { on: deployment.b.url });
    expect(done.result).toMatchObject({ content: [{ text: expect.stringMatching(/^4 rows/) as string }] });
  });

  test('in a session, the page tells when a tool was given the handle', async () => {
    const headers = { 'x-mcp-adapter-auth-token': TOKEN };
    const session = await openSession(deployment.a, { headers });
    const { result } = await session.at(deployment.b).tool('up_get_upload_url');
    const { page_url: link, page_expires_at: until } = asObject(asObject(result).structuredContent);
    expect(Date.parse(String(until)) - Date.now()).toBeGreaterThan(890_000);
    await withTab(browser, {}, async (page) => {
      await page.goto(String(link));
      await page.locator('#files').setInputFiles(await Promise.all([SALES, DEMO].map(asPayload)));
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.getByText('Waiting for the assistant to take sales.csv and upstream.ts…').waitFor();
      await expectAccessible(page);
      const [file = ''] = await page.locator('code[data-copy^="the handle"]').allInnerTexts();
      await session.at(deployment.b).tool('csv_file_summary', { file });
      await page
        .getByText('The assistant has taken sales.csv. Waiting for the assistant to take upstream.ts…')
        .waitFor();
    });
  });
});

test('T18: the state of an upstream travels in ours, byte for byte, while its call has a file from a page', async () => {
  const STATE = 'v1.\\u00e9~"sealed" /+= \u{1f512}';
  const inputSchema = { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] };
  const calls: JsonObject[] = [];
  await using upstream = await startRawUpstream(({ json }, res) => {
    const { id, method, params } = asObject(json);
    if (method === 'tools/call') calls.push(asObject(params));
    const results: Record<string, JsonObject> = {
      'server/discover': { supportedVersions: [REVISION], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'public' },
      'tools/list': { tools: [{ name: 'csv_file_summary', inputSchema }] },
      'tools/call':
        calls.length % 2 === 1
          ? { resultType: 'input_required', inputRequests: {}, requestState: STATE }
          : { resultType: 'complete', content: [] },
    };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[String(method)] }));
  });
  const servers = [mounted('up', `${upstream.url}/mcp`, { adapters })];
  await using adapter = await startInProcess({ servers });
  const { result: first } = await callOn(adapter.url, {});
  const { requestState } = asObject(first);
  const form = await uploadTo(linkOf(first), [{ name: 'a.csv', bytes: Buffer.from('a') }]);
  const [{ handle } = { handle: '' }] = asUploads(asObject(await form.json()));
  const { result: second } = await callOn(adapter.url, {
    requestState,
    inputResponses: { upload: { action: 'accept' } },
  });
  expect(second).toMatchObject({ resultType: 'input_required' });
  const inputResponses = { theirs: { action: 'accept' } };
  const third = await callOn(adapter.url, { requestState: asObject(second).requestState, inputResponses });
  expect(third.result).toMatchObject({ resultType: 'complete' });
  const [one, two] = calls.map((params) => ({ ...params, _meta: undefined }));
  const file = expect.stringMatching(/^\//) as string;
  expect(one).toEqual({ name: 'csv_file_summary', arguments: { file } });
  expect(two).toEqual({ name: 'csv_file_summary', arguments: { file }, requestState: STATE, inputResponses });
  // With a handle nothing is ours, and all of it goes up as it came.
  await callOn(adapter.url, { arguments: { file: handle }, requestState: STATE, inputResponses });
  expect({ ...calls.at(-1), _meta: undefined }).toEqual(two);
});
