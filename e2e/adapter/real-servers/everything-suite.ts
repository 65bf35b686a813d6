import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectV1 } from '../../support/real-client-v1.ts';
import { connectV2 } from '../../support/real-client-v2.ts';
import { type RealServer, startEverythingServer, type UpstreamTransport } from '../../support/real-servers.ts';
import { everythingConversations } from './everything-conversations.ts';
import { everythingTasks } from './everything-tasks.ts';
import { TOOL_CALLS } from './everything-tools.ts';
import { ANSWERED_PINGS, type Deployment, type Gateway, startGateway } from './gateway.ts';
import { callTool, openPair, outcomeOf, type Pair } from './pair.ts';
import { CLOCK, steady, withReadableBlobs } from './volatile.ts';

const CONNECT = { v1: connectV1, v2: connectV2 };

/** Tools that only a client which runs tasks is offered; see everything-tasks.ts. */
const TASK_TOOLS = ['trigger-sampling-request-async', 'trigger-elicitation-request-async'];

const PROMPTS = [
  { name: 'simple-prompt' },
  { name: 'args-prompt', arguments: { city: 'Zürich', state: 'ZH' } },
  { name: 'completable-prompt', arguments: { department: 'Sales', name: 'Eve' } },
  { name: 'resource-prompt', arguments: { resourceType: 'Blob', resourceId: '2' } },
];

const RESOURCES = [
  'demo://resource/static/document/features.md',
  'demo://resource/dynamic/text/7',
  'demo://resource/dynamic/blob/8',
];

const COMPLETIONS = [
  { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'S' } },
  {
    ref: { type: 'ref/prompt', name: 'completable-prompt' },
    argument: { name: 'name', value: '' },
    context: { arguments: { department: 'Engineering' } },
  },
  {
    ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
    argument: { name: 'resourceId', value: '12' },
  },
];

