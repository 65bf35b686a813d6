import { join } from 'node:path';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { startFixture } from '../support/fixture-process.ts';
import { startOneFamily } from '../support/one-family.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';
import { goPrograms } from './go-programs.ts';

const INFO = { name: 'client', version: '1.0.0' };
const ANSWER = {
  action: 'accept' as const,
  content: { name: 'Ada', username: 'Ada', email: 'ada@example.com', color: 'red', ok: true },
};
const SAMPLED = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'Paris' } };
const ROOTS = { roots: [{ uri: 'file:///work', name: 'work' }] };

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  readResource(of: { uri: string }): Promise<unknown>;
  getPrompt(of: { name: string }): Promise<unknown>;
  close(): Promise<void>;
}

async function connectV1(url: string): Promise<AnyClient> {
  const client = new ClientV1(INFO, { capabilities: { elicitation: {}, sampling: {}, roots: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ANSWER);
  client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
  client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  await client.connect(new TransportV1(new URL(url)));
  return client;
}

async function connectV2(url: string, isNewer: boolean): Promise<AnyClient> {
  const client = new ClientV2(INFO, {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    versionNegotiation: isNewer ? { mode: 'auto' } : undefined,
  });
  client.setRequestHandler('elicitation/create', () => ANSWER);
  client.setRequestHandler('sampling/createMessage', () => SAMPLED);
  client.setRequestHandler('roots/list', () => ROOTS);
  await client.connect(new TransportV2(new URL(url)));
  expect(client.getNegotiatedProtocolVersion() === '2026-07-28').toBe(isNewer);
  return client;
}

const CLIENTS: Readonly<Record<string, (url: string) => Promise<AnyClient>>> = {
  'TypeScript 1, with sessions': connectV1,
  'TypeScript 2, with sessions': (url) => connectV2(url, false),
  'TypeScript 2, without': (url) => connectV2(url, true),
};
/** Tools of the servers that ask, by what they ask for; some ask in one family only. */
const ASKING: Readonly<Record<string, readonly string[]>> = {
  ts: [
    'test_input_required_result_elicitation',
    'test_input_required_result_sampling',
    'test_input_required_result_list_roots',
    'test_input_required_result_multiple_inputs',
    'test_input_required_result_multi_round',
  ],
  go: [],
};

describe('clients and servers of several SDKs, in all four cells, through two replicas', () => {
  const opened = new AsyncDisposableStack();
  let deployment: Deployment;
  let programs: string;

  beforeAll(async () => {
    const fixture = opened.use(await startFixture());
    programs = await goPrograms();
    const address = async (args: readonly string[]): Promise<string> => {
      const at = `127.0.0.1:${await freePort()}`;
      opened.use(startProcess(join(programs, 'conformance/everything-server'), ['-http', at, ...args]));
      return `http://${at}/`;
    };
    const servers = [
      mounted('ts-newer', fixture.modernUrl),
      mounted('ts-older', fixture.askingUrl),
      mounted('go-newer', opened.use(await startOneFamily(await address([]), 'newer')).url),
      mounted('go-older', opened.use(await startOneFamily(await address(['-stateless=false']), 'older')).url),
    ];
    deployment = opened.use(
      await startDeployment({ config: { servers, uploads: { enabled: false }, artifacts: { enabled: false } } }),
    );
  }, 300_000);
  afterAll(() => opened.disposeAsync());

  const url = (server: string): string => `${deployment.balancer.url}/mcp/${server}`;

  describe.each(['ts-newer', 'ts-older', 'go-newer', 'go-older'])('the server %s', (server) => {
    test.each(Object.keys(CLIENTS))('serves the client of %s', async (name) => {
      const client = await (CLIENTS[name] as (url: string) => Promise<AnyClient>)(url(server));
      try {
        const { tools } = await client.listTools();
        expect(tools.map((tool) => tool.name)).toContain('test_simple_text');
        const call = async (tool: string): Promise<string> =>
          JSON.stringify(await client.callTool({ name: tool, arguments: {} }));
        expect(await call('test_simple_text')).toContain('simple text');
        expect(await call('test_error_handling')).toContain('"isError":true');
        expect(JSON.stringify(await client.readResource({ uri: 'test://static-text' }))).toContain('"text":');
        expect(JSON.stringify(await client.getPrompt({ name: 'test_simple_prompt' }))).toContain('"messages":');
        for (const tool of ASKING[server.slice(0, 2)] ?? []) {
          const said = await call(tool);
          expect(said, tool).not.toContain('"isError":true');
          expect(said, tool).toContain('"text":');
        }
      } finally {
        await client.close();
      }
    });

    test('serves the client of Go', async () => {
      await using running = startProcess(join(programs, 'examples/client/listfeatures'), [`-http=${url(server)}`]);
      await running.exitsWithin(60_000);
      expect(running.stdout(), running.stderr()).toMatch(/^tools:\n(?:\t.*\n)*\ttest_simple_text/);
    });
  });
});
