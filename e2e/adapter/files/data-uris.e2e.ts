import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, isLegacyRequest, McpServer } from '@modelcontextprotocol/server';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { createStreamableSessions } from '../../support/fixture/streamable-sessions.ts';
import { listen } from '../../support/ports.ts';
import { answer } from '../../support/fixture/http.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { lying } from './kit/folder.ts';

const BYTES = randomBytes(100_000);
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A server of both families with a tool that reads files. */
async function startReader() {
  const create = (): McpServer => {
    const server = new McpServer({ name: 'reader', version: '1.0.0' });
    const inputSchema = z.object({ paths: z.array(z.string()), label: z.string().optional() });
    server.registerTool('hash', { description: 'Hashes files', inputSchema }, async ({ paths }) => {
      const hashes = await Promise.all(paths.map(async (path) => sha256(await readFile(path))));
      return { content: [{ type: 'text', text: hashes.join(' ') }] };
    });
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

let reader: Awaited<ReturnType<typeof startReader>>;
let deployment: Deployment;
beforeAll(async () => {
  reader = await startReader();
  const adapters = [
    {
      type: 'upload_consumer',
      tools: ['hash'],
      file_path_argument: 'paths',
      accept: ['application/octet-stream', '.txt'],
    },
  ];
  const config = {
    files: { drafts: true },
    uploads: { max_file_bytes: 200_000 },
    sessions: { max_total_session_size: 300_000 },
    servers: [mounted('up', reader.url, { adapters })],
  };
  deployment = await startDeployment({ config });
});
afterAll(async () => {
  await deployment?.close();
  await reader?.[Symbol.asyncDispose]();
});

describe.each(['legacy', 'auto'] as const)('a client that negotiates %s', (mode) => {
  let client: Client;
  beforeAll(async () => {
    client = new Client({ name: 'e2e', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${deployment.balancer.url}/mcp/up`)));
  });
  afterAll(() => client?.close());

  const call = async (...paths: string[]): Promise<{ readonly isError: boolean; readonly text: string }> => {
    const { content, isError } = await client.callTool({ name: 'hash', arguments: { paths } });
    const [first] = content;
    return { isError: isError === true, text: first?.type === 'text' ? first.text : '' };
  };
  const uriOf = (bytes: Buffer, type = 'application/octet-stream'): string =>
    `data:${type};base64,${bytes.toString('base64')}`;

  test('hands files to a tool within the call', async () => {
    const other = Buffer.from('hello');
    for (let i = 0; i < 3; i++) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other, at one replica and the other
      const { text } = await call(uriOf(BYTES), 'data:text/plain,hello');
      expect(text).toBe(`${sha256(BYTES)} ${sha256(other)}`);
    }
    // Without a session nobody could use them again.
    if (mode === 'auto') expect(await lying(deployment.folder)).toEqual([]);
  });

  test('is told what is wrong with one', async () => {
    expect(await call('data:text/plain;base64,?')).toMatchObject({
      isError: true,
      text: expect.stringContaining('not base64') as string,
    });
    expect(await call(uriOf(randomBytes(200_001)))).toMatchObject({
      isError: true,
      text: expect.stringContaining('200000 bytes') as string,
    });
    expect((await call(uriOf(Buffer.from('%PDF-1.7'), 'application/pdf'))).text).toContain(
      'takes application/octet-stream',
    );
    const full = await call(...[1, 2, 3, 4].map(() => uriOf(randomBytes(150_000))));
    expect(full).toMatchObject({ isError: true, text: expect.stringContaining('space') as string });
  });

  test('sees in the schema which files the tool takes', async () => {
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === 'hash')?.inputSchema as { properties: Record<string, object> };
    expect(schema.properties['paths']).toMatchObject({
      items: { 'x-mcp-file': { accept: ['application/octet-stream', '.txt'], maxSize: 200_000 } },
    });
  });

  test('its files stand in no log', () => {
    for (const replica of [deployment.a, deployment.b]) {
      expect(replica.stdout() + replica.stderr()).not.toContain(BYTES.toString('base64').slice(0, 100));
    }
  });
});
