import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFixture } from '../../support/fixture-process.ts';
import { startProcess } from '../../support/processes.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { asUploads, uploadTo } from '../files/kit/uploads.ts';
import { mounted } from '../kit/deployment.ts';
import { CODE_MODE, codeTools, namesOf, parsed, type Said, saidBy } from './kit/code.ts';
import { type Replicas, startReplicas } from './kit/replicas.ts';
import { secret } from '../../support/secrets/secret.ts';

const DEMO = fileURLToPath(new URL('../../../examples/quickstart/upstream.ts', import.meta.url));
const SALES = fileURLToPath(new URL('../../../examples/quickstart/sales.csv', import.meta.url));
const TOKEN = secret('token of the clients');
const requestInit = { headers: { 'x-mcp-adapter-auth-token': TOKEN } };

const adapters = [
  { type: 'upload_consumer', tools: ['csv_file_summary'], file_path_argument: 'file' },
  { type: 'artifact_producer', tools: ['save_report'], output_path_argument: 'path' },
];

describe('code mode for a client without sessions, behind three replicas', { timeout: 60_000 }, () => {
  const started = new AsyncDisposableStack();
  let replicas: Replicas;
  let demo: Client;
  let fixture: Client;

  async function connect(server: string): Promise<Client> {
    const options = { versionNegotiation: { mode: 'auto' as const }, capabilities: { elicitation: { form: {} } } };
    const client = new Client({ name: 'e2e', version: '1.0.0' }, options);
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    const mount = new URL(`${replicas.balancer.url}/mcp/${server}`);
    await client.connect(new StreamableHTTPClientTransport(mount, { requestInit }));
    started.defer(() => client.close());
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    return client;
  }

  beforeAll(async () => {
    const upstream = started.use(startProcess(process.execPath, [DEMO, '--port', '0']));
    const conformance = started.use(await startFixture());
    const [, url = ''] = await upstream.waitForStdout(/listening: (\S+)/);
    const servers = [
      mounted('demo', url, { ...CODE_MODE, adapters }),
      mounted('fixture', conformance.mcpUrl, CODE_MODE),
    ];
    replicas = started.use(await startReplicas({ core: { auth: { enabled: true, token: TOKEN } }, servers }));
    demo = await connect('demo');
    fixture = await connect('fixture');
  });
  afterAll(() => started.disposeAsync());

  const ask = async (client: Client, name: string, args: Record<string, unknown>): Promise<Said> =>
    saidBy(await client.callTool({ name, arguments: args }));
  const run = (client: Client, prefix: string, code: string): Promise<Said> =>
    ask(client, `${prefix}_execute`, { code });

  test('sees five tools, finds others, and runs them', async () => {
    expect(namesOf(await demo.listTools())).toEqual(codeTools('demo'));
    expect((await ask(demo, 'demo_search', { query: 'count words' })).text).toMatch(/^- word_count: /m);
    expect((await ask(demo, 'demo_get_schema', { tools: ['make_report'] })).text).toMatch(/title[^]*csv/);
    const said = await run(
      demo,
      'demo',
      `const { structuredContent } = await call_tool('word_count', { text: 'one two' });
       const csv = 'n\\n' + structuredContent.words;
       const [summary, report] = await Promise.all([
         call_tool('csv_summary', { csv }),
         call_tool('make_report', { title: 'Grüße 🌍', csv }),
       ]);
       return [summary.text, report.text];`,
    );
    expect(parsed(said)).toEqual([
      expect.stringContaining('n: minimum 2, mean 2, maximum 2'),
      expect.stringContaining('# Grüße 🌍'),
    ]);
  });

  test('has files read and made by code, and gets them', async () => {
    const said = await run(demo, 'demo', `return (await call_tool('demo_get_upload_url')).structuredContent;`);
    const { upload_url: url } = asObject(parsed(said));
    const response = await uploadTo(String(url), [{ name: 'sales.csv', bytes: await readFile(SALES) }]);
    const [{ handle } = { handle: '' }] = asUploads(asObject(await response.json()));
    const made = await run(
      demo,
      'demo',
      `const { text } = await call_tool('csv_file_summary', { file: ${JSON.stringify(handle)} });
       const { artifacts } = await call_tool('save_report', { title: 'Sales', csv: 'a,b\\n1,2' });
       return { text, artifacts };`,
    );
    const { text, artifacts } = parsed(made) as { text: string; artifacts: { artifact_uri: string }[] };
    expect(text).toMatch(/^4 rows, 3 columns/);
    expect(artifacts).toHaveLength(1);
    const { contents } = await demo.readResource({ uri: artifacts[0]?.artifact_uri ?? '' });
    expect(contents).toMatchObject([{ text: expect.stringContaining('# Sales') as string }]);
  });

  test('calls tools whose arguments travel in headers too', async () => {
    const args = { region: 'eu-Zürich', priority: 7, note: 'x' };
    const said = await run(
      fixture,
      'fixture',
      `const { text } = await call_tool('test_header_arguments', ${JSON.stringify(args)});
       const bare = await call_tool('test_header_arguments', {});
       return [JSON.parse(text), bare.text];`,
    );
    expect(parsed(said)).toEqual([args, '{}']);
  });

  test('is told to call a tool directly that asks the user', async () => {
    const said = await run(fixture, 'fixture', `await call_tool('test_input_required_result_elicitation');`);
    expect(said).toMatchObject({ isError: true, text: expect.stringContaining('called directly') });
    const direct = await ask(fixture, 'test_input_required_result_elicitation', {});
    expect(direct.text).toBe('Hello, Ada!');
  });

  test('is refused without the token', async () => {
    const client = new Client({ name: 'e2e', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    const mount = new URL(`${replicas.balancer.url}/mcp/demo`);
    await expect(client.connect(new StreamableHTTPClientTransport(mount))).rejects.toThrow();
    await client.close();
  });

  test('leaves no workspaces behind that hold nothing', async () => {
    const count = async (): Promise<unknown> => {
      const health = await fetch(`${replicas.a.url}/healthz`, requestInit);
      return asObject(asObject(asObject(await health.json()).persistence).state_inventory).sessions_count;
    };
    const before = await count();
    await run(
      demo,
      'demo',
      `await call_tool('word_count', { text: 'x' }); await call_tool('save_report', { title: 'No table' });`,
    );
    expect(await count()).toBe(before);
  });
});