/** All that server-everything offers, through the adapter and directly, with both SDKs. */
export function everythingSuite(deployment: Deployment, transport: UpstreamTransport): void {
  let server: RealServer | undefined;
  let gateway: Gateway | undefined;
  const running = (): { server: RealServer; gateway: Gateway; mountUrl: string } => {
    if (server === undefined || gateway === undefined) throw new Error('the servers have not started');
    return { server, gateway, mountUrl: gateway.mountUrl };
  };

  beforeAll(async () => {
    server = await startEverythingServer(transport);
    gateway = await startGateway(deployment, server);
  });
  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  describe.for(['v1', 'v2'] as const)('with SDK %s', (sdk) => {
    let shared: Pair | undefined;
    const openOwn = (): Promise<Pair> => openPair(CONNECT[sdk], running().server, running().mountUrl);
    const pair = (): Pair => {
      if (shared === undefined) throw new Error('the clients have not connected');
      return shared;
    };

    beforeAll(async () => {
      shared = await openOwn();
    });
    afterAll(async () => {
      await shared?.[Symbol.asyncDispose]();
    });

    test('the handshake gives the same capabilities, instructions and server', () => {
      expect(pair().through.initialized).toEqual(pair().direct.initialized);
      expect(pair().through.initialized).toMatchObject({
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {}, completions: {} },
        serverInfo: { name: 'mcp-servers/everything' },
        instructions: expect.stringContaining('Everything Server'),
      });
    });

    test.for([
      ['tools/list', 'tools'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
      ['prompts/list', 'prompts'],
    ] as const)(
      '%s gives the same entries in one page, fresh and cached, with and without a cursor',
      async ([method, key]) => {
        const { direct, through } = pair();
        const expected = await direct.request(method);
        expect(expected[key]).not.toHaveLength(0);
        expect(expected).not.toHaveProperty('nextCursor');
        expect(await through.request(method)).toEqual(expected);
        expect(await through.request(method)).toEqual(expected);
        // The server has one page only and ignores cursors; so must whatever stands in between.
        expect(await through.request(method, { cursor: 'page-2' })).toEqual(
          await direct.request(method, { cursor: 'page-2' }),
        );
      },
    );

    test('every tool that is offered is called below', async () => {
      const { tools } = (await pair().through.request('tools/list')) as { tools: { name: string }[] };
      const called = new Set(TOOL_CALLS.map(({ tool }) => tool));
      const left = tools.map(({ name }) => name).filter((name) => !called.has(name));
      expect(left).toEqual(sdk === 'v1' ? TASK_TOOLS : []);
    });

    test.for(TOOL_CALLS)(
      '$tool gives $what',
      async ({ tool, args, shows, steady: steadyOf = (outcome) => outcome }) => {
        const { direct, through } = await pair().both((client) => callTool(client, tool, args));
        expect(steadyOf(through)).toEqual(steadyOf(direct));
        expect(JSON.stringify(steadyOf(through))).toContain(shows);
      },
    );

    test.for(PROMPTS)('prompts/get gives the same messages of $name', async (params) => {
      const { direct, through } = await pair().both((client) => client.request('prompts/get', params));
      // The one resource in it is made anew with the time of day.
      expect(steady(withReadableBlobs(through), CLOCK)).toEqual(steady(withReadableBlobs(direct), CLOCK));
      expect(through.messages).not.toHaveLength(0);
    });

    test.for(RESOURCES)('resources/read gives the same contents of %s', async (uri) => {
      const { direct, through } = await pair().both((client) => client.request('resources/read', { uri }));
      // Dynamic resources are made anew with the time of day.
      expect(steady(withReadableBlobs(through), CLOCK)).toEqual(steady(withReadableBlobs(direct), CLOCK));
      expect(through.contents).toMatchObject([{ uri }]);
    });

    test.for(COMPLETIONS)('completion/complete gives the same values for $argument.name', async (params) => {
      const { direct, through } = await pair().both((client) => client.request('completion/complete', params));
      expect(through).toEqual(direct);
      expect(through).toMatchObject({ completion: { values: expect.arrayContaining([expect.any(String)]) } });
    });

    test.for([
      ['resources/read', { uri: 'demo://resource/none' }, -32602],
      ['prompts/get', { name: 'no-such-prompt' }, -32602],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'none' }, argument: { name: 'a', value: '' } },
        -32602,
      ],
      ['no/such/method', {}, -32601],
    ] as const)('%s gives the same error', async ([method, params, code]) => {
      // Clients of their own: version 1 opens another stream after an error, on which this server repeats itself.
      await using own = await openOwn();
      const { direct, through } = await own.both((client) => outcomeOf(client.request(method, params)));
      expect(through).toEqual(direct);
      expect(through).toMatchObject({ error: { code } });
    });

    test("the client's own method accepts a result with structured content", async () => {
      await pair().both((client) => client.request('tools/list'));
      const { direct, through } = await pair().both((client) =>
        client.callTool('get-structured-content', { location: 'New York' }),
      );
      expect(through).toEqual(direct);
      expect(through.structuredContent).toEqual({ temperature: 33, conditions: 'Cloudy', humidity: 82 });
    });

    test('the end of the session is the end of the one upstream', async () => {
      const ended = transport === 'sse' ? /Client Disconnected/g : /Transport closed for session/g;
      const count = (): number => [...(running().server.stdout() + running().server.stderr()).matchAll(ended)].length;
      const own = await openOwn();
      const before = count();
      await own.through.close();
      await expect.poll(count, { timeout: 10_000 }).toBe(before + 1);
      await own.direct.close();
      await expect.poll(count, { timeout: 10_000 }).toBe(before + 2);
    });

    everythingConversations(openOwn);
  });

  describe('with tasks, which SDK v1 has', () => {
    everythingTasks(() => openPair(connectV1, running().server, running().mountUrl));
  });

  test('SDK v2 needs no session when told to, and has the same of a server that wants one', async () => {
    await using pair = await openPair(connectV2, running().server, running().mountUrl);
    const { answers, through: plain } = pair;
    const options = { url: running().mountUrl, transport: 'streamable_http', answers, negotiates: true } as const;
    await using newer = await connectV2(options);
    expect(newer.sent.map(({ method }) => method)).toEqual(['server/discover']);
    const namesOf = async (client: typeof plain): Promise<unknown[]> => {
      const { tools } = (await client.request('tools/list')) as { tools: { name: string; execution?: object }[] };
      // A tool that only runs as a task cannot be called in the newer revision.
      return tools.flatMap(({ name, execution }) => (JSON.stringify(execution)?.includes('required') ? [] : [name]));
    };
    expect(await namesOf(newer)).toEqual(await namesOf(plain));
    const sample = async (client: typeof plain): Promise<unknown> =>
      (await client.callTool('trigger-sampling-request', { prompt: 'Hello' }))['content'];
    expect(await sample(newer)).toEqual(await sample(plain));
  });

  test('the server has answered all pings, and the adapter has had nothing to warn of', async () => {
    expect(await running().gateway.health()).toMatchObject({ status: 'ok', servers: [{ ping: ANSWERED_PINGS }] });
    expect(running().gateway.warnings()).toEqual([]);
  });

  if (deployment !== 'one process') {
    test('both replicas have had their share', () => {
      expect(running().gateway.shares()).toEqual([expect.toSatisfy(manyRequests), expect.toSatisfy(manyRequests)]);
    });
  }
}

const manyRequests = (count: number): boolean => count > 100;
