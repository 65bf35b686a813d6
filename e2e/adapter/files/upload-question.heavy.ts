import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from '../../support/processes.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { startBrowser, withTab } from './kit/page-browser.ts';
import { secret } from '../../support/secrets/secret.ts';

const DEMO = fileURLToPath(new URL('../../../examples/quickstart/upstream.ts', import.meta.url));
const SALES = fileURLToPath(new URL('../../../examples/quickstart/sales.csv', import.meta.url));
const REVISION = '2026-07-28';
const [TOKEN, OTHER] = [secret('token of a caller'), secret('token of another caller')];
const adapters = [{ type: 'upload_consumer', tools: ['csv_file_summary'], file_path_argument: 'file' }];

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

  /** Calls one replica as a client that declares (or not) that it shows pages. */
  async function call(more: JsonObject, { on = deployment.a.url, token = TOKEN, shows = true } = {}) {
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
        'x-mcp-adapter-auth-token': token,
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
        if (process.env['SHOTS'] !== undefined) await page.screenshot({ path: `${process.env['SHOTS']}/taken.png` });
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
});
