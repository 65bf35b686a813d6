import * as v2 from '@modelcontextprotocol/client';
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AuthorizingServer, CLIENT, startAuthorizingServer } from './kit/authorizing-server.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';

const INFO = { name: 'agent', version: '1' };

describe('I2: a server that asks its clients for OAuth tokens, behind two replicas', () => {
  let server: AuthorizingServer;
  let deployment: Deployment;
  let mount: string;

  beforeAll(async () => {
    server = await startAuthorizingServer();
    const passing = { upstream: { client_headers: { unsafe: true, passthrough: ['Authorization'] } } };
    deployment = await startDeployment({
      config: { servers: [mounted('team', server.url, passing), mounted('closed', server.url)] },
    });
    mount = `${deployment.balancer.url}/mcp/team`;
  });
  afterAll(async () => {
    await deployment?.close();
    await server?.close();
  });

  const SDKS = [
    {
      name: '1',
      async connect() {
        const authProvider = new ClientCredentialsProvider({ ...CLIENT, expectedIssuer: server.issuer });
        const client = new Client(INFO);
        await client.connect(new StreamableHTTPClientTransport(new URL(mount), { authProvider }));
        return client;
      },
    },
    {
      name: '2',
      async connect() {
        const authProvider = new v2.ClientCredentialsProvider({ ...CLIENT, expectedIssuer: server.issuer });
        const client = new v2.Client(INFO);
        await client.connect(new v2.StreamableHTTPClientTransport(new URL(mount), { authProvider }));
        return client;
      },
    },
  ];

  test.for(SDKS)('lets a client of SDK $name in that follows its challenge, and asks it for more', async (sdk) => {
    const before = server.grants.length;
    const client = await sdk.connect();
    try {
      expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ text: 'hello' }] });
      expect(server.grants.slice(before).map((form) => form.get('resource'))).toEqual([mount]);
      // Version 1 asks for another token of the same scope, also without an adapter between.
      if (sdk.name === '1') return;
      expect(await client.callTool({ name: 'admin' })).toMatchObject({ content: [{ text: 'admin' }] });
      expect(server.grants.at(-1)?.get('scope')).toContain('admin');
    } finally {
      await client.close();
    }
  });

  const post = (url: string, message: object): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    });
  const description = (): string => `${deployment.balancer.url}/.well-known/oauth-protected-resource/mcp/team`;

  test.for(['initialize', 'tools/list', 'server/discover'])('challenges %s without a token', async (method) => {
    const answer = await post(mount, { method, params: {} });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", resource_metadata="${description()}"`,
    );
    await answer.text();
  });

  test('is described under the address of the mount, with what the server says of itself', async () => {
    const answer = await fetch(description());
    expect(await answer.json()).toEqual({
      resource: mount,
      authorization_servers: [server.issuer],
      scopes_supported: ['mcp'],
    });
    const reads = server.reads.length;
    await Promise.all(Array.from({ length: 10 }, async () => (await fetch(description())).text()));
    // Each replica reads it once.
    expect(server.reads.length).toBeLessThanOrEqual(reads + 1);
  });

  test('is nothing that clients learn of where they do not authenticate themselves', async () => {
    const answer = await post(`${deployment.balancer.url}/mcp/closed`, { method: 'initialize', params: {} });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([502, null]);
    await answer.text();
    const other = await fetch(`${deployment.balancer.url}/.well-known/oauth-protected-resource/mcp/closed`);
    expect(other.status).toBe(404);
    await other.text();
  });
});
