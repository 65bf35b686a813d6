import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, isLegacyRequest, McpServer } from '@modelcontextprotocol/server';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { answer } from '../../support/fixture/http.ts';
import { createStreamableSessions } from '../../support/fixture/streamable-sessions.ts';
import { listen } from '../../support/ports.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { startBrowser } from '../files/kit/page-browser.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';

/** MCP Apps (extension of 2026-01-26): tools with user interfaces. */
const EXTENSION = 'io.modelcontextprotocol/ui';
const MIME = 'text/html;profile=mcp-app';
const SUPPORT = { extensions: { [EXTENSION]: { mimeTypes: [MIME] } } };
const VIEW = 'ui://chart/view.html';
const HIDDEN = 'ui://secret/view.html';
const TOKENS = { anna: 'token-of-anna-for-apps', bert: 'token-of-bert-for-apps' };

/** Asks its host for nothing but to be initialised, and shows the first text of a tool's result. */
const HTML = `<!doctype html><title>Chart</title><output id="value">waiting</output><script>
  addEventListener('message', ({ data }) => {
    if (data.method === 'ui/notifications/tool-result') document.querySelector('#value').textContent = data.params.content[0].text;
  });
  parent.postMessage({ jsonrpc: '2.0', id: 1, method: 'ui/initialize', params: { appInfo: { name: 'chart', version: '1' }, appCapabilities: {}, protocolVersion: '2026-01-26' } }, '*');
</script>`;

/** What a host does: initialises the view, and tells it the result. */
const HOST = `(html, result) => {
  const frame = document.querySelector('iframe');
  addEventListener('message', ({ data }) => {
    if (data.method !== 'ui/initialize') return;
    const tell = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
    tell({ id: data.id, result: { protocolVersion: '2026-01-26' } });
    tell({ method: 'ui/notifications/tool-result', params: result });
  });
  frame.srcdoc = html;
}`;

