import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { startProcess } from '../support/processes.ts';
import { launch } from '../support/real-servers.ts';

const EXAMPLES = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/sdk/client').replace(/client\/[^/]*$/, 'examples/'),
);
const CLIENT = fileURLToPath(new URL('example-client.ts', import.meta.url));
const LIMIT_MS = 60_000;

interface Example {
  readonly server: string;
  readonly client: string;
  /** What a person types. */
  readonly answers?: readonly string[];
  /** The client says so when all went well. */
  readonly says: RegExp;
}

const PERSON = 'simpleStreamableHttp';
const EXAMPLES_OF_SDK: readonly Example[] = [
  {
    server: 'simpleStreamableHttp',
    client: PERSON,
    answers: [
      'list-tools',
      'greet Ann',
      'multi-greet Ann',
      'call-tool list-files',
      'call-tool-task delay {"duration":200}',
      'start-notifications 20 3',
      'list-prompts',
      'get-prompt greeting-template {"name":"Ann"}',
      'list-resources',
      'read-resource https://example.com/greetings/default',
      'collect-info contact',
      'Ann',
      'ann@example.com',
      '123',
      'yes',
      'collect-info-task feedback',
      '5',
      'fine',
      'yes',
      'yes',
      'terminate-session',
      'reconnect',
      'greet Bob',
      'quit',
    ],
    says: /Hello, Bob!/,
  },
  { server: 'simpleStreamableHttp', client: 'multipleClientsParallel', says: /All clients completed successfully/ },
  { server: 'simpleStreamableHttp', client: 'parallelToolCallsClient', says: /Tool result for burst-notifier/ },
  {
    server: 'jsonResponseStreamableHttp',
    client: PERSON,
    answers: ['list-tools', 'greet Ann', 'multi-greet Ann', 'disconnect', 'quit'],
    says: /Hello, Ann!/,
  },
  {
    server: 'simpleStatelessStreamableHttp',
    client: PERSON,
    answers: [
      'list-tools',
      'start-notifications 20 3',
      'get-prompt greeting-template {"name":"Ann"}',
      'disconnect',
      'quit',
    ],
    says: /Please greet Ann/,
  },
  {
    server: 'elicitationFormExample',
    client: PERSON,
    answers: ['call-tool register_user', 'ann', 'ann@example.com', 'password', 'yes', 'yes', 'quit'],
    says: /ann@example.com/,
  },
  {
    server: 'sseAndStreamableHttpCompatibleServer',
    client: 'streamableHttpWithSseFallbackClient',
    says: /number 5|#5 at/,
  },
  { server: 'ssePollingExample', client: 'ssePollingClient', says: /Long task completed successfully!/ },
  {
    server: 'simpleTaskInteractive',
    client: 'simpleTaskInteractiveClient',
    answers: ['y'],
    says: /Deleted 'important.txt'[^]*Cherry blossoms fall/,
  },
];

describe('an example of the TypeScript SDK 1 says the same through two replicas', () => {
  const opened = new AsyncDisposableStack();
  const urls: string[] = [];
  let deployment: Deployment;

  beforeAll(async () => {
    for (const { server } of EXAMPLES_OF_SDK) {
      const env = { LISTEN_PORT: '0', PORT: '0', MCP_PORT: '0' };
      const { running, port } = await launch([`${EXAMPLES}server/${server}.js`], env);
      opened.use(running);
      urls.push(`http://127.0.0.1:${port}/mcp`);
    }
    const servers = urls.map((url, index) => mounted(`s${index}`, url));
    const config = { servers, uploads: { enabled: false }, artifacts: { enabled: false } };
    deployment = opened.use(await startDeployment({ config }));
  }, LIMIT_MS);
  afterAll(() => opened.disposeAsync());

  test.concurrent.for(EXAMPLES_OF_SDK.map((example, index) => ({ ...example, index })))(
    '$server with $client',
    { timeout: LIMIT_MS },
    async ({ client, answers, says, index }, { expect }) => {
      const endpoints = [urls[index] ?? '', `${deployment.balancer.url}/mcp/s${index}`];
      const [direct = '', adapted = ''] = await Promise.all(endpoints.map((url) => run(client, url, answers)));
      expect(adapted).toMatch(says);
      expect(lines(adapted)).toEqual(lines(direct));
    },
  );
});

async function run(client: string, endpoint: string, answers: readonly string[] = []): Promise<string> {
  await using running = startProcess(process.execPath, ['--import', CLIENT, `${EXAMPLES}client/${client}.js`], {
    ENDPOINT: endpoint,
    ANSWERS: JSON.stringify(answers),
  });
  await running.exitsWithin(LIMIT_MS / 2);
  return running.stdout() + running.stderr();
}

/** What was said, whenever it was said, without what differs each time: the adapter has sessions where a server has none. */
const lines = (said: string): string[] =>
  said
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}(?:_\w+)*|\b[0-9a-f]{32}\b/g, 'ID')
    .split('\n')
    .map((line) => line.replace(/^> /, ''))
    // Whether a task of 200 ms is ever seen at work depends on when it is asked for, and whether a client that ends breaks
    // off the opening of its stream, on when that began.
    .filter(
      (line) => !/^\W*(working)?$|^ +at |SSE stream disconnected|operation was aborted|with session ID/.test(line),
    )
    .toSorted();