/** A server of both families whose tools have user interfaces. */
async function startApps() {
  const create = (): McpServer => {
    const capabilities = { tools: {}, resources: {}, extensions: { [EXTENSION]: {} } };
    const server = new McpServer({ name: 'apps', version: '1.0.0' }, { capabilities });
    const registered = (name: string, uri: string): void => {
      const ui = { resourceUri: uri, visibility: ['model', 'app'] };
      const description = 'Shows\u200b a chart';
      server.registerTool(name, { description, _meta: { ui, 'ui/resourceUri': uri } }, () => ({
        content: [{ type: 'text', text: '42 apples' }],
        _meta: { ui: { hint: 'bar' } },
      }));
      const csp = { connectDomains: ['https://api.example.com'] };
      server.registerResource(name, uri, { mimeType: MIME, _meta: { ui: { prefersBorder: true } } }, () => ({
        contents: [{ uri, mimeType: MIME, text: HTML, _meta: { ui: { csp } } }],
      }));
    };
    registered('chart', VIEW);
    registered('secret', HIDDEN);
    return server;
  };
  const sessions = createStreamableSessions(create);
  const modern = createMcpHandler(create, { legacy: 'reject' });
  const http = createServer((req, res) => {
    const served = answer(
      async (request) => ((await isLegacyRequest(request)) ? sessions(request) : modern.fetch(request)),
      req,
      res,
    );
    served.catch(() => res.destroy());
  });
  return {
    url: `http://127.0.0.1:${await listen(http)}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise<void>((resolve) => void http.close(() => resolve()));
    },
  };
}

let apps: Awaited<ReturnType<typeof startApps>>;
let deployment: Deployment;
let browser: Browser;

/** Everything that touches definitions and results. */
const SERVERS: Record<string, JsonObject> = {
  plain: {},
  cleaned: { tool_metadata_sanitization: { mode: 'sanitize' }, tool_description_policy: { mode: 'truncate' } },
  pinned: { tool_definition_pinning: { mode: 'block' } },
  warned: { tool_definition_pinning: { mode: 'warn' } },
  code: { code_mode_enabled: true },
  spilled: { results: { spill_over_chars: 100, structured: 'drop' } },
  wrapped: { adapters: [{ type: 'upload_consumer', tools: ['chart'], file_path_argument: 'file' }] },
};

beforeAll(async () => {
  [apps, browser] = await Promise.all([startApps(), startBrowser()]);
  const tokens = Object.entries(TOKENS).map(([name, token]) => ({ name, token }));
  const rules = [{ effect: 'deny', principals: ['token:bert'], tools: ['secret'] }];
  const servers = Object.entries(SERVERS).flatMap(([name, more]) => [
    mounted(name, apps.url, more),
    mounted(`${name}-disabled`, apps.url, { ...more, disabled_tools: ['secret'] }),
    mounted(`${name}-access`, apps.url, { ...more, access: { rules } }),
  ]);
  deployment = await startDeployment({ config: { core: { auth: { enabled: true, tokens } }, servers } });
});
afterAll(async () => {
  await deployment?.close();
  await Promise.all([apps?.[Symbol.asyncDispose](), browser?.close()]);
});

describe.each(['legacy', 'auto'] as const)('a client of SDK v2 that negotiates %s', (mode) => {
  async function connected(server: string, name: keyof typeof TOKENS): Promise<Client & AsyncDisposable> {
    const client = new Client(
      { name: 'e2e', version: '1.0.0' },
      { capabilities: SUPPORT, versionNegotiation: { mode } },
    );
    const requestInit = { headers: { 'x-mcp-adapter-auth-token': TOKENS[name] } };
    const url = new URL(`${deployment.balancer.url}/mcp/${server}`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
  }

  test.each(Object.keys(SERVERS))('%s: sees the interfaces of tools as the server has them', async (server) => {
    await using client = await connected(server, 'anna');
    expect(asObject(client.getServerCapabilities()).extensions).toEqual({ [EXTENSION]: {} });
    const { tools } = await client.listTools();
    if (server !== 'code') {
      const chart = tools.find(({ name }) => name === 'chart');
      const ui = { resourceUri: VIEW, visibility: ['model', 'app'] };
      expect(chart?._meta).toEqual({ ui, 'ui/resourceUri': VIEW });
    }
    const { resources } = await client.listResources();
    expect(resources.find(({ uri }) => uri === VIEW)).toMatchObject({
      mimeType: MIME,
      _meta: { ui: { prefersBorder: true } },
    });
    const { contents } = await client.readResource({ uri: VIEW });
    const csp = { connectDomains: ['https://api.example.com'] };
    expect(contents).toEqual([{ uri: VIEW, mimeType: MIME, text: HTML, _meta: { ui: { csp } } }]);
    const result = server === 'wrapped' ? undefined : await client.callTool({ name: 'chart', arguments: {} });
    if (result !== undefined) expect(result).toMatchObject({ _meta: { ui: { hint: 'bar' } } });
  });

  test.each(Object.keys(SERVERS))('%s: the interface of a hidden tool is hidden too', async (server) => {
    for (const [mount, name] of [
      [`${server}-disabled`, 'anna'],
      [`${server}-access`, 'bert'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await using client = await connected(mount, name);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri).filter((uri) => uri.startsWith('ui://'))).toEqual([VIEW]);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(client.readResource({ uri: HIDDEN })).rejects.toThrow();
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await client.readResource({ uri: VIEW })).contents).toHaveLength(1);
    }
    await using anna = await connected(`${server}-access`, 'anna');
    expect((await anna.readResource({ uri: HIDDEN })).contents).toHaveLength(1);
  });

  test('a browser shows an interface with the result of its tool', async () => {
    await using client = await connected('spilled', 'anna');
    const { contents } = await client.readResource({ uri: VIEW });
    const { text: html } = contents[0] as { text: string };
    const result = await client.callTool({ name: 'chart', arguments: {} });
    const page = await browser.newPage();
    await page.setContent('<title>Host</title><iframe sandbox="allow-scripts"></iframe>');
    await page.evaluate(`(${HOST})(${JSON.stringify(html)}, ${JSON.stringify(result)})`);
    const value = page.frameLocator('iframe').locator('#value');
    await expect.poll(() => value.textContent()).toBe('42 apples');
    await page.close();
  });
});
